#include "server/service/reports/submit_request.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"

namespace coppice::service {

absl::StatusOr<SubmitRequest> ParseSubmitRequest(
    const std::string& study_name, const std::string& fingerprint,
    const google::protobuf::RepeatedPtrField<v1::Report>& protos) {
  curator::ReportBatch reports;
  size_t bytes = 0;
  for (const v1::Report& proto : protos) bytes += proto.ticket().size() + proto.payload().size();
  reports.Reserve(static_cast<size_t>(protos.size()), bytes);
  for (const v1::Report& proto : protos) reports.Add(proto.ticket(), proto.payload());
  return MakeSubmitRequest(study_name, fingerprint, std::move(reports));
}

absl::StatusOr<SubmitRequest> MakeSubmitRequest(const std::string& study_name,
                                                const std::string& fingerprint,
                                                curator::ReportBatch reports) {
  const absl::StatusOr<std::string> study = ParseName(kStudies, study_name);
  if (!study.ok()) return InField("study", study.status());
  if (fingerprint.size() != std::tuple_size_v<Fingerprint>) {
    return FieldError("fingerprint", absl::StrCat("must have ", std::tuple_size_v<Fingerprint>,
                                                  " bytes, has ", fingerprint.size()));
  }
  if (reports.empty() || reports.size() > kMaxReportsPerRequest) {
    return FieldError("reports", absl::StrCat("must be 1 to ", kMaxReportsPerRequest,
                                              " in one request, are ", reports.size()));
  }
  return SubmitRequest{.study = *study, .fingerprint = fingerprint, .reports = std::move(reports)};
}

void SetOutcomes(absl::Span<const curator::ReportOutcome> outcomes,
                 google::protobuf::RepeatedField<int>& protos) {
  protos.Reserve(static_cast<int>(outcomes.size()));
  for (const curator::ReportOutcome outcome : outcomes) protos.Add(static_cast<int>(outcome));
}

absl::Status SubmitError(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnavailable &&
      status.code() != absl::StatusCode::kResourceExhausted) {
    return status;
  }
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; the same bytes may be sent again"));
}

}  // namespace coppice::service
