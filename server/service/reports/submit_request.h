// A request to count reports, between its message and the curator: the same for single calls and
// streams.

#ifndef COPPICE_SERVER_SERVICE_REPORTS_SUBMIT_REQUEST_H_
#define COPPICE_SERVER_SERVICE_REPORTS_SUBMIT_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coppice/v1/report.pb.h"
#include "server/curator/studies/studies.h"

namespace coppice::service {

inline constexpr int kMaxReportsPerRequest = 1000;

struct SubmitRequest {
  std::string study;        // its id
  std::string fingerprint;  // 32 bytes
  curator::ReportBatch reports;
};

// InvalidArgument that names the field: then no report of the request can be judged.
absl::StatusOr<SubmitRequest> ParseSubmitRequest(
    const std::string& study_name, const std::string& fingerprint,
    const google::protobuf::RepeatedPtrField<v1::Report>& reports);

// The same for parsed reports.
absl::StatusOr<SubmitRequest> MakeSubmitRequest(const std::string& study_name,
                                                const std::string& fingerprint,
                                                curator::ReportBatch reports);

void SetOutcomes(absl::Span<const curator::ReportOutcome> outcomes,
                 google::protobuf::RepeatedField<int>& protos);

// A failed store as its caller should read it. When trying again may help, the message says that
// the same bytes may be sent, for a device must never randomize a row twice.
absl::Status SubmitError(const absl::Status& status);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_REPORTS_SUBMIT_REQUEST_H_
