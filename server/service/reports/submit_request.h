// A request to count reports, between its message and the curator: of single calls and of streams.

#ifndef COPPICE_SERVER_SERVICE_REPORTS_SUBMIT_REQUEST_H_
#define COPPICE_SERVER_SERVICE_REPORTS_SUBMIT_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coppice/v1/report.pb.h"
#include "server/curator/intake/report_batch.h"
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

// A StreamReportsRequest.
struct StreamRequest {
  std::string study;        // empty: as in the message before
  std::string fingerprint;  // likewise
  curator::ReportBatch reports;
};

// Reads it without making a message of it: its reports stay where they came, in one block. A
// message of protobuf's copies each ticket and payload into a string of its own, which costs more
// than counting a report of one bit a leaf.
//
// Guarantee  what protobuf's parser takes is read to the same values, unknown fields are skipped,
//            and what it refuses is refused; but text that is no UTF-8 is left to who reads the
//            name.
// Errors     InvalidArgument: the bytes are no such message, or hold more reports than a request
//            may.
absl::StatusOr<StreamRequest> ParseStreamRequest(std::string message);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_REPORTS_SUBMIT_REQUEST_H_
