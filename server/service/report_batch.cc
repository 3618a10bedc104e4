#include "server/service/report_batch.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"

namespace coppice {

absl::StatusOr<ReportBatch> MakeBatch(const std::string& study_name, const std::string& fingerprint,
                                      google::protobuf::RepeatedPtrField<v1::Report> reports) {
  const absl::StatusOr<std::string> study = ParseName(kStudies, study_name);
  if (!study.ok()) return InField("study", study.status());
  if (fingerprint.size() != std::tuple_size_v<Fingerprint>) {
    return FieldError("fingerprint", absl::StrCat("must have ", std::tuple_size_v<Fingerprint>,
                                                  " bytes, has ", fingerprint.size()));
  }
  if (reports.empty() || reports.size() > kMaxReportsPerBatch) {
    return FieldError("reports", absl::StrCat("must be 1 to ", kMaxReportsPerBatch,
                                              " in one batch, are ", reports.size()));
  }
  ReportBatch batch{.study = *study, .fingerprint = fingerprint, .reports = {}};
  batch.reports.reserve(reports.size());
  for (v1::Report& report : reports) {
    batch.reports.push_back({.ticket = std::move(*report.mutable_ticket()),
                             .payload = std::move(*report.mutable_payload())});
  }
  return batch;
}

void SetOutcomes(absl::Span<const ReportOutcome> outcomes,
                 google::protobuf::RepeatedField<int>& protos) {
  protos.Reserve(static_cast<int>(outcomes.size()));
  for (const ReportOutcome outcome : outcomes) protos.Add(static_cast<int>(outcome));
}

absl::Status SubmitError(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnavailable &&
      status.code() != absl::StatusCode::kResourceExhausted) {
    return status;
  }
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; the same bytes may be sent again"));
}

}  // namespace coppice
