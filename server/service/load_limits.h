// How much the curator takes on at once, and how it says that this is too much.
//
// Guarantee  at most `max_streams` report streams are open. While all of them together hold
//            `max_stream_bytes` of requests and answers, a stream reads no further before its own
//            are answered: so each goes on, one request at a time.
// Threads    safe to share.

#ifndef COPPICE_SERVER_SERVICE_LOAD_LIMITS_H_
#define COPPICE_SERVER_SERVICE_LOAD_LIMITS_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/service/status_conversion.h"

namespace coppice::service {

struct LoadLimits {
  size_t max_streams = 4096;
  size_t max_stream_bytes = size_t{256} << 20;
};

// What all report streams have taken of the limits.
class StreamLoad {
 public:
  explicit StreamLoad(const LoadLimits& limits) : limits_(limits) {}

  // ResourceExhausted if there are enough streams; else to be closed once.
  absl::Status Open() {
    if (streams_.fetch_add(1) < limits_.max_streams) return absl::OkStatus();
    Close();
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", limits_.max_streams,
                     " report streams already: come again later, or send single calls"));
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

// Says in the trailing metadata of a call that is refused when to come again, in milliseconds. At
// most once a call, before it ends.
inline void AskToWait(grpc::ServerContextBase& context, absl::Duration wait) {
  const int64_t milliseconds = absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)));
  context.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(milliseconds));
}

// The status to end a call with. A refusal for load, which is what ResourceExhausted means of every
// call that uses this, also tells the caller when to come again.
inline grpc::Status ToLoadStatus(grpc::ServerContextBase& context, const absl::Status& status) {
  if (status.code() == absl::StatusCode::kResourceExhausted) {
    AskToWait(context, absl::Seconds(1));
  }
  return ToGrpcStatus(status);
}

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_LOAD_LIMITS_H_
