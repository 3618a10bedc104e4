// Limits the report streams that the curator serves at once, and their bytes.

#ifndef COPPICE_SERVER_SERVING_REPORTS_LOAD_LIMITS_H_
#define COPPICE_SERVER_SERVING_REPORTS_LOAD_LIMITS_H_

#include <atomic>
#include <cstddef>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::service {

struct LoadLimits {
  size_t max_streams = 4096;
  size_t max_stream_bytes = size_t{256} << 20;
};

// The share of the limits that all report streams have taken.
//
// Guarantee  At most `max_streams` are open. While all of them together hold `max_stream_bytes` of
//            requests and answers, a stream reads on only after its own are answered: each makes
//            progress, one request at a time.
// Threads    safe to share.
class StreamLoad {
 public:
  explicit StreamLoad(const LoadLimits& limits) : limits_(limits) {}

  // ResourceExhausted if there are enough streams; else Close() must follow, once.
  Status Open() {
    if (streams_.fetch_add(1) < limits_.max_streams) return OkStatus();
    Close();
    return ResourceExhaustedError(
        StrCat("there are ", limits_.max_streams,
               " report streams already: try again later, or send single calls"));
  }
  void Close() { streams_.fetch_sub(1); }

  void Hold(size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void Release(size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  bool IsFull() const { return bytes_.load(std::memory_order_relaxed) >= limits_.max_stream_bytes; }

  size_t streams() const { return streams_.load(); }
  size_t bytes() const { return bytes_.load(); }

 private:
  const LoadLimits limits_;
  std::atomic<size_t> streams_{0};
  std::atomic<size_t> bytes_{0};
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_REPORTS_LOAD_LIMITS_H_
