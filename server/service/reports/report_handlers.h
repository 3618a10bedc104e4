// ReportService over the curator's Studies.

#ifndef COPPICE_SERVER_SERVICE_REPORTS_REPORT_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_REPORTS_REPORT_HANDLERS_H_

#include "absl/status/statusor.h"
#include "coppice/v1/report.pb.h"
#include "server/curator/studies/studies.h"
#include "server/service/calls/handler_registry.h"
#include "server/service/reports/load_limits.h"

namespace coppice::service {

// They judge nothing themselves, keep no report, and answer a batch only when Studies says that
// what it accepted is durable.
//
// Errors     InvalidArgument that names the field, for a batch that cannot be judged. Unavailable
//            and ResourceExhausted when it could not be made durable, or there is too much to do:
//            the same bytes may be sent again.
// Threads    safe to share. `studies` must outlive it.
class ReportHandlers {
 public:
  explicit ReportHandlers(curator::Studies& studies, const LoadLimits& limits = {})
      : studies_(studies), load_(limits) {}

  void Register(HandlerRegistry& registry);

  void SubmitReports(const Caller& caller, const v1::SubmitReportsRequest& request,
                     v1::SubmitReportsResponse* response, Done done);
  absl::StatusOr<StreamHandlerPtr> StreamReports(const Caller& caller, StreamCall& call);

  const StreamLoad& load() const { return load_; }

 private:
  curator::Studies& studies_;
  StreamLoad load_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_REPORTS_REPORT_HANDLERS_H_
