// ReportService over the curator's Studies. It judges nothing itself, keeps no report, and answers
// a batch only when Studies says that what it accepted is durable.
//
// Errors     InvalidArgument that names the field, for a batch that cannot be judged. Unavailable
//            and ResourceExhausted when it could not be made durable, or there is too much to do:
//            the same bytes may be sent again.
// Threads    safe to share. `studies` must outlive the server.

#ifndef COPPICE_SERVER_SERVICE_REPORT_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_REPORT_HANDLERS_H_

#include "coppice/v1/report.grpc.pb.h"
#include "server/curator/studies/studies.h"
#include "server/service/load_limits.h"

namespace coppice::service {

// Streams are read as bytes: whoever parses decides how long the memory of a message is kept.
using ReportServiceBase = v1::ReportService::WithCallbackMethod_SubmitReports<
    v1::ReportService::WithRawCallbackMethod_StreamReports<v1::ReportService::Service>>;

class ReportServiceImpl final : public ReportServiceBase {
 public:
  explicit ReportServiceImpl(curator::Studies& studies, const LoadLimits& limits = {})
      : studies_(studies), load_(limits) {}

  grpc::ServerUnaryReactor* SubmitReports(grpc::CallbackServerContext* context,
                                          const v1::SubmitReportsRequest* request,
                                          v1::SubmitReportsResponse* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StreamReports(
      grpc::CallbackServerContext* context) override;

  const StreamLoad& load() const { return load_; }

 private:
  curator::Studies& studies_;
  StreamLoad load_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_REPORT_HANDLERS_H_
