// The curator's methods over HTTP: a request runs a handler of the registry.

#ifndef COPPICE_SERVER_SERVING_HTTP_CALLS_H_
#define COPPICE_SERVER_SERVING_HTTP_CALLS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/http/call.h"
#include "server/http/protocol.h"
#include "server/http/request_parser.h"
#include "server/process/byte_load.h"
#include "server/serving/calls/answer_check.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/worker_pool.h"
#include "server/serving/gate/access_gate.h"
#include "server/serving/gate/call_record.h"

namespace coppice::http {

// The calls to serve, as gRPC's services do. All of it must outlive the HTTP server.
struct ServedCalls {
  const std::deque<service::RegisteredMethod>& methods;
  service::Lanes lanes;
  calls::AccessGate& gate;
  calls::CallObservers observers{};
  calls::ByteLoad& answers;
  service::AnswerCheck may_answer{};  // null: all may be sent
  size_t max_message_bytes = size_t{64} << 20;
};

// Judges requests by their heads in gRPC's order: access before everything else.
//
// Guarantee  Nothing of a body is read before the access gate admits its call.
// Errors     To the client, in the form of the request's content type: the gate's, then
//            Unimplemented for an unknown method or one that takes a client's stream, then
//            InvalidArgument for headers, ResourceExhausted for a body that is larger than the
//            method takes: at once if the head says so, else as soon as it is.
// Threads    safe to share.
class ServedMethods final : public Methods {
 public:
  explicit ServedMethods(const ServedCalls& served);

  bool Has(std::string_view path) const override;
  Judged Judge(const RequestHead& head, std::string_view path,
               const std::optional<Sha256Digest>& certificate, OpenCalls& open_calls) override;

 private:
  BodyLimit LimitOf(const service::RegisteredMethod& method) const;
  Status CheckHeaders(const RequestHead& head, const service::RegisteredMethod& method,
                      const std::optional<CallKind>& kind, absl::Duration& deadline) const;

  const ServedCalls served_;
  std::map<std::string_view, const service::RegisteredMethod*> methods_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_SERVING_HTTP_CALLS_H_
