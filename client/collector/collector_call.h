// One RPC: deadline, retries, and an error that says what to check.
//
// Tried again are Unavailable, DeadlineExceeded and Aborted, and ResourceExhausted of a server that
// is too busy, which says when to come again; without that it is a limit that the same call meets
// again. So only calls that may be repeated belong here. The wait before try n+1 is uniform between
// 0 and min(max_backoff, first_backoff * 2^n) ("full jitter"), drawn from OpenSSL: devices that
// failed together do not come back together. What the server asks to wait (grpc-retry-pushback-ms)
// comes before that; a server that asks for no further try, by a number below zero, gets none.
//
// Threads    safe to share.

#ifndef COPPICE_CLIENT_COLLECTOR_COLLECTOR_CALL_H_
#define COPPICE_CLIENT_COLLECTOR_COLLECTOR_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/collector/collector.h"

namespace coppice {

// Time, as a seam.
class RetryClock {
 public:
  virtual ~RetryClock() = default;
  virtual absl::Time Now() = 0;
  virtual void Sleep(absl::Duration duration) = 0;
};

// Calls `attempt` with the deadline of each try, until it succeeds, fails for good, or
// `give_up_after` has passed: then its last error, saying how often was tried.
absl::Status CallWithRetry(const RetryOptions& retry, RetryClock& clock,
                           absl::FunctionRef<absl::Status(absl::Time deadline)> attempt);

// Whether a call that failed so may succeed when it is repeated, and how long the server asked to
// wait before that.
bool IsRetryable(const absl::Status& status);
absl::Duration AskedToWait(const absl::Status& status);

// Trailing metadata with which a server that is too busy says when to come again, and the URL of
// the payload by which an attempt's status hands its value on.
inline constexpr char kRetryPushback[] = "grpc-retry-pushback-ms";

// What a server says goes to terminals and logs: without control characters, and not endlessly.
std::string OfServer(absl::string_view text);
absl::Status OfServer(const absl::Status& status);

// The same code. What the server says comes without control characters and is cut to 2,000 bytes.
// Where the connection is at fault the message says where `server` was looked for and what to
// check.
absl::Status FromGrpcStatus(const grpc::Status& status, const std::string& server);

// The three above together, over the real clock: `call` is one unary call on a stub of `channel`,
// which it does not cancel. A call that the server cancelled is DeadlineExceeded, and tried again.
// If a call ends without an answer of the server, `retry.diagnose` may explain it.
absl::Status CallServer(grpc::Channel& channel, const std::string& server,
                        const RetryOptions& retry,
                        absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

// `bytes` random bytes in hexadecimal, for ids that must not collide. Unavailable if OpenSSL fails.
absl::StatusOr<std::string> RandomHex(size_t bytes);

}  // namespace coppice

#endif  // COPPICE_CLIENT_COLLECTOR_COLLECTOR_CALL_H_
