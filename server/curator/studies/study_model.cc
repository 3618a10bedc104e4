#include "server/curator/studies/study_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/model/model.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/inspection/break_down.h"
#include "server/curator/estimation/labels/label_only.h"
#include "server/curator/estimation/labels/smooth_labels.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/estimation/pooled/pooled.h"
#include "server/curator/partition/by_value.h"
#include "server/curator/study/label_record.h"
#include "server/curator/study/study_record.h"
#include "server/store/models/model_record.h"

namespace coppice::curator {
namespace {

bool UsesPublicLabels(const EstimatorOptions& options) {
  switch (options.kind) {
    case EstimatorKind::kPooled:
    case EstimatorKind::kSmooth:
      return options.evidence == Evidence::kPublic;
    case EstimatorKind::kPrune:
      return true;
    case EstimatorKind::kWeighted:
      return options.lambda > 0;
  }
  return true;
}

// `what` is requested: "model" or "counts".
Status CheckNotRetired(const Study& study, std::string_view what) {
  if (!study.life().Get().retired) return OkStatus();
  return FailedPreconditionError(StrCat(
      "the study ", study.id(), " gives no further ", what, ": its sums were deleted ",
      study.definition().settings.retention_days, " days after sealing; its models are there"));
}

Status CheckHasPublicRows(const Study& study) {
  if (study.definition().partition.from_schema) {
    return FailedPreconditionError(StrCat("the study ", study.id(),
                                          " was made from its schema alone: there are no ",
                                          "public rows that a forecast could rest on"));
  }
  if (!study.life().Get().retired) return OkStatus();
  return FailedPreconditionError(
      StrCat("the study ", study.id(), " gives no further forecast: its public rows were ",
             "deleted ", study.definition().settings.retention_days, " days after sealing"));
}

// `kind` names the reports: "accepted reports", ...
Status CheckEnoughReports(const StudyInfo& info, uint64_t reports, std::string_view kind,
                          std::string_view what) {
  if (reports >= info.settings.min_reports) return OkStatus();
  return FailedPreconditionError(StrCat(
      "the study ", info.id, " has ", reports, " ", kind, ", and gives no ", what, " below ",
      info.settings.min_reports, " (min_reports): ",
      info.state == StudyState::kOpen ? "wait for more" : "it is sealed, so there will be none"));
}

Status CheckEnoughReports(const StudyInfo& info, std::string_view what) {
  return CheckEnoughReports(info, info.outcomes[static_cast<size_t>(ReportOutcome::kAccepted)],
                            "accepted reports", what);
}

Status CheckEnoughReportsWhere(const StudyInfo& info, const EstimatorOptions& options,
                               uint64_t reports) {
  if (!options.where) return OkStatus();
  return CheckEnoughReports(info, reports,
                            StrCat("accepted reports where ", options.where->ToString()), "model");
}

// The batches behind sums read since `counted_before` batches were counted. None if the sums may
// include reports of other batches, whose number of accepted reports is not known yet.
BatchSummary BatchesOf(const Study& study, uint64_t counted_before) {
  const bool has_stored = study.batches().has_stored();
  BatchSummary batches = study.batches().Summary(0);
  if (has_stored || batches.counted != counted_before) return {};
  return batches;
}

// The state of the study's sums, which must be asked before reading them.
SumsState StateOfSums(const Study& study) {
  const bool are_final = study.SumsAreFinal();  // asked first
  return {.are_final = are_final, .seen_early = study.life().Get().seen_early};
}

Status CheckTree(const Study& study, uint32_t tree) {
  if (tree < study.num_trees()) return OkStatus();
  return InvalidArgumentError(StrCat("tree: the study ", study.id(), " has no tree ", tree,
                                     ", its trees are 0 to ", study.num_trees() - 1));
}

// Estimates each tree from its own sums and collapses leaves that pruning made equal.
StatusOr<Model> EstimateTrees(const StudyDefinition& definition,
                              const StudySums::Snapshot& progress, const Table& public_rows,
                              const EstimatorOptions& options, Certificate certificate,
                              const CancelCheck& cancel) {
  EstimatorOptions of_partition = options;
  of_partition.max_depth = definition.partition.max_depth;
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  for (size_t t = 0; t < definition.form->num_trees(); ++t) {
    COPPICE_RETURN_IF_ERROR(cancel());
    const Tree& tree = (*definition.forest)[t];
    COPPICE_ASSIGN_OR_RETURN(std::vector<LeafPrediction> of_tree,
                             EstimateTree(tree, definition.form->mechanism(t), *progress.sums[t],
                                          CountPublicRows(tree, public_rows), of_partition));
    COPPICE_ASSIGN_OR_RETURN(CollapsedTree pruned,
                             Collapse(tree, of_tree, *definition.terms->schema));
    forest.push_back(std::move(pruned.tree));
    leaves.push_back(std::move(pruned.leaves));
  }
  SetPromises(definition, forest, certificate);
  return Model::Create(*definition.terms->schema, std::move(forest), std::move(leaves),
                       std::move(certificate));
}

// `sums` must be those of the model forest.
StatusOr<std::vector<PrivateCounts>> CountsOfTrees(const StudyDefinition& definition,
                                                   const std::vector<SharedSums>& sums,
                                                   const Table& public_rows,
                                                   const CancelCheck& cancel) {
  std::vector<PrivateCounts> counts;
  for (size_t t = 0; t < sums.size(); ++t) {
    COPPICE_RETURN_IF_ERROR(cancel());
    const PublicCounts of_rows =
        CountPublicRows((*definition.form->model_forest())[t], public_rows);
    COPPICE_ASSIGN_OR_RETURN(counts.emplace_back(),
                             definition.form->CountsOf(t, *sums[t], of_rows));
  }
  return counts;
}

// Converts leaves of numbers from the terms' range to the target's bounds.
StatusOr<Model> AdditiveModel(const StudyForm& form, Forest forest,
                              std::vector<std::vector<LeafPrediction>> leaves,
                              Certificate certificate) {
  form.PlaceInTargetBounds(leaves);
  return Model::Create(*form.terms().schema, std::move(forest), std::move(leaves),
                       std::move(certificate), LeafKind::kAdditive);
}

// Estimates all trees of the forest together.
StatusOr<Model> EstimateForest(const StudyDefinition& definition,
                               const std::vector<SharedSums>& sums, const Table& public_rows,
                               const PooledBasis& basis, const EstimatorOptions& options,
                               Certificate certificate, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<PrivateCounts> counts,
                           CountsOfTrees(definition, sums, public_rows, cancel));
  const Forest& forest = *definition.form->model_forest();
  COPPICE_ASSIGN_OR_RETURN(PooledFit fit,
                           EstimatePooled(basis, forest, counts, options.evidence, cancel));
  if (options.evidence == Evidence::kBoth) certificate.diagnosis = fit.diagnosis.InWords();
  SetPromises(definition, forest, certificate);
  return AdditiveModel(*definition.form, forest, std::move(fit.leaves), std::move(certificate));
}

// Corrects the public predictor, of whose trees the model consists as well.
StatusOr<Model> CorrectPredictor(const StudyDefinition& definition,
                                 const std::vector<SharedSums>& sums, const Table& public_rows,
                                 const SmoothEstimator& estimator, const EstimatorOptions& options,
                                 Certificate certificate, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<PrivateCounts> counts,
                           CountsOfTrees(definition, sums, public_rows, cancel));
  COPPICE_ASSIGN_OR_RETURN(SmoothFit fit, estimator.Estimate(counts, options.evidence, cancel));
  if (options.evidence == Evidence::kBoth) certificate.diagnosis = std::move(fit.diagnosis);
  SetPromises(definition, *definition.form->model_forest(), certificate);
  return Model::Create(*definition.terms->schema, std::move(fit.forest), std::move(fit.leaves),
                       std::move(certificate), LeafKind::kScores);
}

StatusOr<std::optional<EncodedValue>> WhereOf(const Schema& schema,
                                              const EstimatorOptions& options) {
  if (!options.where) return std::nullopt;
  return EncodeValue(schema, *options.where);
}

// The sums by tree: of all reports or, where the study is by a feature, of those with one value.
StatusOr<std::vector<SharedSums>> SumsFor(const StudyDefinition& definition,
                                          const StudySums::Snapshot& progress,
                                          const EstimatorOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<EncodedValue> where,
                           WhereOf(*definition.terms->schema, options));
  std::vector<SharedSums> sums;
  for (size_t t = 0; t < progress.sums.size(); ++t) {
    sums.push_back(definition.form->ModelSums(t, progress.sums[t], where));
  }
  return sums;
}

// What boosting margins starts at: the public rows' answer by the study's forest, or nothing.
StatusOr<AdditiveForest> MarginOffset(const StudyDefinition& definition,
                                      const std::vector<SharedSums>& sums, const Table& public_rows,
                                      const PooledBasis& basis, Evidence evidence,
                                      const CancelCheck& cancel) {
  if (evidence != Evidence::kBoth) return NoOffset(definition.terms->schema->num_outputs());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<PrivateCounts> counts,
                           CountsOfTrees(definition, sums, public_rows, cancel));
  const Forest& forest = *definition.form->model_forest();
  COPPICE_ASSIGN_OR_RETURN(PooledFit of_public,
                           EstimatePooled(basis, forest, counts, Evidence::kPublic, cancel));
  return AdditiveForest{.forest = forest, .leaves = std::move(of_public.leaves)};
}

// Boosts trees on labels by the estimator that `options` name. `make_offset` makes what boosting
// margins starts at.
StatusOr<LabelsFit> FitLabels(absl::FunctionRef<StatusOr<AdditiveForest>()> make_offset,
                              const LabelReports& reports, const PublicBasis& basis,
                              const EstimatorOptions& options, const CancelCheck& cancel) {
  const bool smooth = options.kind == EstimatorKind::kSmooth;
  if (smooth && reports.range) {
    COPPICE_ASSIGN_OR_RETURN(const PublicPredictor predictor,
                             basis.smooth->PredictorFor(options.evidence));
    return EstimateSmoothNumbers(predictor, basis.smooth->ResidualsFor(options.evidence), reports,
                                 cancel);
  }
  COPPICE_ASSIGN_OR_RETURN(AdditiveForest offset, make_offset());
  if (smooth) {
    COPPICE_ASSIGN_OR_RETURN(const PublicPredictor predictor,
                             basis.smooth->PredictorFor(options.evidence));
    return EstimateSmoothLabels(predictor, std::move(offset), reports, cancel);
  }
  COPPICE_ASSIGN_OR_RETURN(LabelOnlyFit fit, EstimateLabelOnly(std::move(offset), reports, cancel));
  return LabelsFit{.forest = std::move(fit.model.forest),
                   .leaves = std::move(fit.model.leaves),
                   .kind = LeafKind::kAdditive,
                   .diagnosis = absl::StrFormat(
                       "labels alone are private: trees boosted on them count with weight %.2f%s",
                       fit.alpha, fit.has_offset ? "" : ", and public labels are left out")};
}

// For studies with all features public: boosts trees on the reports' labels over what public rows
// say.
StatusOr<Model> EstimateFromLabels(const storage::Store& store, const Study& study,
                                   const std::vector<SharedSums>& sums, const Table& public_rows,
                                   const PublicBasis& basis, const EstimatorOptions& options,
                                   Certificate certificate, const CancelCheck& cancel) {
  const StudyDefinition& definition = study.definition();
  const Schema& schema = *definition.terms->schema;
  COPPICE_ASSIGN_OR_RETURN(const std::optional<EncodedValue> where, WhereOf(schema, options));
  COPPICE_ASSIGN_OR_RETURN(const StoredLabels labels,
                           LoadLabels(store, study, certificate.reports, where));
  COPPICE_RETURN_IF_ERROR(CheckEnoughReportsWhere(study.Info(), options, labels.found));
  if (where) certificate.reports = labels.found;
  const auto make_offset = [&] {
    return MarginOffset(definition, sums, public_rows, *basis.pooled, options.evidence, cancel);
  };
  const LabelReports reports = {.rows = &labels.rows,
                                .margins = labels.margins,
                                .range = definition.terms->rounding,
                                .range_of = [&](size_t i) {
                                  const Tree& tree = (*definition.forest)[labels.tree_of[i]];
                                  return AnswerRange(*definition.terms, tree,
                                                     tree.FindLeaf(labels.rows.row(i)));
                                }};
  COPPICE_ASSIGN_OR_RETURN(LabelsFit fit, FitLabels(make_offset, reports, basis, options, cancel));
  if (fit.forest.size() > kMaxTrees) {
    return InvalidArgumentError(StrCat(
        "estimator: the public rows' trees and those that are boosted are ", fit.forest.size(),
        ", more than the ", kMaxTrees, " that a model may have; take evidence reports"));
  }
  certificate.diagnosis = std::move(fit.diagnosis);
  if (labels.rows.num_rows() < certificate.reports) {
    StrAppend(&certificate.diagnosis, "; learnt from the first ", labels.rows.num_rows(),
              " reports, which is what memory holds");
  }
  if (fit.kind == LeafKind::kAdditive) definition.form->PlaceInTargetBounds(fit.leaves);
  return Model::Create(schema, std::move(fit.forest), std::move(fit.leaves), std::move(certificate),
                       fit.kind);
}

}  // namespace

StatusOr<EstimatorOptions> OptionsFor(const Study& study, EstimatorOptions asked) {
  if (asked.choose_kind) {
    asked.kind = ChooseEstimator(study.definition().partition);
    asked.choose_kind = false;
  }
  COPPICE_RETURN_IF_ERROR(study.form().CheckTellsWhere(asked));
  if (study.definition().partition.use_labels) return asked;
  if (UsesPublicLabels(asked)) {
    return InvalidArgumentError(
        "the study ignores its public labels, so a model of it goes by reports alone: take "
        "pooled or smooth, or weighted with lambda 0");
  }
  asked.evidence = Evidence::kReports;
  return asked;
}

Status CheckGivesModel(const Study& study) {
  COPPICE_RETURN_IF_ERROR(CheckNotRetired(study, "model"));
  return CheckEnoughReports(study.Info(), "model");
}

Status CheckGivesCounts(const Study& study) {
  COPPICE_RETURN_IF_ERROR(CheckNotRetired(study, "counts"));
  return CheckEnoughReports(study.Info(), "counts");
}

Status CheckModelBytes(const models::ModelInfo& info, uint64_t most) {
  if (most == 0) return OkStatus();
  const uint64_t bytes = models::ToProto(info).ByteSizeLong();
  if (bytes <= most) return OkStatus();
  return InvalidArgumentError(
      StrCat("max_model_bytes: the model has ", bytes, " bytes, and ", most,
             " are allowed: raise max_model_bytes, delete other models if their owner has a "
             "quota, or make a study of fewer leaves"));
}

Status CheckSameModel(const models::ModelSummary& existing, std::string_view study,
                      const EstimatorOptions& options) {
  const std::string& estimator = existing.certificate->estimator;
  if (existing.source == MakeName(kStudies, study) && estimator == options.ToString()) {
    return OkStatus();
  }
  return AlreadyExistsError(StrCat("model_id: there is a model ", existing.id, " already, of ",
                                   existing.source, " by estimator ", estimator));
}

StatusOr<Model> EstimateModel(const storage::Store& store, const Study& study,
                              const Table& public_rows, const PublicBasis& basis,
                              const EstimatorOptions& options, const CancelCheck& cancel) {
  const StudyDefinition& definition = study.definition();
  const SumsState state = StateOfSums(study);
  const uint64_t counted_before = study.batches().Summary(0).counted;
  const StudySums::Snapshot progress = study.sums().Read();
  const BatchSummary batches = BatchesOf(study, counted_before);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<SharedSums> sums,
                           SumsFor(definition, progress, options));
  uint64_t reports = 0;
  for (const SharedSums& of_tree : sums) reports += of_tree->reports;
  Certificate certificate = MakeCertificate(definition, options, reports, state, batches);
  COPPICE_RETURN_IF_ERROR(definition.form->CheckEstimator(options));
  const bool smooth = options.kind == EstimatorKind::kSmooth;
  if (definition.form->KeepsReports() && options.evidence != Evidence::kPublic) {
    return EstimateFromLabels(store, study, sums, public_rows, basis, options,
                              std::move(certificate), cancel);
  }
  COPPICE_RETURN_IF_ERROR(CheckEnoughReportsWhere(study.Info(), options, reports));
  if (smooth) {
    return CorrectPredictor(definition, sums, public_rows, *basis.smooth, options,
                            std::move(certificate), cancel);
  }
  if (options.kind == EstimatorKind::kPooled) {
    return EstimateForest(definition, sums, public_rows, *basis.pooled, options,
                          std::move(certificate), cancel);
  }
  return EstimateTrees(definition, progress, public_rows, options, std::move(certificate), cancel);
}

StatusOr<PublicSide> LoadPublicSide(const storage::Store& store, const Study& study) {
  const StudyDefinition& definition = study.definition();
  COPPICE_RETURN_IF_ERROR(CheckHasPublicRows(study));
  StatusOr<Table> rows = LoadRows(store, study);
  COPPICE_RETURN_IF_ERROR(CheckHasPublicRows(study));  // the retention may have ended meanwhile
  COPPICE_RETURN_IF_ERROR(rows.status());
  return PublicSide{.terms = definition.terms,
                    .partition = definition.partition,
                    .forest = definition.form->model_forest(),
                    .rows = std::make_shared<const Table>(*std::move(rows)),
                    .relay = definition.settings.relay};
}

StatusOr<StudyCounts> CountStudy(const storage::Store& store, const Study& study,
                                 const CountsRequest& request) {
  COPPICE_RETURN_IF_ERROR(CheckGivesCounts(study));
  COPPICE_RETURN_IF_ERROR(CheckTree(study, request.tree));
  const StudySums::Snapshot progress = study.sums().Read();
  const StatusOr<Table> public_rows = LoadRows(store, study);
  // The retention may have ended since the check.
  COPPICE_RETURN_IF_ERROR(CheckGivesCounts(study));
  COPPICE_RETURN_IF_ERROR(public_rows.status());
  const StudyDefinition& definition = study.definition();
  const TreeSums& sums = *progress.sums[request.tree];
  StudyCounts result{.terms = definition.terms,
                     .forest = definition.forest,
                     .margins_only = study.form().mechanism(request.tree).margins_only(),
                     .tree_reports = sums.reports};
  for (const SharedSums& of_tree : progress.sums) result.reports += of_tree->reports;
  const Tree& tree = (*definition.forest)[request.tree];
  const PublicCounts of_rows = CountPublicRows(tree, *public_rows);
  const NoisyCounts counts = study.form().CountsWithNoise(request.tree, progress.sums);
  COPPICE_ASSIGN_OR_RETURN(
      result.break_down, BreakDownTree(tree, counts, of_rows, request.choice, request.confidence));
  return result;
}

}  // namespace coppice::curator
