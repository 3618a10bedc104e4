#include "server/lab/simulation/experiment.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/randomized_rounding.h"
#include "common/terms/report_form.h"
#include "common/terms/terms.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/labels/smooth_labels.h"
#include "server/curator/estimation/planning/mechanism_choice.h"
#include "server/curator/estimation/pooled/pooled.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/number_labels.h"
#include "server/lab/simulation/liars.h"

namespace coppice::lab {
namespace {

// The devices that answer in one tree.
struct Answers {
  std::vector<uint64_t> rows;  // per value, honest or not: rows[leaf * classes + label]
  uint64_t pushers = 0;
};

// The range of a study of numbers: its public rows are cut to it.
std::optional<NumberRange> RangeOf(const Table& public_rows) {
  const std::optional<Target>& target = public_rows.schema().target();
  if (!target) return std::nullopt;
  return NumberRange{.low = target->min, .high = target->max};
}

// A device's class, true or not, or the end that it rounds its number to.
StatusOr<uint32_t> AnswerOf(const Table& rows, size_t row, const Liars& liars,
                            const std::optional<NumberRange>& range, PrivateRandom& noise) {
  if (!range) return liars.LabelOf(row, rows);
  return RoundToAnEnd(range->PlaceOf(rows.target(row)), noise);
}

// Assigns each device to a tree by a public coin.
StatusOr<std::vector<Answers>> Assign(const Forest& forest, const Table& rows,
                                      const std::optional<NumberRange>& range,
                                      const CollectOptions& options, PublicRandom& assignment,
                                      PrivateRandom& noise) {
  const uint32_t classes = rows.schema().num_outputs();
  const Liars liars(rows.num_rows(), options.liars, options.partition.seed);
  std::vector<Answers> answers(forest.size());
  for (size_t t = 0; t < forest.size(); ++t) {
    answers[t].rows.resize(size_t{forest[t].num_leaves()} * classes);
  }
  Row row;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    const size_t tree = forest.size() == 1 ? 0 : assignment.Below(forest.size());
    if (liars.Pushes(i)) {
      ++answers[tree].pushers;
      continue;
    }
    rows.CopyRow(i, row);
    const uint32_t leaf = forest[tree].FindLeaf(row);
    COPPICE_ASSIGN_OR_RETURN(const uint32_t answer, AnswerOf(rows, i, liars, range, noise));
    ++answers[tree].rows[size_t{leaf} * classes + answer];
  }
  return answers;
}

// Counts as a curator would if nobody needed protection.
curator::PrivateCounts CountExactly(const std::vector<uint64_t>& rows_of, const Domain& domain) {
  curator::PrivateCounts result;
  result.counts.classes = domain.classes;
  result.counts.leaf.resize(domain.leaves);
  result.counts.label.assign(rows_of.begin(), rows_of.end());
  result.noise.resize(domain.classes);
  for (size_t cell = 0; cell < rows_of.size(); ++cell) {
    result.counts.leaf[cell / domain.classes] += static_cast<double>(rows_of[cell]);
    result.reports += rows_of[cell];
  }
  return result;
}

StatusOr<curator::TreeSums> AddUp(const Answers& answers, const LocalMechanism& mechanism,
                                  const curator::PublicCounts& public_counts,
                                  const CollectOptions& options, PublicRandom& liars,
                                  PrivateRandom& noise) {
  curator::TreeSums sums;
  sums.sums.resize(mechanism.sum_size());
  sums.reports =
      std::accumulate(answers.rows.begin(), answers.rows.end(), uint64_t{0}) + answers.pushers;
  const absl::Span<int64_t> into = absl::MakeSpan(sums.sums);
  COPPICE_RETURN_IF_ERROR(mechanism.RandomizeAllInto(answers.rows, noise, into));
  if (answers.pushers == 0) return sums;
  COPPICE_ASSIGN_OR_RETURN(std::vector<double> worths, CellWorths(*options.liars, public_counts));
  COPPICE_ASSIGN_OR_RETURN(const Pusher pusher,
                           Pusher::Create(mechanism, options.liars->attack, std::move(worths)));
  for (uint64_t i = 0; i < answers.pushers; ++i) {
    COPPICE_RETURN_IF_ERROR(pusher.SendInto(liars, into));
  }
  return sums;
}

// Makes one counter per tree; they share mechanisms for up to `most_leaves`.
StatusOr<std::vector<curator::ConsistentCounter>> CountersOf(const SimulatedStudy& study,
                                                             const Table& public_rows,
                                                             const CollectOptions& options,
                                                             uint32_t most_leaves) {
  COPPICE_ASSIGN_OR_RETURN(
      const std::shared_ptr<curator::MechanismsBySize> mechanisms,
      curator::MechanismsBySize::Create(
          *study.mechanism, *options.epsilon,
          {.leaves = most_leaves, .classes = public_rows.schema().num_outputs()}));
  std::vector<curator::ConsistentCounter> counters;
  for (const Tree& tree : study.forest) {
    counters.emplace_back(tree, public_rows.shared_schema(), mechanisms);
  }
  return counters;
}

// Makes one pusher per tree if there are liars who push.
StatusOr<std::vector<ConsistentPusher>> PushersOf(
    const SimulatedStudy& study, const std::vector<curator::ConsistentCounter>& counters,
    const Table& public_rows, const CollectOptions& options) {
  std::vector<ConsistentPusher> pushers;
  if (!options.liars.has_value() || options.liars->attack == Attack::kLabel) return pushers;
  for (size_t t = 0; t < counters.size(); ++t) {
    COPPICE_ASSIGN_OR_RETURN(
        ConsistentPusher pusher,
        ConsistentPusher::Create(counters[t], public_rows, study.public_counts[t], *options.liars));
    pushers.push_back(std::move(pusher));
  }
  return pushers;
}

void CountPublicRowsInto(const Table& public_rows, SimulatedStudy& study) {
  for (const Tree& tree : study.forest) {
    study.leaves += tree.num_leaves();
    study.public_counts.push_back(curator::CountPublicRows(tree, public_rows));
  }
}

// Makes an honest report about consistent leaves, or one with a false label.
StatusOr<std::string> RandomizeConsistent(const LocalMechanism& mechanism,
                                          absl::Span<const uint32_t> leaves, const LeafLabel& value,
                                          uint32_t column, PrivateRandom& noise) {
  const auto own = std::lower_bound(leaves.begin(), leaves.end(), value.leaf);
  return mechanism.Randomize(
      {.leaf = static_cast<uint32_t>(own - leaves.begin()), .label = value.label}, column, noise);
}

// Each private row answers about the leaves that its public values allow, report by report.
Status CollectConsistent(const Table& public_rows, const Table& private_rows,
                         const CollectOptions& options, PublicRandom& assignment,
                         PrivateRandom& noise, SimulatedStudy& study) {
  uint32_t most_leaves = 1;
  for (const Tree& tree : study.forest) most_leaves = std::max(most_leaves, tree.num_leaves());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<curator::ConsistentCounter> counters,
                           CountersOf(study, public_rows, options, most_leaves));
  CountPublicRowsInto(public_rows, study);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<ConsistentPusher> pushers,
                           PushersOf(study, counters, public_rows, options));
  const std::optional<NumberRange> range = RangeOf(public_rows);
  std::vector<curator::TreeSums> sums(study.forest.size());
  for (size_t t = 0; t < sums.size(); ++t) sums[t].sums.resize(counters[t].sum_size());
  const Liars liars(private_rows.num_rows(), options.liars, options.partition.seed);
  PublicRandom of_liars(options.partition.seed, kPushStream);
  Row row;
  for (size_t i = 0; i < private_rows.num_rows(); ++i) {
    private_rows.CopyRow(i, row);
    const size_t t = assignment.Below(study.forest.size());
    ClaimedReport report{.leaves = counters[t].LeavesOf(row)};
    const LocalMechanism& mechanism = counters[t].MechanismFor(report.leaves.size());
    report.column = static_cast<uint32_t>(assignment.Below(mechanism.columns()));
    if (liars.Pushes(i)) {
      COPPICE_ASSIGN_OR_RETURN(report, pushers[t].Send(report.leaves, report.column, of_liars));
    } else {
      LeafLabel value = {.leaf = study.forest[t].FindLeaf(row), .label = 0};
      COPPICE_ASSIGN_OR_RETURN(value.label, AnswerOf(private_rows, i, liars, range, noise));
      COPPICE_ASSIGN_OR_RETURN(report.payload, RandomizeConsistent(mechanism, report.leaves, value,
                                                                   report.column, noise));
    }
    counters[t].AddChecked(report.leaves, {.payload = report.payload, .column = report.column},
                           absl::MakeSpan(sums[t].sums));
    ++sums[t].reports;
    study.report_bytes = std::max(study.report_bytes, report.payload.size());
  }
  std::vector<curator::TreeReports> reports;
  for (size_t t = 0; t < study.forest.size(); ++t) {
    COPPICE_ASSIGN_OR_RETURN(study.private_counts.emplace_back(),
                             counters[t].Counts(sums[t], study.public_counts[t]));
    reports.push_back({&counters[t].MechanismFor(1), &sums[t], &counters[t]});
  }
  study.alarms = curator::ComputeAlarms(reports);
  return OkStatus();
}

// A class, or the place of a number in a range.
StatusOr<std::string> RandomizeLabel(const LocalMechanism& mechanism, const Table& rows, size_t row,
                                     const Liars& liars, const std::optional<NumberRange>& range,
                                     uint32_t column, PrivateRandom& noise) {
  if (!range) {
    return mechanism.Randomize({.leaf = 0, .label = liars.LabelOf(row, rows)}, column, noise);
  }
  std::string payload;
  COPPICE_RETURN_IF_ERROR(mechanism.RandomizeNumber(
      {.leaf = 0, .place = range->PlaceOf(rows.target(row))}, column, noise, payload));
  return payload;
}

// By report: the range that its device takes, around the centre of its leaf in some tree. Empty if
// leaves have no centres.
std::vector<NumberRange> RangesOf(const SimulatedStudy& study, const Table& public_rows,
                                  const Table& private_rows, const CollectOptions& options,
                                  PublicRandom& assignment) {
  std::vector<NumberRange> ranges;
  const std::optional<NumberRange> of_study = RangeOf(public_rows);
  if (options.rounding || !curator::CanHaveCentres(public_rows.schema(), study.partition)) {
    return ranges;
  }
  const Forest offered = curator::CentreOnNumbers(study.forest, public_rows, study.partition);
  Row row;
  for (size_t i = 0; i < private_rows.num_rows(); ++i) {
    private_rows.CopyRow(i, row);
    const Tree& tree = offered[assignment.Below(offered.size())];
    ranges.push_back(AnswerRange(*of_study, tree, tree.FindLeaf(row)));
  }
  return ranges;
}

// For studies whose features are all public: each private row answers about its label.
Status CollectLabels(const Table& public_rows, const Table& private_rows,
                     const CollectOptions& options, PublicRandom& assignment, PrivateRandom& noise,
                     SimulatedStudy& study) {
  const uint32_t classes = private_rows.schema().num_outputs();
  COPPICE_ASSIGN_OR_RETURN(const std::vector<curator::ConsistentCounter> counters,
                           CountersOf(study, public_rows, options, /*most_leaves=*/1));
  const LocalMechanism& mechanism = counters[0].MechanismFor(1);
  CountPublicRowsInto(public_rows, study);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<ConsistentPusher> pushers,
                           PushersOf(study, counters, public_rows, options));
  curator::LabelReports& labels = study.labels.emplace();
  labels.rows = &private_rows;
  labels.margins.resize(curator::MarginColumns(classes));
  const Liars liars(private_rows.num_rows(), options.liars, options.partition.seed);
  PublicRandom of_liars(options.partition.seed, kPushStream);
  std::map<size_t, size_t> claims;  // public rows by device
  labels.range = RangeOf(public_rows);
  const std::vector<NumberRange> ranges =
      RangesOf(study, public_rows, private_rows, options, assignment);
  curator::TreeSums sums{.sums = std::vector<int64_t>(mechanism.sum_size())};
  Row row;
  for (size_t i = 0; i < private_rows.num_rows(); ++i) {
    ClaimedReport report{.column = static_cast<uint32_t>(assignment.Below(mechanism.columns()))};
    if (liars.Pushes(i)) {
      private_rows.CopyRow(i, row);
      const size_t t = of_liars.Below(study.forest.size());
      COPPICE_ASSIGN_OR_RETURN(
          report, pushers[t].Send({study.forest[t].FindLeaf(row)}, report.column, of_liars));
      if (report.public_row.has_value()) claims.emplace(i, *report.public_row);
    } else {
      const std::optional<NumberRange> range = ranges.empty() ? labels.range : ranges[i];
      COPPICE_ASSIGN_OR_RETURN(report.payload, RandomizeLabel(mechanism, private_rows, i, liars,
                                                              range, report.column, noise));
    }
    const Contribution sent = {.payload = report.payload, .column = report.column};
    std::vector<double> margins = curator::LabelMargins(public_rows.schema(), mechanism, sent);
    if (!ranges.empty()) {
      margins[0] = curator::MoveMargin(margins[0], ranges[i], *labels.range);
    }
    for (size_t k = 0; k < margins.size(); ++k) labels.margins[k].push_back(margins[k]);
    mechanism.AddAll({sent}, absl::MakeSpan(sums.sums));
    ++sums.reports;
    study.report_bytes = std::max(study.report_bytes, report.payload.size());
  }
  if (!claims.empty()) {
    study.claimed_rows =
        std::make_shared<const Table>(ClaimedRows(public_rows, private_rows, claims));
    labels.rows = study.claimed_rows.get();
  }
  if (!ranges.empty()) labels.range_of = [ranges](size_t i) { return ranges[i]; };
  for (const Tree& tree : study.forest) {
    const Domain domain = {.leaves = tree.num_leaves(), .classes = classes};
    study.private_counts.push_back(CountExactly(std::vector<uint64_t>(domain.cells()), domain));
  }
  const curator::TreeReports reports{.mechanism = &mechanism, .sums = &sums};
  study.alarms = curator::ComputeAlarms({reports});
  // The daemon has no such alarm for these studies: their sums do not tell columns apart.
  std::erase_if(study.alarms, [](const curator::Alarm& alarm) { return alarm.name == "column"; });
  return OkStatus();
}

// Where nothing is in the clear, each private row answers about all leaves of its tree. The rows of
// one value are randomized together, which has the same law (LocalMechanism::RandomizeAllInto).
Status CollectAllLeaves(const Table& public_rows, const Table& private_rows,
                        const CollectOptions& options, PublicRandom& assignment,
                        PrivateRandom& noise, SimulatedStudy& study) {
  CountPublicRowsInto(public_rows, study);
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<Answers> answers,
      Assign(study.forest, private_rows, RangeOf(public_rows), options, assignment, noise));
  PublicRandom liars(options.partition.seed, kPushStream);
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms;
  std::vector<curator::TreeSums> sums;
  for (size_t t = 0; t < study.forest.size(); ++t) {
    const Domain domain = {.leaves = study.forest[t].num_leaves(),
                           .classes = public_rows.schema().num_outputs()};
    COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<LocalMechanism> made,
                             MakeLocalMechanism(*study.mechanism, *options.epsilon, domain));
    const LocalMechanism& mechanism = *mechanisms.emplace_back(std::move(made));
    COPPICE_ASSIGN_OR_RETURN(
        sums.emplace_back(),
        AddUp(answers[t], mechanism, study.public_counts[t], options, liars, noise));
    COPPICE_ASSIGN_OR_RETURN(study.private_counts.emplace_back(),
                             curator::CountReports(mechanism, sums.back(), study.public_counts[t]));
    COPPICE_ASSIGN_OR_RETURN(const std::string sample,
                             mechanism.Randomize(LeafLabel{}, /*column=*/0, noise));
    study.report_bytes = std::max(study.report_bytes, sample.size());
  }
  std::vector<curator::TreeReports> reports;
  for (size_t t = 0; t < sums.size(); ++t) reports.push_back({mechanisms[t].get(), &sums[t]});
  study.alarms = curator::ComputeAlarms(reports);
  return OkStatus();
}

// Without privacy, whatever the form.
Status CollectExactly(const Table& public_rows, const Table& private_rows,
                      const CollectOptions& options, PublicRandom& assignment, PrivateRandom& noise,
                      SimulatedStudy& study) {
  CountPublicRowsInto(public_rows, study);
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<Answers> answers,
      Assign(study.forest, private_rows, RangeOf(public_rows), options, assignment, noise));
  for (size_t t = 0; t < study.forest.size(); ++t) {
    const Domain domain = {.leaves = study.forest[t].num_leaves(),
                           .classes = public_rows.schema().num_outputs()};
    study.private_counts.push_back(CountExactly(answers[t].rows, domain));
  }
  return OkStatus();
}

Status CheckLiars(const CollectOptions& options, const ReportForm& form) {
  if (!options.liars.has_value()) return OkStatus();
  if (!options.epsilon.has_value()) {
    return InvalidArgumentError("liars can be simulated only with privacy");
  }
  if (options.liars->claim != Claim::kChosen || form.ShowsSomething()) return OkStatus();
  return InvalidArgumentError(
      "--claim chosen: no feature is public; name some with --public-features");
}

StatusOr<curator::PartitionOptions> PartitionOf(const Table& public_rows, double devices,
                                                const CollectOptions& options) {
  if (!options.choose_size) return options.partition;
  const double information = options.epsilon.has_value()
                                 ? curator::ExpectedInformation(devices, *options.epsilon)
                                 : devices;
  return curator::ChooseForestSize(public_rows, options.partition, information);
}

// The mechanism asked for, if reports of this form can be made with it, or the one that a curator
// would choose.
StatusOr<MechanismKind> MechanismFor(const CollectOptions& options, const ReportForm& form,
                                     const Forest& forest, const Schema& schema) {
  std::optional<MechanismKind> kind = options.mechanism;
  if (!kind.has_value()) {
    COPPICE_ASSIGN_OR_RETURN(
        const curator::MechanismChoice choice,
        curator::ChooseMechanism(
            *options.epsilon, curator::ReportSubject::Of(form, schema, forest),
            /*max_payload_bytes=*/0,
            curator::PurposeOf(options.partition.rule, form.IsAboutLabelAlone())));
    kind = choice.cost.kind;
  }
  COPPICE_RETURN_IF_ERROR(form.CheckMechanism(*kind, *options.epsilon, schema));
  return *kind;
}

}  // namespace

StatusOr<SimulatedStudy> Collect(const Table& public_rows, const Table& private_rows,
                                 const CollectOptions& options, PublicRandom& assignment,
                                 PrivateRandom& noise) {
  const ReportForm& form = ReportForm::For(public_rows.schema());
  COPPICE_RETURN_IF_ERROR(CheckLiars(options, form));
  SimulatedStudy study;
  COPPICE_ASSIGN_OR_RETURN(
      study.partition,
      PartitionOf(public_rows, static_cast<double>(private_rows.num_rows()), options));
  COPPICE_ASSIGN_OR_RETURN(study.forest, curator::GrowPartition(public_rows, study.partition));
  if (!options.epsilon.has_value()) {
    COPPICE_RETURN_IF_ERROR(
        CollectExactly(public_rows, private_rows, options, assignment, noise, study));
    return study;
  }
  COPPICE_ASSIGN_OR_RETURN(study.mechanism,
                           MechanismFor(options, form, study.forest, public_rows.schema()));
  const auto collect = form.IsAboutLabelAlone() ? CollectLabels
                       : form.ShowsSomething()  ? CollectConsistent
                                                : CollectAllLeaves;
  COPPICE_RETURN_IF_ERROR(collect(public_rows, private_rows, options, assignment, noise, study));
  return study;
}

StatusOr<ForestPredictions> EstimateForest(SimulatedStudy& study, const Table& public_rows,
                                           const curator::EstimatorOptions& options) {
  if (options.kind == curator::EstimatorKind::kPooled) {
    if (study.basis == nullptr) {
      COPPICE_ASSIGN_OR_RETURN(curator::PooledBasis basis,
                               curator::PooledBasis::Create(study.forest, public_rows));
      study.basis = std::make_shared<const curator::PooledBasis>(std::move(basis));
    }
    COPPICE_ASSIGN_OR_RETURN(curator::PooledFit fit,
                             curator::EstimatePooled(*study.basis, study.forest,
                                                     study.private_counts, options.evidence));
    return std::move(fit.leaves);
  }
  ForestPredictions predictions;
  for (size_t t = 0; t < study.forest.size(); ++t) {
    COPPICE_ASSIGN_OR_RETURN(std::vector<LeafPrediction> leaves,
                             curator::EstimateTree(study.forest[t], study.private_counts[t],
                                                   study.public_counts[t], options));
    predictions.push_back(std::move(leaves));
  }
  return predictions;
}

// What boosting margins starts at.
static StatusOr<curator::AdditiveForest> MarginOffset(SimulatedStudy& study,
                                                      const Table& public_rows,
                                                      const curator::EstimatorOptions& options) {
  curator::AdditiveForest offset = curator::NoOffset(public_rows.schema().num_outputs());
  if (options.evidence == curator::Evidence::kReports) return offset;
  curator::EstimatorOptions of_public = options;
  of_public.kind = curator::EstimatorKind::kPooled;
  of_public.evidence = curator::Evidence::kPublic;
  COPPICE_ASSIGN_OR_RETURN(offset.leaves, EstimateForest(study, public_rows, of_public));
  offset.forest = study.forest;
  return offset;
}

// What is learnt from labels, where these are all that is private.
static StatusOr<curator::LabelsFit> EstimateSmoothFromLabels(
    SimulatedStudy& study, const LearnedRows& rows, const curator::EstimatorOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const PublicPredictor predictor,
                           study.smooth->PredictorFor(options.evidence));
  if (rows.rounding) {
    return curator::EstimateSmoothNumbers(predictor, study.smooth->ResidualsFor(options.evidence),
                                          *study.labels);
  }
  COPPICE_ASSIGN_OR_RETURN(curator::AdditiveForest offset, MarginOffset(study, rows.cut, options));
  return curator::EstimateSmoothLabels(predictor, std::move(offset), *study.labels);
}

StatusOr<Model> EstimateSmooth(SimulatedStudy& study, const LearnedRows& rows,
                               const curator::EstimatorOptions& options) {
  if (study.smooth == nullptr) {
    COPPICE_ASSIGN_OR_RETURN(
        curator::SmoothEstimator estimator,
        curator::SmoothEstimator::Create(study.forest, study.partition, rows.given, rows.rounding));
    study.smooth = std::make_shared<const curator::SmoothEstimator>(std::move(estimator));
  }
  if (study.labels.has_value() && options.evidence != curator::Evidence::kPublic) {
    COPPICE_ASSIGN_OR_RETURN(curator::LabelsFit fit,
                             EstimateSmoothFromLabels(study, rows, options));
    return Model::Create(rows.given.schema(), std::move(fit.forest), std::move(fit.leaves), {},
                         fit.kind);
  }
  COPPICE_ASSIGN_OR_RETURN(curator::SmoothFit fit,
                           study.smooth->Estimate(study.private_counts, options.evidence));
  return Model::Create(rows.given.schema(), std::move(fit.forest), std::move(fit.leaves), {},
                       LeafKind::kScores);
}

ClassScores EvaluateClasses(const Model& model, const Table& rows) {
  ClassEvaluation evaluation(rows.schema().num_classes());
  Row row;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    rows.CopyRow(i, row);
    const Prediction prediction = model.Predict(row);
    evaluation.Add(prediction.label, prediction.probabilities, rows.label(i));
  }
  return evaluation.Scores();
}

StatusOr<curator::LabelOnlyFit> EstimateLabels(SimulatedStudy& study, const Table& public_rows,
                                               const curator::EstimatorOptions& options) {
  if (options.kind != curator::EstimatorKind::kPooled) {
    return InvalidArgumentError("where all features are public, use --estimator pooled or smooth");
  }
  COPPICE_ASSIGN_OR_RETURN(curator::AdditiveForest offset,
                           MarginOffset(study, public_rows, options));
  if (options.evidence == curator::Evidence::kPublic) {
    return curator::LabelOnlyFit{.model = std::move(offset)};
  }
  return curator::EstimateLabelOnly(std::move(offset), *study.labels);
}

LocatedRows::LocatedRows(const Forest& forest, const Table& rows)
    : classes_(rows.schema().num_classes()), labels_(rows.labels().begin(), rows.labels().end()) {
  for (const Tree& tree : forest) leaf_.push_back(curator::FindLeaves(tree, rows));
}

Prediction LocatedRows::Predict(const ForestPredictions& predictions, size_t row) const {
  const LeafPrediction& first = predictions[0][leaf_[0][row]];
  Prediction prediction = {.label = first.label, .probabilities = first.probabilities};
  if (leaf_.size() == 1) return prediction;
  std::vector<double>& mean = prediction.probabilities;
  std::fill(mean.begin(), mean.end(), 0);
  for (size_t t = 0; t < leaf_.size(); ++t) {
    const std::vector<double>& p = predictions[t][leaf_[t][row]].probabilities;
    for (size_t k = 0; k < mean.size(); ++k) mean[k] += p[k];
  }
  for (double& p : mean) p /= static_cast<double>(leaf_.size());
  prediction.label = static_cast<uint32_t>(
      std::distance(mean.begin(), std::max_element(mean.begin(), mean.end())));
  CutToProbabilities(mean);
  return prediction;
}

ClassScores LocatedRows::Evaluate(const ForestPredictions& predictions) const {
  ClassEvaluation evaluation(classes_);
  for (size_t i = 0; i < labels_.size(); ++i) {
    const Prediction prediction = Predict(predictions, i);
    evaluation.Add(prediction.label, prediction.probabilities, labels_[i]);
  }
  return evaluation.Scores();
}

}  // namespace coppice::lab
