// One RPC: deadline, retries, and an error that says what to check.
//
// Unavailable, DeadlineExceeded and Aborted are tried again, and ResourceExhausted of a server that
// says when to come again; without that it is a limit that the same call meets again. So only calls
// that may be repeated belong here. The wait before try n+1 is uniform between 0 and
// min(max_backoff, first_backoff * 2^(n-1)) ("full jitter"), drawn from OpenSSL, so that devices do
// not come back together. What the server asks to wait (grpc-retry-pushback-ms) comes before that;
// a server that asks for no further try, by a negative number, gets none.
//
// Threads    safe to share.

#ifndef COPPICE_CLIENT_DEVICE_GRPC_SERVER_CALL_H_
#define COPPICE_CLIENT_DEVICE_GRPC_SERVER_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "common/base/status.h"

namespace coppice {

// A clock that tests can replace.
class RetryClock {
 public:
  virtual ~RetryClock() = default;
  virtual absl::Time Now() = 0;
  virtual void Sleep(absl::Duration duration) = 0;
};

// Calls `attempt` with the deadline of each try until it succeeds, fails for good, or
// `give_up_after` has passed; then returns its last error with the number of tries.
Status CallWithRetry(const RetryOptions& retry, RetryClock& clock,
                     absl::FunctionRef<Status(absl::Time deadline)> attempt);

// Whether a call that failed with `status` may be repeated, and how long the server asked to wait
// before that.
bool IsRetryable(const Status& status);
absl::Duration AskedToWait(const Status& status);

// Trailing metadata in which a server that is too busy says when to come again, and the URL of the
// payload in which an attempt's status carries that value.
inline constexpr char kRetryPushback[] = "grpc-retry-pushback-ms";

// What the error says of a call whose time is up.
inline constexpr std::string_view kNotInTime = "did not answer in time";

// Keeps the code, and makes the message fit for terminals and logs. If the connection is at fault,
// the message says where `server` was looked for and what to check.
Status FromGrpcStatus(const grpc::Status& status, const std::string& server);

// The three above together, over the real clock: `call` is one unary call on a stub of `channel`,
// which it does not cancel. A call that the server cancelled is DeadlineExceeded, and tried again.
// If a call ends without an answer from the server, `retry.diagnose` may explain it.
Status CallServer(grpc::Channel& channel, const std::string& server, const RetryOptions& retry,
                  absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

// `bytes` random bytes in hexadecimal, for ids that must not collide. Unavailable if OpenSSL fails.
StatusOr<std::string> RandomHex(size_t bytes);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_GRPC_SERVER_CALL_H_
