// Limits the bytes held for callers at a time, on all transports together.

#ifndef COPPICE_SERVER_PROCESS_BYTE_LOAD_H_
#define COPPICE_SERVER_PROCESS_BYTE_LOAD_H_

#include <atomic>
#include <cstddef>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::calls {

// Counts bytes of large messages: of answers from when they are made until the call has ended, and
// of requests while they are read. Messages below kSmall are not counted and always accepted, so
// filling the limit keeps out neither devices nor health checks.
//
// Threads    safe to share.
class ByteLoad {
 public:
  static constexpr size_t kSmall = size_t{64} << 10;

  explicit ByteLoad(size_t most) : most_(most) {}

  // False if too much is held already; alone, any message fits. If true, Release() must follow.
  bool TryHold(size_t bytes) {
    size_t held = bytes_.load(std::memory_order_relaxed);
    do {
      if (held > 0 && (bytes > most_ || held > most_ - bytes)) return false;
    } while (!bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
    return true;
  }
  // Counts bytes that are there already, beyond the limit too; Release() must follow.
  void Hold(size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void Release(size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  const size_t most_;
  std::atomic<size_t> bytes_{0};
};

// Bytes that return to the limit on destruction.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(ByteLoad& load, size_t bytes) : load_(&load), bytes_(bytes) {}
  HeldBytes(HeldBytes&& other) noexcept
      : load_(std::exchange(other.load_, nullptr)), bytes_(other.bytes_) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(load_, other.load_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() {
    if (load_ != nullptr) load_->Release(bytes_);
  }

 private:
  ByteLoad* load_ = nullptr;
  size_t bytes_ = 0;
};

// The error in place of an answer beyond the limit; send it with a second to wait.
inline Status TooManyLargeAnswers() {
  return ResourceExhaustedError("too many large answers wait to be read; try again later");
}

// The status of a request with more bytes than its method takes.
inline Status TooLargeRequest(size_t most_bytes) {
  return ResourceExhaustedError(StrCat("the request is larger than ", most_bytes,
                                       " bytes, the limit of this method: send less at a time"));
}

}  // namespace coppice::calls

#endif  // COPPICE_SERVER_PROCESS_BYTE_LOAD_H_
