#include "server/service/report_service.h"

#include <utility>
#include <vector>

#include "server/service/report_stream.h"
#include "server/service/submit_request.h"
#include "server/service/unary.h"

namespace coppice {

grpc::ServerUnaryReactor* ReportServiceImpl::SubmitReports(grpc::CallbackServerContext* context,
                                                           const v1::SubmitReportsRequest* request,
                                                           v1::SubmitReportsResponse* response) {
  absl::StatusOr<SubmitRequest> parsed =
      ParseSubmitRequest(request->study(), request->fingerprint(), request->reports());
  if (!parsed.ok()) return Reply(context, parsed.status());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  studies_.Submit(parsed->study, parsed->fingerprint, std::move(parsed->reports),
                  [reactor, response](absl::StatusOr<std::vector<ReportOutcome>> outcomes) {
                    if (outcomes.ok()) SetOutcomes(*outcomes, *response->mutable_outcomes());
                    reactor->Finish(ToGrpcStatus(SubmitError(outcomes.status())));
                  });
  return reactor;
}

grpc::ServerBidiReactor<v1::StreamReportsRequest, v1::StreamReportsResponse>*
ReportServiceImpl::StreamReports(grpc::CallbackServerContext*) {
  return ReportStream::Start(studies_);
}

}  // namespace coppice
