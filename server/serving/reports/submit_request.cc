#include "server/serving/reports/submit_request.h"

#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/calls.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/report.pb.h"

namespace coppice::service {
namespace {

using Slice = curator::ReportBatch::Slice;

// Where `part` is in `block`, which holds it. An empty one may be anywhere.
Slice SliceOf(std::string_view block, std::string_view part) {
  if (part.empty()) return {};
  return {.begin = static_cast<uint32_t>(part.data() - block.data()),
          .size = static_cast<uint32_t>(part.size())};
}

}  // namespace

StatusOr<StreamRequest> ParseStreamRequest(std::string message) {
  StreamRequest request;
  request.reports = curator::ReportBatch(std::move(message));
  const std::string_view block = request.reports.block();
  COPPICE_ASSIGN_OR_RETURN(const ReportsMessage read, ReadReportsRequest(block));
  request.study = read.study;
  request.fingerprint = read.fingerprint;
  request.reports.Reserve(read.reports.size(), 0);
  for (const ReportView& report : read.reports) {
    request.reports.AddSlices(SliceOf(block, report.ticket), SliceOf(block, report.payload),
                              SliceOf(block, report.public_values));
  }
  return request;
}

StatusOr<SubmitRequest> ParseSubmitRequest(
    const std::string& study_name, const std::string& fingerprint,
    const google::protobuf::RepeatedPtrField<v1::Report>& protos) {
  curator::ReportBatch reports;
  size_t bytes = 0;
  for (const v1::Report& proto : protos) {
    bytes += proto.ticket().size() + proto.payload().size() + proto.public_values().size();
  }
  reports.Reserve(static_cast<size_t>(protos.size()), bytes);
  for (const v1::Report& proto : protos) {
    reports.Add(proto.ticket(), proto.payload(), proto.public_values());
  }
  return MakeSubmitRequest(study_name, fingerprint, std::move(reports));
}

StatusOr<SubmitRequest> MakeSubmitRequest(const std::string& study_name,
                                          const std::string& fingerprint,
                                          curator::ReportBatch reports) {
  const StatusOr<std::string> study = ParseName(kStudies, study_name);
  if (!study.ok()) return InField("study", study.status());
  if (fingerprint.size() != std::tuple_size_v<Fingerprint>) {
    return FieldError("fingerprint", StrCat("must have ", std::tuple_size_v<Fingerprint>,
                                            " bytes, has ", fingerprint.size()));
  }
  if (reports.empty() || reports.size() > kMaxReportsPerRequest) {
    return FieldError("reports", StrCat("must be 1 to ", kMaxReportsPerRequest,
                                        " in one request, are ", reports.size()));
  }
  return SubmitRequest{.study = *study, .fingerprint = fingerprint, .reports = std::move(reports)};
}

void SetOutcomes(absl::Span<const curator::ReportOutcome> outcomes,
                 google::protobuf::RepeatedField<int>& protos) {
  protos.Reserve(static_cast<int>(outcomes.size()));
  for (const curator::ReportOutcome outcome : outcomes) protos.Add(static_cast<int>(outcome));
}

Status SubmitError(const Status& status) {
  if (status.code() != StatusCode::kUnavailable &&
      status.code() != StatusCode::kResourceExhausted) {
    return status;
  }
  return Status(status.code(), StrCat(status.message(), "; the same bytes may be sent again"));
}

}  // namespace coppice::service
