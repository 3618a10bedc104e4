// Every call seen once: it gets an id, a line in the log, and its place in the metrics.
//
// The id is the client's x-request-id if that is 8 to 64 characters of A-Z a-z 0-9 -, else a random
// one; it is sent back in the trailing metadata. The line is event "call" with method, code,
// milliseconds and request_id, when the call ends: calls that answer well and change nothing but
// counts (reading, reports, predictions) at debug, all others at info, and what is our fault
// (INTERNAL, DATA_LOSS, UNKNOWN) as a warning. Calls are those of methods that there are. One
// refused by the access policy does not come this far: it is counted by CountRefusals(), and not
// logged.
//
// Guarantee  no line has a message, an address, a certificate, a token, or a duration that is
//            private, and a WatchJob that ends with its job, or is cancelled, has none: see
//            server/access/method_table.h.
// Threads    safe to share.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_CALLS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_CALLS_H_

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/support/server_interceptor.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/daemon/config/log.h"
#include "server/metrics/call_metrics.h"

namespace coppice::daemon {

inline constexpr char kRequestIdKey[] = "x-request-id";

bool IsRequestId(absl::string_view text);
// 32 random digits; not a secret.
std::string MakeRequestId();

// `method` without the slash in front.
LogLevel LevelOfCall(absl::string_view method, grpc::StatusCode code);

// "NOT_FOUND".
std::string CodeName(grpc::StatusCode code);

// Both must outlive the server; `metrics` may be null.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> ObserveCalls(
    const Log& log, metrics::CallMetrics* metrics);

// `processor`, whose refusals are counted; null `metrics` count nothing and must else outlive it.
std::shared_ptr<grpc::AuthMetadataProcessor> CountRefusals(
    std::shared_ptr<grpc::AuthMetadataProcessor> processor, metrics::CallMetrics* metrics);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_CALLS_H_
