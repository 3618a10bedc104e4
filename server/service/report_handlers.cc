#include "server/service/report_handlers.h"

#include <utility>
#include <vector>

#include "server/service/report_stream.h"
#include "server/service/submit_request.h"
#include "server/service/unary.h"

namespace coppice::service {

grpc::ServerUnaryReactor* ReportServiceImpl::SubmitReports(grpc::CallbackServerContext* context,
                                                           const v1::SubmitReportsRequest* request,
                                                           v1::SubmitReportsResponse* response) {
  absl::StatusOr<SubmitRequest> parsed =
      ParseSubmitRequest(request->study(), request->fingerprint(), request->reports());
  if (!parsed.ok()) return Reply(context, parsed.status());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  studies_.Submit(
      parsed->study, parsed->fingerprint, std::move(parsed->reports),
      [context, reactor, response](absl::StatusOr<std::vector<curator::ReportOutcome>> outcomes) {
        if (outcomes.ok()) SetOutcomes(*outcomes, *response->mutable_outcomes());
        reactor->Finish(ToLoadStatus(*context, SubmitError(outcomes.status())));
      });
  return reactor;
}

namespace {

class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReportServiceImpl::StreamReports(
    grpc::CallbackServerContext* context) {
  const absl::Status opened = load_.Open();
  if (!opened.ok()) return new RefusedStream(ToLoadStatus(*context, opened));
  return ReportStream::Start(studies_, load_, *context);
}

}  // namespace coppice::service
