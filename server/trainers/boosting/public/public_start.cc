#include "server/trainers/boosting/public/public_start.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/predictor/fitted_predictor.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {
namespace {

// Published, so that anybody with the public rows can fit the same predictor.
constexpr uint64_t kPredictorSeed = 1;
// Nine held-out errors in ten are less than the unit of numbers; rows beyond it count as much as
// one at it. A unit of the median let single rows say too little, in a prototype.
constexpr double kUnitQuantile = 0.9;
constexpr double kLeastUnit = 1.0 / 1024;  // of the target's range
// Beyond this no score says more, and what a step adds stays finite.
constexpr double kMaxScore = 100;

std::vector<size_t> LabelledRows(const Table& rows) {
  std::vector<size_t> labelled;
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    if (rows.schema().target() || rows.label(row) != kUnlabelled) labelled.push_back(row);
  }
  return labelled;
}

double Steps(const Schema& schema, double value) {
  return (value - schema.target()->min) / schema.target()->span() * kTargetSteps;
}

}  // namespace

Status CheckPublicRows(const Table& public_rows, const Schema& schema) {
  if (!(public_rows.schema() == schema)) {
    return InvalidArgumentError("the public rows have another schema than the private rows");
  }
  const std::vector<size_t> labelled = LabelledRows(public_rows);
  if (labelled.size() < kLeastPublicRows) {
    return InvalidArgumentError(StrCat("of the public rows ", labelled.size(),
                                       " have a label: give at least ", kLeastPublicRows,
                                       ", or none"));
  }
  if (labelled.size() * ScoreColumns(schema) > kMaxHeldOutScores) {
    return InvalidArgumentError(StrCat("there are ", labelled.size(), " public rows: give at most ",
                                       kMaxHeldOutScores / ScoreColumns(schema)));
  }
  if (schema.target()) return OkStatus();
  const uint32_t first = public_rows.label(labelled[0]);
  const bool has_another = std::any_of(labelled.begin(), labelled.end(),
                                       [&](size_t row) { return public_rows.label(row) != first; });
  if (has_another) return OkStatus();
  return InvalidArgumentError("the public rows have one class only: give rows of at least two");
}

ModelShape MostOfPublicStart(const Schema& schema) {
  constexpr uint64_t kMostPublicTrees = 600;  // of seven learners with 64 or 100 trees
  constexpr uint64_t kBytesOfOutput = 8;
  return {.trees = kMostPublicTrees,
          .leaves = kDefaultMaxModelBytes / (kBytesOfOutput * schema.num_outputs())};
}

StatusOr<PublicStart> PublicStart::Create(const Table& public_rows, const CancelCheck& cancel) {
  COPPICE_RETURN_IF_ERROR(CheckPublicRows(public_rows, public_rows.schema()));
  Table rows = public_rows.Select(LabelledRows(public_rows));
  COPPICE_ASSIGN_OR_RETURN(FittedPredictor fitted,
                           FitPredictor(rows, {.seed = kPredictorSeed}, cancel));
  PublicStart start(std::move(rows), std::move(fitted.predictor));
  start.held_out_ = start.ToOutputs(fitted.held_out);
  if (!start.predicts_number()) return start;
  const Table& table = start.rows_;
  const auto count = static_cast<double>(table.num_rows());
  std::vector<double> errors;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    start.numbers_.push_back(std::round(Steps(table.schema(), table.target(row))));
    errors.push_back(std::abs(start.numbers_[row] - start.held_out_[0][row]));
  }
  std::sort(errors.begin(), errors.end());
  start.unit_ =
      std::max(errors[static_cast<size_t>(kUnitQuantile * (count - 1))], kLeastUnit * kTargetSteps);
  for (double& number : start.numbers_) number /= start.unit_;
  start.held_out_ = start.ToOutputs(fitted.held_out);
  start.mean_ = std::accumulate(start.numbers_.begin(), start.numbers_.end(), 0.0) / count;
  return start;
}

void PublicStart::ToScores(absl::Span<const double> columns, bool has_origin,
                           absl::Span<double> scores) const {
  if (predicts_number()) {
    const Target& target = *predictor_.schema().target();
    scores[0] = (columns[0] - (has_origin ? target.min : 0)) / target.span() * kTargetSteps / unit_;
  } else if (columns.size() == 2) {
    scores[0] = columns[1] - columns[0];
  } else {
    std::copy(columns.begin(), columns.end(), scores.begin());
  }
}

OutputScores PublicStart::ToOutputs(absl::Span<const double> of_rows) const {
  const size_t columns = predictor_.columns();
  OutputScores outputs(columns == 2 ? 1 : columns, std::vector<double>(of_rows.size() / columns));
  const double most = predicts_number() ? 2 * kTargetSteps / unit_ : kMaxScore;
  std::vector<double> scores(outputs.size());
  for (size_t row = 0; row < outputs[0].size(); ++row) {
    ToScores(of_rows.subspan(row * columns, columns), /*has_origin=*/true, absl::MakeSpan(scores));
    for (size_t output = 0; output < outputs.size(); ++output) {
      outputs[output][row] = std::clamp(scores[output], -most, most);
    }
  }
  return outputs;
}

StatusOr<OutputScores> PublicStart::ScoresOf(const RowBlocks& rows) const {
  OutputScores scores(outputs());
  for (std::vector<double>& of_output : scores) of_output.reserve(rows.num_rows());
  COPPICE_RETURN_IF_ERROR(rows.ForEach([&](const Table& block) {
    const OutputScores of_block = ToOutputs(predictor_.ScoresOf(block));
    for (size_t output = 0; output < scores.size(); ++output) {
      scores[output].insert(scores[output].end(), of_block[output].begin(), of_block[output].end());
    }
    return OkStatus();
  }));
  return scores;
}

std::vector<TrainedTree> PublicStart::Trees(absl::Span<const double> factor,
                                            absl::Span<const double> constant,
                                            const BoostTask& task) const {
  std::vector<double> own(outputs());
  const auto leaf_of = [&](absl::Span<const double> columns, bool is_base, uint32_t node) {
    ToScores(columns, /*has_origin=*/is_base, absl::MakeSpan(own));
    std::vector<double> scores(outputs());
    for (size_t output = 0; output < outputs(); ++output) {
      if (is_base) scores[output] = constant[output];
      for (size_t c = 0; c < outputs(); ++c) {
        scores[output] += factor[output * outputs() + c] * own[c];
      }
    }
    return ScoreLeaf(task.Outputs(scores), {}, node);
  };
  std::vector<TrainedTree> trees;
  trees.push_back({.leaves = {leaf_of(predictor_.base(), /*is_base=*/true, 0)}});
  if (std::all_of(factor.begin(), factor.end(), [](double x) { return x == 0; })) return trees;
  const size_t columns = predictor_.columns();
  for (const ScoreTree& tree : predictor_.trees()) {
    TrainedTree& trained = trees.emplace_back(TrainedTree{.tree = tree.tree, .leaves = {}});
    for (uint32_t leaf = 0; leaf < tree.tree.num_leaves(); ++leaf) {
      trained.leaves.push_back(
          leaf_of(absl::MakeConstSpan(tree.values).subspan(leaf * columns, columns),
                  /*is_base=*/false, tree.tree.leaf_node(leaf)));
    }
  }
  return trees;
}

}  // namespace coppice::trainers
