// Reads a StreamReportsRequest without making a message of it: its reports stay where they came, in
// one block. A message of protobuf's copies each ticket and payload into a string of its own, which
// costs more than counting a report of one bit a leaf.
//
// Guarantee  what protobuf's parser takes is read to the same values, unknown fields are skipped,
//            and what it refuses is refused; but text that is no UTF-8 is left to who reads the
//            name.
// Errors     InvalidArgument: the bytes are no such message, or hold more reports than a request
//            may.

#ifndef COPPICE_SERVER_SERVICE_REPORTS_STREAM_REQUEST_H_
#define COPPICE_SERVER_SERVICE_REPORTS_STREAM_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/curator/intake/report_batch.h"

namespace coppice::service {

struct StreamRequest {
  std::string study;        // empty: as in the message before
  std::string fingerprint;  // likewise
  curator::ReportBatch reports;
};

absl::StatusOr<StreamRequest> ParseStreamRequest(std::string message);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_REPORTS_STREAM_REQUEST_H_
