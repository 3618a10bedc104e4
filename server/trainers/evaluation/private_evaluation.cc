#include "server/trainers/evaluation/private_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "common/base/printable.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/samplers.h"

namespace coppice::trainers {
namespace {

// Steps of [0, 1] for errors. A sum over 2^26 rows stays below 2^46.
constexpr int64_t kGrid = int64_t{1} << 20;
constexpr std::string_view kNoise = "discrete_laplace";

// How far neighbours are apart in each table, or measure: a row has one cell, and v and 1 - v add
// up to one step of the grid. A label that changes leaves one cell for another, or moves v, and 1 -
// v as far the other way.
uint64_t SensitivityOf(const EvaluationPlan& plan) {
  const uint64_t of_row = plan.classes > 0 ? 1 : uint64_t{kGrid};
  return plan.options.neighbours == Neighbours::kChangeLabel ? 2 * of_row : of_row;
}

double ScaleOf(const EvaluationPlan& plan) {
  return static_cast<double>(SensitivityOf(plan)) * static_cast<double>(Budget::kNanosPerEpsilon) /
         static_cast<double>(plan.half_nanos);
}

// Of a table of more than two classes the accuracy is read where fewer cells are added up.
bool ReadsAccuracyFromBins(const EvaluationPlan& plan) {
  return plan.classes > 2 && size_t{plan.classes} * plan.classes > 2 * kScoreBins;
}

size_t BinOf(double score) {
  const double place = std::floor(score * static_cast<double>(kScoreBins));
  return static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(kScoreBins - 1)));
}

StatusOr<std::vector<std::string>> GroupsBy(const Schema& schema, const std::string& name,
                                            std::optional<size_t>& place) {
  if (name.empty()) return std::vector<std::string>{""};
  const std::vector<Feature>& features = schema.features();
  const auto it = std::find_if(features.begin(), features.end(),
                               [&name](const Feature& feature) { return feature.name == name; });
  if (it == features.end()) {
    return InvalidArgumentError(StrCat("by: there is no feature \"", Printable(name), "\""));
  }
  if (it->type != FeatureType::kCategorical) {
    return InvalidArgumentError(StrCat("by: groups are values of a categorical feature, and \"",
                                       Printable(name), "\" is numeric"));
  }
  place = static_cast<size_t>(it - features.begin());
  std::vector<std::string> groups = it->values;
  groups.emplace_back("other");
  groups.emplace_back("missing");
  return groups;
}

// Counts rows, and adds up errors.
class Counter {
 public:
  Counter(const Model& model, const EvaluationPlan& plan)
      : model_(model),
        plan_(plan),
        first_(plan.groups.size() * plan.first_cells()),
        second_(plan.groups.size() * plan.second_cells()) {}

  void Add(const Table& block) {
    Row row;
    for (size_t i = 0; i < block.num_rows(); ++i) {
      if (plan_.classes > 0 && block.label(i) >= plan_.classes) continue;  // unlabelled
      block.CopyRow(i, row);
      const size_t group = GroupOf(row);
      const Prediction prediction = model_.Predict(row);
      int64_t* const first = &first_[group * plan_.first_cells()];
      int64_t* const second = &second_[group * plan_.second_cells()];
      if (plan_.classes > 0) {
        AddClass(prediction, block.label(i), first, second);
      } else {
        AddNumber(prediction, block.target(i), first, second);
      }
    }
  }

  ExactSums Take() && { return {.first = std::move(first_), .second = std::move(second_)}; }

 private:
  size_t GroupOf(RowView row) const {
    if (!plan_.by.has_value()) return 0;
    const double value = row[*plan_.by];
    return IsMissing(value) ? plan_.groups.size() - 1 : static_cast<size_t>(value);
  }

  void AddClass(const Prediction& prediction, uint32_t label, int64_t* first,
                int64_t* second) const {
    const uint32_t classes = plan_.classes;
    // Never the true class where there is no answer.
    const bool answered = prediction.label < classes &&
                          prediction.probabilities.size() == classes &&
                          !std::isnan(prediction.probabilities[prediction.label]);
    const uint32_t predicted = answered ? prediction.label : (label + 1) % classes;
    ++first[label * classes + predicted];
    if (classes == 2) {
      const double score = answered ? prediction.probabilities[1] : label == 1 ? 0.0 : 1.0;
      ++second[BinOf(score) * 2 + label];
    } else {
      const double score = answered ? prediction.probabilities[predicted] : 1.0;
      ++second[BinOf(score) * 2 + (predicted == label ? 1 : 0)];
    }
  }

  void AddNumber(const Prediction& prediction, double target, int64_t* first,
                 int64_t* second) const {
    double part = std::abs(prediction.value - target) / plan_.reach;
    if (!(part < 1)) part = 1;  // NaN too
    AddPart(part, first);
    AddPart(part * part, second);
  }

  static void AddPart(double part, int64_t* sums) {
    const auto steps = static_cast<int64_t>(part * static_cast<double>(kGrid));
    sums[0] += steps;
    sums[1] += kGrid - steps;
  }

  const Model& model_;
  const EvaluationPlan& plan_;
  std::vector<int64_t> first_, second_;
};

double SumOf(absl::Span<const int64_t> sums) {
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// Adds the cells of all groups, each of which has noise of its own.
std::vector<int64_t> OverGroups(absl::Span<const int64_t> sums, size_t cells) {
  std::vector<int64_t> total(cells);
  for (size_t i = 0; i < sums.size(); ++i) total[i % cells] += sums[i];
  return total;
}

// Figures of some cells, each the sum of `noises` noisy ones.
class Scorer {
 public:
  Scorer(const EvaluationPlan& plan, size_t noises)
      : plan_(plan), noises_(noises), scale_(ScaleOf(plan)) {}

  GroupScores Of(std::string group, absl::Span<const int64_t> first,
                 absl::Span<const int64_t> second) const {
    GroupScores scores;
    scores.group = std::move(group);
    if (plan_.classes == 0) {
      scores.rows = SumOf(first) / static_cast<double>(kGrid);
      scores.mae = Scaled(ErrorOf(first), [this](double v) { return plan_.reach * v; });
      scores.rmse =
          Scaled(ErrorOf(second), [this](double v) { return plan_.reach * std::sqrt(v); });
      return scores;
    }
    scores.rows = SumOf(first);
    scores.accuracy = ReadsAccuracyFromBins(plan_) ? FromBins(second) : FromConfusion(first);
    for (size_t c = 0; c < plan_.classes; ++c) scores.recall.push_back(RecallOf(first, c));
    if (plan_.classes == 2) scores.auc = AreaOfBins(second);
    return scores;
  }

 private:
  template <typename Map>
  static Estimate Scaled(const Estimate& share, Map map) {
    return {.value = map(share.value),
            .interval = {.low = map(share.interval.low), .high = map(share.interval.high)}};
  }

  Estimate Share(double hits, double misses, size_t hit_cells, size_t miss_cells,
                 double row = 1) const {
    return ShareOf({.hits = hits,
                    .misses = misses,
                    .hit_cells = hit_cells * noises_,
                    .miss_cells = miss_cells * noises_,
                    .scale = scale_,
                    .row = row});
  }

  Estimate ErrorOf(absl::Span<const int64_t> sums) const {
    return Share(static_cast<double>(sums[0]), static_cast<double>(sums[1]), 1, 1,
                 static_cast<double>(kGrid));
  }

  Estimate FromConfusion(absl::Span<const int64_t> cells) const {
    const size_t classes = plan_.classes;
    double right = 0;
    for (size_t c = 0; c < classes; ++c) right += static_cast<double>(cells[c * classes + c]);
    return Share(right, SumOf(cells) - right, classes, classes * (classes - 1));
  }

  Estimate FromBins(absl::Span<const int64_t> cells) const {
    double right = 0;
    for (size_t i = 1; i < cells.size(); i += 2) right += static_cast<double>(cells[i]);
    return Share(right, SumOf(cells) - right, kScoreBins, kScoreBins);
  }

  Estimate RecallOf(absl::Span<const int64_t> cells, size_t c) const {
    const size_t classes = plan_.classes;
    const double right = static_cast<double>(cells[c * classes + c]);
    return Share(right, SumOf(cells.subspan(c * classes, classes)) - right, 1, classes - 1);
  }

  Estimate AreaOfBins(absl::Span<const int64_t> cells) const {
    std::vector<int64_t> of_class[2];
    for (size_t i = 0; i < cells.size(); ++i) of_class[i % 2].push_back(cells[i]);
    return AreaOf(of_class[0], of_class[1], scale_, noises_);
  }

  const EvaluationPlan& plan_;
  const size_t noises_;
  const double scale_;
};

}  // namespace

size_t EvaluationPlan::first_cells() const { return classes > 0 ? size_t{classes} * classes : 2; }
size_t EvaluationPlan::second_cells() const { return classes > 0 ? 2 * kScoreBins : 2; }

StatusOr<EvaluationPlan> PlanEvaluation(const Schema& schema, const EvaluationOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::FromNanos(options.epsilon_nanos));
  COPPICE_ASSIGN_OR_RETURN(const Budget half, epsilon.Share(2));
  EvaluationPlan plan{.options = options, .half_nanos = half.nanos()};
  COPPICE_ASSIGN_OR_RETURN(plan.groups, GroupsBy(schema, options.by, plan.by));
  const std::optional<Target>& target = schema.target();
  if (!target.has_value()) plan.classes = schema.num_classes();
  if (!(options.reach >= 0) || !std::isfinite(options.reach)) {
    return InvalidArgumentError("reach: must be a number above 0");
  }
  if (!target.has_value() && options.reach > 0) {
    return InvalidArgumentError("reach: is for numbers, and these rows have classes");
  }
  if (target.has_value()) plan.reach = options.reach > 0 ? options.reach : target->span();
  if (plan.groups.size() * (plan.first_cells() + plan.second_cells()) > kMaxEvaluationCells) {
    return InvalidArgumentError(StrCat("by: an evaluation has at most ", kMaxEvaluationCells,
                                       " noisy sums, and ", plan.groups.size(), " groups of ",
                                       plan.first_cells() + plan.second_cells(), " are more"));
  }
  if (ScaleOf(plan) >= static_cast<double>(kMaxNoiseScale)) {
    return InvalidArgumentError("epsilon: is so small that nothing is left but noise");
  }
  const bool classes = plan.classes > 0;
  const std::string by = options.by.empty() ? "" : StrCat(" by ", Printable(options.by));
  for (const std::string_view what :
       {classes ? "predicted and true classes of rows" : "sum of absolute errors",
        classes ? "score bins and classes of rows" : "sum of squared errors"}) {
    plan.releases.push_back({.what = StrCat(what, by),
                             .mechanism = std::string(kNoise),
                             .epsilon_nanos = plan.half_nanos});
  }
  return plan;
}

Status CheckAnswers(const Model& model, const Schema& schema) {
  if (model.schema().IsSameButForUnsaidUnits(schema)) return OkStatus();
  return FailedPreconditionError(
      "model: it is for rows of another schema, and cannot be evaluated on these");
}

StatusOr<ExactSums> CountFor(const RowBlocks& rows, const Model& model, const EvaluationPlan& plan,
                             const EvaluationProgress& progress) {
  Counter counter(model, plan);
  size_t counted = 0;
  COPPICE_RETURN_IF_ERROR(rows.ForEach([&](const Table& block) {
    counter.Add(block);
    counted += block.num_rows();
    return progress ? progress(counted) : OkStatus();
  }));
  return std::move(counter).Take();
}

StatusOr<EvaluationSums> ReleaseOf(const ExactSums& exact, const EvaluationPlan& plan,
                                   PrivateReleaser& releaser) {
  COPPICE_ASSIGN_OR_RETURN(const Budget half, Budget::FromNanos(plan.half_nanos));
  const uint64_t sensitivity = SensitivityOf(plan);
  EvaluationSums sums;
  COPPICE_ASSIGN_OR_RETURN(sums.first, releaser.Sums(exact.first, sensitivity, BudgetShare(half)));
  COPPICE_ASSIGN_OR_RETURN(sums.second,
                           releaser.Sums(exact.second, sensitivity, BudgetShare(half)));
  return sums;
}

StatusOr<EvaluationSums> EvaluatePrivately(const RowBlocks& rows, const Model& model,
                                           const EvaluationPlan& plan, PrivateReleaser& releaser,
                                           const EvaluationProgress& progress) {
  COPPICE_ASSIGN_OR_RETURN(const ExactSums exact, CountFor(rows, model, plan, progress));
  return ReleaseOf(exact, plan, releaser);
}

PrivateScores ScoresOf(const EvaluationPlan& plan, const EvaluationSums& sums) {
  const size_t groups = plan.groups.size();
  const size_t first = plan.first_cells(), second = plan.second_cells();
  const std::vector<int64_t> all_first = OverGroups(sums.first, first);
  const std::vector<int64_t> all_second = OverGroups(sums.second, second);
  PrivateScores scores{.all = Scorer(plan, groups).Of("", all_first, all_second)};
  for (size_t c = 0; c < plan.classes; ++c) {
    scores.confusion.emplace_back(
        all_first.begin() + static_cast<ptrdiff_t>(c * plan.classes),
        all_first.begin() + static_cast<ptrdiff_t>((c + 1) * plan.classes));
  }
  if (!plan.by.has_value()) return scores;
  for (size_t g = 0; g < groups; ++g) {
    scores.groups.push_back(Scorer(plan, 1).Of(
        plan.groups[g], absl::MakeConstSpan(sums.first).subspan(g * first, first),
        absl::MakeConstSpan(sums.second).subspan(g * second, second)));
  }
  return scores;
}

double ExpectedHalfWidth(const EvaluationPlan& plan, double rows) {
  const size_t groups = plan.groups.size();
  NoisyShare share{.scale = ScaleOf(plan)};
  double unit = 1;
  if (plan.classes == 0) {
    share.row = static_cast<double>(kGrid);
    share.hits = 0.1 * rows * share.row;
    share.misses = 0.9 * rows * share.row;
    unit = plan.reach;
  } else {
    const bool bins = ReadsAccuracyFromBins(plan);
    share.hits = 0.8 * rows;
    share.misses = 0.2 * rows;
    share.hit_cells = bins ? kScoreBins : plan.classes;
    share.miss_cells = bins ? kScoreBins : size_t{plan.classes} * (plan.classes - 1);
  }
  share.hit_cells *= groups;
  share.miss_cells *= groups;
  const ConfidenceInterval interval = ShareOf(share).interval;
  return unit * (interval.high - interval.low) / 2;
}

}  // namespace coppice::trainers
