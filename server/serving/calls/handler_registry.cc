#include "server/serving/calls/handler_registry.h"

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/audited_calls.h"

namespace coppice::service {
namespace {

// Wraps each kind of handler so that it runs only if the guard admits the call.
class Guarded {
 public:
  Guarded(const ResourceGuard& guard, CallAuditor* auditor, const access::Method* method)
      : guard_(guard), auditor_(auditor), method_(method) {}

  AnyHandler operator()(WholeHandler handler) const {
    return WholeHandler([*this, handler = std::move(handler)](
                            const Caller& caller, const AnyMessage& request, AnyMessage* response,
                            const CancelCheck& cancel) -> Status {
      COPPICE_ASSIGN_OR_RETURN(const Caller admitted, Admit(caller, request));
      return handler(admitted, request, response, cancel);
    });
  }
  AnyHandler operator()(SplitHandler handler) const {
    return SplitHandler(
        [*this, handler = std::move(handler)](const Caller& caller, const AnyMessage& request,
                                              AnyMessage* response) -> StatusOr<Later> {
          COPPICE_ASSIGN_OR_RETURN(const Caller admitted, Admit(caller, request));
          return handler(admitted, request, response);
        });
  }
  AnyHandler operator()(AsyncHandler handler) const {
    return AsyncHandler([*this, handler = std::move(handler)](const Caller& caller,
                                                              const AnyMessage& request,
                                                              AnyMessage* response, Done done) {
      const StatusOr<Caller> admitted = Admit(caller, request);
      if (!admitted.ok()) return done(admitted.status());
      handler(*admitted, request, response, std::move(done));
    });
  }
  AnyHandler operator()(PiecesHandler handler) const {
    return PiecesHandler(
        [*this, handler = std::move(handler)](
            const Caller& caller, const AnyMessage& request) -> StatusOr<MessagePieces> {
          COPPICE_ASSIGN_OR_RETURN(const Caller admitted, Admit(caller, request));
          return handler(admitted, request);
        });
  }
  // The handler of a client's stream checks each message itself.
  AnyHandler operator()(StreamStarter handler) const {
    return StreamStarter(
        [*this, handler = std::move(handler)](const Caller& caller, const AnyMessage* request,
                                              StreamCall& call) -> StatusOr<StreamHandlerPtr> {
          if (request == nullptr) return handler(caller, request, call);
          COPPICE_ASSIGN_OR_RETURN(const Caller admitted, Admit(caller, *request));
          return handler(admitted, request, call);
        });
  }

 private:
  StatusOr<Caller> Admit(const Caller& caller, const AnyMessage& request) const {
    StatusOr<Caller> admitted = guard_.Admit(caller, method_, request);
    if (!admitted.ok() && auditor_ != nullptr && method_ != nullptr && method_->changes) {
      auditor_->EnterRefusal(caller, *method_, request, admitted.status());
    }
    return admitted;
  }

  const ResourceGuard& guard_;
  CallAuditor* const auditor_;
  const access::Method* const method_;
};

}  // namespace

void HandlerRegistry::AddHandler(const AnyMessage& request, AnyHandler handler) {
  const google::protobuf::MethodDescriptor& method = MethodOf(*request.GetDescriptor());
  std::string path = StrCat("/", method.service()->full_name(), "/", method.name());
  const access::Method* const entry = access::FindMethod(path);
  const Guarded guarded(guard_, auditor_, entry);
  if (auditor_ != nullptr && entry != nullptr && entry->changes) {
    handler = auditor_->Wrap(guard_, *entry, std::move(handler));
  }
  const size_t max_request_bytes = access::MaxRequestBytesOf(path);
  methods_.push_back(
      {.path = std::move(path),
       .descriptor = &method,
       .request = &request,
       .response = google::protobuf::MessageFactory::generated_factory()->GetPrototype(
           method.output_type()),
       .max_request_bytes = max_request_bytes,
       .handler = std::visit(guarded, std::move(handler))});
}

}  // namespace coppice::service
