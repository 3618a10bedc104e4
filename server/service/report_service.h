// ReportService over the curator's Studies. It judges nothing itself, keeps no report, and answers
// a batch only when Studies says that what it accepted is durable.
//
// Errors     InvalidArgument that names the field, for a batch that cannot be judged. Unavailable
//            and ResourceExhausted when it could not be made durable: the same bytes may be sent
//            again.
// Threads    safe to share. `studies` must outlive the server.

#ifndef COPPICE_SERVER_SERVICE_REPORT_SERVICE_H_
#define COPPICE_SERVER_SERVICE_REPORT_SERVICE_H_

#include "coppice/v1/report.grpc.pb.h"
#include "server/curator/studies.h"

namespace coppice {

class ReportServiceImpl final : public v1::ReportService::CallbackService {
 public:
  explicit ReportServiceImpl(Studies& studies) : studies_(studies) {}

  grpc::ServerUnaryReactor* SubmitReports(grpc::CallbackServerContext* context,
                                          const v1::SubmitReportsRequest* request,
                                          v1::SubmitReportsResponse* response) override;
  grpc::ServerBidiReactor<v1::StreamReportsRequest, v1::StreamReportsResponse>* StreamReports(
      grpc::CallbackServerContext* context) override;

 private:
  Studies& studies_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_SERVICE_REPORT_SERVICE_H_
