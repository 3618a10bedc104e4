#include "server/service/reports/report_handlers.h"

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "server/service/calls/retry_after.h"
#include "server/service/reports/report_stream.h"
#include "server/service/reports/submit_request.h"

namespace coppice::service {

void ReportHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &ReportHandlers::SubmitReports);
  registry.AddStreamOf<v1::StreamReportsRequest>(*this, &ReportHandlers::StreamReports);
}

void ReportHandlers::SubmitReports(const Caller& /*caller*/,
                                   const v1::SubmitReportsRequest& request,
                                   v1::SubmitReportsResponse* response, Done done) {
  absl::StatusOr<SubmitRequest> parsed =
      ParseSubmitRequest(request.study(), request.fingerprint(), request.reports());
  if (!parsed.ok()) return done(parsed.status());
  studies_.Submit(parsed->study, parsed->fingerprint, std::move(parsed->reports),
                  [response, done = std::move(done)](
                      absl::StatusOr<std::vector<curator::ReportOutcome>> outcomes) {
                    if (outcomes.ok()) SetOutcomes(*outcomes, *response->mutable_outcomes());
                    done(AskToWaitForLoad(SubmitError(outcomes.status())));
                  });
}

absl::StatusOr<StreamHandlerPtr> ReportHandlers::StreamReports(const Caller& /*caller*/,
                                                               StreamCall& call) {
  COPPICE_RETURN_IF_ERROR(AskToWaitForLoad(load_.Open()));
  return ReportStream::Start(studies_, load_, call);
}

}  // namespace coppice::service
