#include "server/serving/reports/submit_request.h"

#include <string_view>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/calls.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"

namespace coppice::service {
namespace {

using Slice = curator::ReportBatch::Slice;

// Where `part` is in `block`, which holds it. An empty one may be anywhere.
Slice SliceOf(std::string_view block, std::string_view part) {
  if (part.empty()) return {};
  return {.begin = static_cast<uint32_t>(part.data() - block.data()),
          .size = static_cast<uint32_t>(part.size())};
}

std::string_view TextInClear(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return "the message opens, but does not hold what docs/protocol.md says: a study's name, a "
             "fingerprint of 32 bytes, and 1 to 1000 reports, padded to the length of the study's";
    case StatusCode::kFailedPrecondition:
      return "the reports' study takes reports from its relay alone: answer it through the relay";
    case StatusCode::kUnavailable:
      return "the reports could not be stored; the same reports may be sent again, sealed anew";
    case StatusCode::kResourceExhausted:
      return "too many reports are coming, or the curator's store has no room for more; the same "
             "reports may be sent again, sealed anew";
    default:
      return "the reports could not be judged";
  }
}

}  // namespace

StatusOr<SubmitRequest> ReadSubmitRequest(std::string content) {
  SubmitRequest request{.reports = curator::ReportBatch(std::move(content))};
  const std::string_view block = request.reports.block();
  COPPICE_ASSIGN_OR_RETURN(const ReportsMessage read, ReadSealedReports(block));
  StatusOr<std::string> study = ParseName(kStudies, std::string(read.study));
  if (!study.ok()) return InField("study", study.status());
  if (read.fingerprint.size() != Fingerprint().size()) {
    return FieldError("fingerprint", StrCat("must have ", Fingerprint().size(), " bytes, has ",
                                            read.fingerprint.size()));
  }
  if (read.reports.empty()) return FieldError("reports", "must be 1 to 1000, are none");
  request.study = *std::move(study);
  request.fingerprint = read.fingerprint;
  request.reports.Reserve(read.reports.size(), 0);
  for (const ReportView& report : read.reports) {
    request.reports.AddSlices(SliceOf(block, report.ticket), SliceOf(block, report.payload),
                              SliceOf(block, report.public_values));
  }
  return request;
}

std::string OutcomeBytes(absl::Span<const curator::ReportOutcome> outcomes) {
  std::string bytes;
  bytes.reserve(outcomes.size());
  for (const curator::ReportOutcome outcome : outcomes) {
    bytes.push_back(static_cast<char>(outcome));
  }
  return bytes;
}

Status ErrorInClear(const Status& status) {
  return status.ok() ? status : Status(status.code(), TextInClear(status.code()));
}

}  // namespace coppice::service
