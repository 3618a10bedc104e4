// A batch of reports between its messages and the curator, the same for single calls and streams.

#ifndef COPPICE_SERVER_SERVICE_REPORT_BATCH_H_
#define COPPICE_SERVER_SERVICE_REPORT_BATCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coppice/v1/report.pb.h"
#include "server/curator/studies.h"

namespace coppice {

inline constexpr int kMaxReportsPerBatch = 1000;

struct ReportBatch {
  std::string study;        // its id
  std::string fingerprint;  // 32 bytes
  std::vector<SubmittedReport> reports;
};

// InvalidArgument that names the field: then no report of the batch can be judged.
absl::StatusOr<ReportBatch> MakeBatch(const std::string& study_name, const std::string& fingerprint,
                                      google::protobuf::RepeatedPtrField<v1::Report> reports);

void SetOutcomes(absl::Span<const ReportOutcome> outcomes,
                 google::protobuf::RepeatedField<int>& protos);

// A failed store as its caller should read it. When trying again may help, the message says that
// the same bytes may be sent, for a device must never randomize a row twice.
absl::Status SubmitError(const absl::Status& status);

}  // namespace coppice

#endif  // COPPICE_SERVER_SERVICE_REPORT_BATCH_H_
