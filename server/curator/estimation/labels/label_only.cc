#include "server/curator/estimation/labels/label_only.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/estimation/labels/label_folds.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

constexpr uint64_t kFoldSeed = 0x6c6162656c73;  // any public number
constexpr double kRidge = 20;                   // in units of reports without noise
constexpr double kMiddlePlace = 0.5;

struct FoldPredictions {
  std::vector<BoostedTree> trees;
  RowColumns predicted;  // at all rows
};
using Folds = std::array<FoldPredictions, LabelFolds::kCount>;

Status CheckLabelReports(const AdditiveForest& offset, const LabelReports& reports) {
  const uint32_t classes = reports.rows == nullptr ? 0 : reports.rows->schema().num_outputs();
  bool fits = classes >= 2 && !offset.forest.empty() &&
              offset.forest.size() == offset.leaves.size() &&
              reports.margins.size() == MarginColumns(classes);
  for (size_t k = 0; fits && k < reports.margins.size(); ++k) {
    fits = reports.margins[k].size() == reports.rows->num_rows();
  }
  for (size_t t = 0; fits && t < offset.forest.size(); ++t) {
    fits = offset.leaves[t].size() == offset.forest[t].num_leaves();
    for (const LeafPrediction& leaf : offset.leaves[t]) {
      fits = fits && leaf.probabilities.size() == classes;
    }
  }
  if (fits) return OkStatus();
  return InvalidArgumentError("the reports do not have the shape of the offset");
}

// The single column of two classes is the second's.
size_t ClassOf(size_t column, size_t columns) { return columns == 1 ? 1 : column; }

// The margins minus the offset, and the variance of the offset's error at each row, in margins.
struct Offsets {
  RowColumns left;
  std::vector<double> variance;
};

Offsets SubtractOffset(const AdditiveForest& offset, const LabelReports& reports) {
  const uint32_t classes = reports.rows->schema().num_outputs();
  const double scale = MarginScale(reports.rows->schema());
  const double per_tree = scale / static_cast<double>(offset.forest.size());
  Offsets result{.left = reports.margins,
                 .variance = std::vector<double>(reports.rows->num_rows())};
  for (size_t t = 0; t < offset.forest.size(); ++t) {
    const std::vector<uint32_t> leaf_of = FindLeaves(offset.forest[t], *reports.rows);
    for (size_t i = 0; i < leaf_of.size(); ++i) {
      const LeafPrediction& leaf = offset.leaves[t][leaf_of[i]];
      result.variance[i] += per_tree * leaf.standard_error;
      for (size_t k = 0; k < result.left.size(); ++k) {
        const double p = leaf.probabilities[ClassOf(k, result.left.size())];
        result.left[k][i] -= per_tree * (p - 1.0 / classes);
      }
    }
  }
  for (double& error : result.variance) error *= error;
  return result;
}

double MeanSquare(const RowColumns& margins) {
  double squares = 0, count = 0;
  for (const std::vector<double>& column : margins) {
    for (const double z : column) squares += z * z;
    count += static_cast<double>(column.size());
  }
  return count > 0 ? squares / count : 0;
}

BoostOptions OptionsFor(size_t reports, double noise) {
  return {.ridge = kRidge * noise, .min_leaf = LeastReportsOfLeaf(reports, noise)};
}

StatusOr<Folds> BoostFolds(const LabelReports& reports, const LabelFolds& folds,
                           const RowColumns& left, double noise, const CancelCheck& cancel) {
  const RowBins bins(*reports.rows);
  const BoostOptions options = OptionsFor(folds.reports(), noise);
  Folds result;
  for (size_t q = 0; q < result.size(); ++q) {
    RowColumns rest = left;
    COPPICE_ASSIGN_OR_RETURN(result[q].trees,
                             Boost(bins, folds.Boosting(q), options, rest, cancel));
    result[q].predicted = left;
    for (size_t k = 0; k < left.size(); ++k) {
      for (size_t i = 0; i < folds.reports(); ++i) result[q].predicted[k][i] -= rest[k][i];
    }
  }
  return result;
}

// The noise of several classes' margins adds up to zero. Along predictions that do so too its
// variance is K / (K - 1) times that of one margin.
double VarianceAlong(size_t columns, double noise) {
  return columns == 1 ? noise
                      : noise * static_cast<double>(columns) / static_cast<double>(columns - 1);
}

// The share alpha of the header's file comment.
double AlphaOf(const Folds& boosted, const LabelFolds& folds, const RowColumns& left,
               double noise) {
  double confirmed = 0, squares = 0;
  for (size_t k = 0; k < left.size(); ++k) {
    for (size_t i = 0; i < folds.reports(); ++i) {
      const double held_out = boosted[folds[i]].predicted[k][i];
      confirmed += held_out * left[k][i];
      squares += held_out * held_out;
    }
  }
  if (squares <= 0) return 0;
  return std::clamp((confirmed - std::sqrt(squares * VarianceAlong(left.size(), noise))) / squares,
                    0.0, 1.0);
}

// One offset with the trees boosted on top of it.
struct Candidate {
  AdditiveForest offset;
  Offsets offsets;
  Folds boosted;
  double alpha = 0;

  // The held-out residual of a report's margin.
  double LeftOf(const LabelFolds& folds, size_t column, size_t i) const {
    return offsets.left[column][i] - alpha * boosted[folds[i]].predicted[column][i];
  }
};

StatusOr<Candidate> BoostFrom(AdditiveForest offset, const LabelReports& reports,
                              const LabelFolds& folds, double noise, const CancelCheck& cancel) {
  Candidate result{.offset = std::move(offset), .offsets = {}, .boosted = {}};
  result.offsets = SubtractOffset(result.offset, reports);
  COPPICE_ASSIGN_OR_RETURN(result.boosted,
                           BoostFolds(reports, folds, result.offsets.left, noise, cancel));
  result.alpha = AlphaOf(result.boosted, folds, result.offsets.left, noise);
  return result;
}

// Whether held-out reports show by more than a standard error that `other` has less squared error.
// The difference of two sums of squares is unbiased, with variance 4 v sum (r - r')^2.
bool IsBetter(const Candidate& other, const Candidate& first, const LabelFolds& folds,
              double noise) {
  const size_t columns = first.offsets.left.size();
  double gain = 0, apart = 0;
  for (size_t k = 0; k < columns; ++k) {
    for (size_t i = 0; i < folds.reports(); ++i) {
      const double a = first.LeftOf(folds, k, i), b = other.LeftOf(folds, k, i);
      gain += a * a - b * b;
      apart += (a - b) * (a - b);
    }
  }
  return gain > 2 * std::sqrt(apart * VarianceAlong(columns, noise));
}

RowColumns HeldOutOf(const Candidate& candidate, const LabelReports& reports,
                     const LabelFolds& folds) {
  const size_t columns = reports.margins.size();
  const uint32_t outputs = reports.rows->schema().num_outputs();
  RowColumns result(columns);
  std::vector<double> p(outputs);
  for (size_t i = 0; i < folds.reports(); ++i) {
    for (size_t k = 0; k < columns; ++k) {
      const double margin = reports.margins[k][i] - candidate.LeftOf(folds, k, i);
      p[ClassOf(k, columns)] = 1.0 / outputs + margin / MarginScale(reports.rows->schema());
    }
    if (columns == 1) p[0] = 1 - p[1];
    CutToProbabilities(p);
    for (size_t k = 0; k < columns; ++k) result[k].push_back(p[ClassOf(k, columns)]);
  }
  return result;
}

bool KnowsNothing(const AdditiveForest& offset) {
  return offset.forest.size() == 1 && offset.forest[0].num_leaves() == 1;
}

// Variance of the score at each row, in margins. The share of the offset that alpha leaves keeps
// its error.
std::vector<double> ScoreVariance(const Folds& boosted, double alpha,
                                  std::vector<double> offset_variance) {
  for (size_t i = 0; i < offset_variance.size(); ++i) {
    double most = 0;
    for (size_t k = 0; k < boosted[0].predicted.size(); ++k) {
      std::array<double, LabelFolds::kCount> scores;
      for (size_t q = 0; q < scores.size(); ++q) scores[q] = boosted[q].predicted[k][i];
      most = std::max(most, VarianceOfMean(scores));
    }
    offset_variance[i] = (1 - alpha) * (1 - alpha) * offset_variance[i] + alpha * alpha * most;
  }
  return offset_variance;
}

// Each leaf's error is the score's at its rows, as for all additive leaves.
void SetErrors(const Tree& tree, const Table& rows, absl::Span<const double> variance,
               std::vector<LeafPrediction>& leaves) {
  const double per_margin = 1 / MarginScale(rows.schema());
  const double overall =
      std::accumulate(variance.begin(), variance.end(), 0.0) / static_cast<double>(variance.size());
  std::vector<double> sum(leaves.size()), count(leaves.size());
  const std::vector<uint32_t> leaf_of = FindLeaves(tree, rows);
  for (size_t i = 0; i < leaf_of.size(); ++i) {
    sum[leaf_of[i]] += variance[i];
    count[leaf_of[i]] += 1;
  }
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const double mean = count[leaf] > 0 ? sum[leaf] / count[leaf] : overall;
    leaves[leaf].standard_error = per_margin * std::sqrt(mean);
  }
}

void SetLabel(LeafPrediction& leaf) {
  const std::vector<double>& p = leaf.probabilities;
  leaf.label =
      static_cast<uint32_t>(std::distance(p.begin(), std::max_element(p.begin(), p.end())));
}

// Rescales the offset's terms from the mean over its own trees to the mean over all trees.
void WidenOffset(double factor, AdditiveForest& model) {
  for (std::vector<LeafPrediction>& tree : model.leaves) {
    for (LeafPrediction& leaf : tree) {
      const double share = 1 / static_cast<double>(leaf.probabilities.size());
      for (double& p : leaf.probabilities) p = share + factor * (p - share);
      SetLabel(leaf);
    }
  }
}

// `factor` scales the boosted values to terms of the mean.
void AppendBoosted(BoostedTree boosted, uint32_t classes, double factor, AdditiveForest& model) {
  std::vector<LeafPrediction>& leaves = model.leaves.emplace_back();
  for (uint32_t at = 0; at < boosted.values.size(); ++at) {
    LeafPrediction& leaf = leaves.emplace_back();
    leaf.source_node = boosted.tree.leaf_node(at);
    for (const double value : boosted.values[at]) {
      leaf.probabilities.push_back(1.0 / classes + factor * value);
    }
    if (classes == 2) {
      leaf.probabilities.insert(leaf.probabilities.begin(), 1 - leaf.probabilities[0]);
    }
    SetLabel(leaf);
  }
  model.forest.push_back(std::move(boosted.tree));
}

// Adds alpha times the mean of the folds' trees to the offset's, as terms of one mean.
void AddBoosted(Folds boosted, double alpha, const Schema& schema, AdditiveForest& model) {
  const auto offset_trees = static_cast<double>(model.forest.size());
  double trees = offset_trees;
  for (const FoldPredictions& fold : boosted) trees += static_cast<double>(fold.trees.size());
  WidenOffset(trees / offset_trees, model);
  const double factor = trees * alpha / (LabelFolds::kCount * MarginScale(schema));
  for (FoldPredictions& fold : boosted) {
    for (BoostedTree& tree : fold.trees)
      AppendBoosted(std::move(tree), schema.num_outputs(), factor, model);
  }
}

}  // namespace

size_t MarginColumns(uint32_t outputs) { return outputs == 2 ? 1 : outputs; }
double MarginScale(const Schema& schema) {
  if (schema.target().has_value()) return kRangeDeviations;
  const double classes = schema.num_classes();
  return classes / std::sqrt(classes - 1);
}

std::vector<double> LabelMargins(const Schema& schema, const LocalMechanism& mechanism,
                                 const Contribution& report) {
  std::vector<int64_t> sums(mechanism.sum_size());
  mechanism.AddAll({report}, absl::MakeSpan(sums));
  const LeafCounts said = mechanism.Estimate(sums, 1);
  const double mean = std::accumulate(said.label.begin(), said.label.end(), 0.0) / said.classes;
  std::vector<double> margins;
  for (size_t k = 0; k < MarginColumns(said.classes); ++k) {
    const auto of_class = static_cast<uint32_t>(ClassOf(k, MarginColumns(said.classes)));
    margins.push_back(MarginScale(schema) * (said.at(0, of_class) - mean));
  }
  return margins;
}

double MarginOf(double number, const NumberRange& range) {
  return kRangeDeviations * ((number - range.low) / range.width() - kMiddlePlace);
}
double NumberOf(double margin, const NumberRange& range) {
  return range.low + range.width() * (kMiddlePlace + margin / kRangeDeviations);
}
double MoveMargin(double margin, const NumberRange& from, const NumberRange& to) {
  return MarginOf(NumberOf(margin, from), to);
}

AdditiveForest NoOffset(uint32_t classes) {
  const LeafPrediction level = {.probabilities = std::vector<double>(classes, 1.0 / classes)};
  return {.forest = {Tree::SingleLeaf()}, .leaves = {{level}}};
}

StatusOr<LabelOnlyFit> EstimateLabelOnly(AdditiveForest offset, const LabelReports& reports,
                                         const CancelCheck& cancel) {
  COPPICE_RETURN_IF_ERROR(CheckLabelReports(offset, reports));
  LabelOnlyFit fit{.model = std::move(offset), .noise_per_report = MeanSquare(reports.margins)};
  if (reports.rows->num_rows() == 0) return fit;
  const LabelFolds folds(reports.rows->num_rows(), kFoldSeed);
  const double noise = fit.noise_per_report;
  COPPICE_ASSIGN_OR_RETURN(Candidate best,
                           BoostFrom(std::move(fit.model), reports, folds, noise, cancel));
  const uint32_t classes = reports.rows->schema().num_outputs();
  if (!KnowsNothing(best.offset)) {
    COPPICE_ASSIGN_OR_RETURN(Candidate alone,
                             BoostFrom(NoOffset(classes), reports, folds, noise, cancel));
    fit.has_offset = !IsBetter(alone, best, folds, noise);
    if (!fit.has_offset) best = std::move(alone);
  }
  fit.held_out = HeldOutOf(best, reports, folds);
  fit.model = std::move(best.offset);
  fit.alpha = best.alpha;
  if (fit.alpha == 0) return fit;
  const std::vector<double> variance =
      ScoreVariance(best.boosted, fit.alpha, std::move(best.offsets.variance));
  AddBoosted(std::move(best.boosted), fit.alpha, reports.rows->schema(), fit.model);
  for (size_t t = 0; t < fit.model.forest.size(); ++t) {
    COPPICE_RETURN_IF_ERROR(cancel());
    SetErrors(fit.model.forest[t], *reports.rows, variance, fit.model.leaves[t]);
  }
  return fit;
}

}  // namespace coppice::curator
