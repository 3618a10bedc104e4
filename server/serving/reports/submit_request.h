// Reads what a message of reports seals, and says what became of it, for the curator.

#ifndef COPPICE_SERVER_SERVING_REPORTS_SUBMIT_REQUEST_H_
#define COPPICE_SERVER_SERVING_REPORTS_SUBMIT_REQUEST_H_

#include <string>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/curator/intake/report_batch.h"
#include "server/curator/studies/study_calls.h"

namespace coppice::service {

struct SubmitRequest {
  std::string study{};        // its id
  std::string fingerprint{};  // 32 bytes
  curator::ReportBatch reports;
};

// Reads what a message seals, without a message of protobuf's: the reports stay where they were
// opened, in one block. A protobuf message copies each ticket and payload into a string of its own,
// which costs more than counting a report of one bit per leaf.
//
// Errors     InvalidArgument, naming the field: no report of the message can be judged. Not for
//            senders: see ErrorInClear().
StatusOr<SubmitRequest> ReadSubmitRequest(std::string content);

// One byte per report, which is sealed for the sender.
std::string OutcomeBytes(absl::Span<const curator::ReportOutcome> outcomes);

// The error of a message after it was opened, as its sender may read it. The answer goes through
// whoever passed the message on, so it has the code and a fixed text, and nothing of the content,
// the study's name included. Where a retry may help it says that the same reports may be sent,
// because a device must never randomize a row twice.
Status ErrorInClear(const Status& status);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_REPORTS_SUBMIT_REQUEST_H_
