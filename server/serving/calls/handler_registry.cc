#include "server/serving/calls/handler_registry.h"

#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/audited_calls.h"

namespace coppice::service {
namespace {

std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  return StrCat("/", method.service()->full_name(), "/", method.name());
}

// What happens around a method's handler. Lives in the handlers that wrap it.
class Surroundings {
 public:
  Surroundings(const ResourceGuard& guard, CallAuditor* auditor, const AnyMessage& request)
      : guard_(guard),
        method_(access::FindMethod(PathOf(MethodOf(*request.GetDescriptor())))),
        auditor_(method_ != nullptr && method_->changes ? auditor : nullptr) {}

  // Records what the handler changes, if its method is to be recorded.
  WholeHandler Audited(WholeHandler handler) const {
    return auditor_ == nullptr ? handler : auditor_->Wrap(*method_, std::move(handler));
  }
  StreamStarter Audited(StreamStarter start) const {
    return auditor_ == nullptr ? start : auditor_->Wrap(guard_, *method_, std::move(start));
  }
  // The caller as the guard admits it.
  StatusOr<Caller> Admit(const Caller& caller, const AnyMessage& request) const {
    StatusOr<Caller> admitted = guard_.Admit(caller, method_, request);
    if (!admitted.ok() && auditor_ != nullptr) {
      auditor_->EnterRefusal(caller, *method_, request, admitted.status());
    }
    return admitted;
  }

 private:
  const ResourceGuard& guard_;
  const access::Method* const method_;  // null: the method table has no such method
  CallAuditor* const auditor_;          // null: its calls are not recorded
};

}  // namespace

void HandlerRegistry::AddWhole(const AnyMessage& request, WholeHandler handler) {
  handler = Surroundings(guard_, auditor_, request).Audited(std::move(handler));
  AddUnary(request, kOnLane,
           [handler = std::move(handler)](const Caller& caller, const AnyMessage& call,
                                          AnyMessage* response, const CancelCheck& cancel,
                                          const Done& done) {
             done(handler(caller, call, response, cancel));
           });
}

void HandlerRegistry::AddUnary(const AnyMessage& request, bool at_once, UnaryHandler handler) {
  AddHandler(
      request, at_once,
      UnaryHandler([around = Surroundings(guard_, auditor_, request), handler = std::move(handler)](
                       const Caller& caller, const AnyMessage& call, AnyMessage* response,
                       const CancelCheck& cancel, Done done) {
        const StatusOr<Caller> admitted = around.Admit(caller, call);
        if (!admitted.ok()) return done(admitted.status());
        handler(*admitted, call, response, cancel, std::move(done));
      }));
}

// The handler of a client's stream checks each message itself.
void HandlerRegistry::AddStream(const AnyMessage& request, StreamStarter start) {
  const Surroundings around(guard_, auditor_, request);
  AddHandler(request, kAtOnce,
             StreamStarter([around, start = around.Audited(std::move(start))](
                               const Caller& caller, const AnyMessage* call,
                               StreamCall& stream) -> StatusOr<StreamHandlerPtr> {
               if (call == nullptr) return start(caller, call, stream);
               COPPICE_ASSIGN_OR_RETURN(const Caller admitted, around.Admit(caller, *call));
               return start(admitted, call, stream);
             }));
}

void HandlerRegistry::AddHandler(const AnyMessage& request, bool at_once, AnyHandler handler) {
  const google::protobuf::MethodDescriptor& method = MethodOf(*request.GetDescriptor());
  std::string path = PathOf(method);
  const size_t max_request_bytes = access::MaxRequestBytesOf(path);
  methods_.push_back(
      {.path = std::move(path),
       .descriptor = &method,
       .request = &request,
       .response = google::protobuf::MessageFactory::generated_factory()->GetPrototype(
           method.output_type()),
       .max_request_bytes = max_request_bytes,
       .handler = std::move(handler),
       .begins_at_once = at_once});
}

}  // namespace coppice::service
