#include "server/curator/studies/model_request.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"

namespace coppice::curator {
namespace {

bool GoesByPublicLabels(const EstimatorOptions& options) {
  switch (options.kind) {
    case EstimatorKind::kSmooth:
      return options.evidence == Evidence::kPublic;
    case EstimatorKind::kPrune:
      return true;
    case EstimatorKind::kWeighted:
      return options.lambda > 0;
  }
  return true;
}

absl::Status CheckNotRetired(const Study& study) {
  if (!study.Life().retired) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the study ", study.id(), " gives no further model: its sums were deleted ",
      study.definition().settings.retention_days, " days after sealing; its models are there"));
}

absl::Status CheckEnoughReports(const StudyInfo& info) {
  const uint64_t reports = info.outcomes[static_cast<size_t>(ReportOutcome::kAccepted)];
  if (reports >= info.settings.min_reports) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the study ", info.id, " has ", reports, " accepted reports, and gives no model below ",
      info.settings.min_reports, " (min_reports): ",
      info.state == StudyState::kOpen ? "wait for more" : "it is sealed, so there will be none"));
}

}  // namespace

absl::StatusOr<EstimatorOptions> OptionsFor(const Study& study, EstimatorOptions asked) {
  if (study.definition().partition.use_labels) return asked;
  if (GoesByPublicLabels(asked)) {
    return absl::InvalidArgumentError(
        "the study ignores its public labels, so a model of it goes by reports alone: take "
        "smooth, or weighted with lambda 0");
  }
  asked.evidence = Evidence::kReports;
  return asked;
}

absl::Status CheckGivesModel(const Study& study) {
  COPPICE_RETURN_IF_ERROR(CheckNotRetired(study));
  return CheckEnoughReports(study.Info());
}

absl::StatusOr<models::ModelInfo> SameModel(const models::ModelInfo& existing,
                                            absl::string_view study,
                                            const EstimatorOptions& options) {
  const std::string& estimator = existing.model->certificate().estimator;
  if (existing.source == MakeName(kStudies, study) && estimator == options.ToString()) {
    return existing;
  }
  return absl::AlreadyExistsError(absl::StrCat("model_id: there is a model ", existing.id,
                                               " already, of ", existing.source, " by estimator ",
                                               estimator));
}

}  // namespace coppice::curator
