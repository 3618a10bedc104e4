// Converts requests to count reports, of single calls and of streams, for the curator.

#ifndef COPPICE_SERVER_SERVING_REPORTS_SUBMIT_REQUEST_H_
#define COPPICE_SERVER_SERVING_REPORTS_SUBMIT_REQUEST_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/wire/messages.h"
#include "coppice/v1/report.pb.h"
#include "server/curator/intake/report_batch.h"
#include "server/curator/studies/studies.h"

namespace coppice::service {

struct SubmitRequest {
  std::string study;        // its id
  std::string fingerprint;  // 32 bytes
  curator::ReportBatch reports;
};

// InvalidArgument, naming the field, if no report of the request can be judged.
StatusOr<SubmitRequest> ParseSubmitRequest(
    const std::string& study_name, const std::string& fingerprint,
    const google::protobuf::RepeatedPtrField<v1::Report>& reports);

// The same for parsed reports.
StatusOr<SubmitRequest> MakeSubmitRequest(const std::string& study_name,
                                          const std::string& fingerprint,
                                          curator::ReportBatch reports);

void SetOutcomes(absl::Span<const curator::ReportOutcome> outcomes,
                 google::protobuf::RepeatedField<int>& protos);

// The store's error as the caller should read it. Where a retry may help, the message says that the
// same bytes may be sent, because a device must never randomize a row twice.
Status SubmitError(const Status& status);

// A StreamReportsRequest.
struct StreamRequest {
  std::string study;        // empty: as in the previous message
  std::string fingerprint;  // empty: as in the previous message
  curator::ReportBatch reports;
};

// Reads without a message of protobuf's: the reports stay where they were received, in one block. A
// protobuf message copies each ticket and payload into a string of its own, which costs more than
// counting a report of one bit per leaf.
//
// Errors     InvalidArgument: the bytes are no such message, or have more reports than a request
//            may.
StatusOr<StreamRequest> ParseStreamRequest(std::string message);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_REPORTS_SUBMIT_REQUEST_H_
