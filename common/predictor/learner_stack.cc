#include "common/predictor/learner_stack.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// The smallest size that a learner shrinks to before it can only be dropped.
constexpr uint32_t kFewestLeaves = 2;

uint32_t MostLeaves(const FittedLearner& learner, const LearnerSize& size) {
  uint32_t most = 1;
  for (uint32_t t = 0; t < size.trees; ++t) {
    most = std::max(most, std::min(learner.trees[t].num_leaves(), size.max_leaves));
  }
  return most;
}

void MoveToMeanZero(absl::Span<double> scores) {
  const double mean =
      std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  for (double& score : scores) score -= mean;
}

// A learned tree in the form that is served: its scores times `factor`, those of classes centred.
StatusOr<ScoreTree> ServedTree(const LearnedTree& learned, uint32_t max_leaves, double factor,
                               size_t columns, const Schema& schema) {
  COPPICE_ASSIGN_OR_RETURN(FinishedTree finished, FinishTree(learned.nodes, schema, max_leaves));
  ScoreTree served{.tree = std::move(finished.tree),
                   .values = std::vector<double>(finished.node_of_leaf.size() * columns)};
  for (size_t leaf = 0; leaf < finished.node_of_leaf.size(); ++leaf) {
    const absl::Span<double> values =
        absl::MakeSpan(served.values).subspan(leaf * columns, columns);
    for (const LearnedTree::Score& score : learned.ScoresOf(finished.node_of_leaf[leaf])) {
      values[score.column] = factor * score.value;
    }
    if (columns > 1) MoveToMeanZero(values);
  }
  return served;
}

}  // namespace

LearnerStack::LearnerStack(const Table& rows, const LearnerAnswers& answers,
                           const std::vector<uint32_t>& fold_of_row,
                           const std::vector<LearnerFits>& fits)
    : rows_(rows),
      answers_(answers),
      fold_of_row_(fold_of_row),
      fits_(fits),
      members_(fits.size()) {
  for (size_t m = 0; m < fits.size(); ++m) {
    const auto trees = static_cast<uint32_t>(fits[m].to_all.trees.size());
    members_[m].used = MakeSized(m, {.trees = trees});
  }
  Weigh();
}

RowScores LearnerStack::HeldOutScores(size_t learner, const LearnerSize& size) const {
  const size_t columns = answers_.columns();
  RowScores scores(rows_.num_rows() * columns);
  Row row;
  for (size_t i = 0; i < rows_.num_rows(); ++i) {
    rows_.CopyRow(i, row);
    fits_[learner].without_fold[fold_of_row_[i]].Score(
        row, size, absl::MakeSpan(scores).subspan(i * columns, columns));
  }
  return scores;
}

LearnerStack::SizedLearner LearnerStack::MakeSized(size_t learner, const LearnerSize& size) const {
  SizedLearner sized{.size = size, .held_out = HeldOutScores(learner, size)};
  if (answers_.classes > 0) {
    CentreScores(answers_.classes, sized.held_out);
    sized.calibration = Calibrate(sized.held_out, answers_.labels, answers_.classes);
    sized.held_out = Calibrated(sized.calibration, sized.held_out);
  } else {
    sized.calibration = {.temperature = 1, .level = {0}};
  }
  sized.loss = LossOf(sized.held_out);
  for (uint32_t t = 0; t < size.trees; ++t) {
    sized.bytes += ModelBytes(fits_[learner].to_all.trees[t].nodes, NodesOfLeaves(size.max_leaves),
                              rows_.schema());
  }
  return sized;
}

void LearnerStack::FindSmaller(size_t learner) {
  Member& member = members_[learner];
  const FittedLearner& fitted = fits_[learner].to_all;
  const LearnerSize& size = member.used.size;
  member.smaller.clear();
  if (size.trees > 1) {
    member.smaller.push_back(
        MakeSized(learner, {.trees = size.trees / 2, .max_leaves = size.max_leaves}));
  }
  const uint32_t leaves = MostLeaves(fitted, size);
  if (fitted.is_boosting || leaves / 2 < kFewestLeaves) return;
  member.smaller.push_back(MakeSized(learner, {.trees = size.trees, .max_leaves = leaves / 2}));
}

double LearnerStack::LossOf(const RowScores& scores) const {
  return answers_.classes > 0 ? MeanLogLoss(scores, answers_.labels, answers_.classes)
                              : MeanSquaredError(scores, answers_.numbers);
}

void LearnerStack::Weigh() {
  std::vector<size_t> kept;
  std::vector<const RowScores*> scores;
  for (size_t m = 0; m < members_.size(); ++m) {
    members_[m].weight = 0;
    if (members_[m].is_dropped) continue;
    kept.push_back(m);
    scores.push_back(&members_[m].used.held_out);
  }
  const StackWeights stack = answers_.classes > 0
                                 ? StackClasses(scores, answers_.labels, answers_.classes)
                                 : StackNumbers(scores, answers_.numbers);
  for (size_t i = 0; i < kept.size(); ++i) members_[kept[i]].weight = stack.weights[i];
  level_ = stack.level;
  held_out_ = Stacked(stack, scores);
  loss_ = LossOf(held_out_);
}

size_t LearnerStack::Bytes() const {
  const Node single_leaf;
  size_t bytes = ModelBytes({&single_leaf, 1}, 1, rows_.schema());
  for (const Member& member : members_) bytes += member.bytes();
  return bytes;
}

double LearnerStack::LossWith(size_t learner, const RowScores* replacement) const {
  const Member& member = members_[learner];
  RowScores scores = held_out_;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double instead = replacement != nullptr ? (*replacement)[i] : 0;
    scores[i] += member.weight * (instead - member.used.held_out[i]);
  }
  if (replacement == nullptr) {
    double total = 0;
    for (const Member& each : members_) total += each.weight;
    const double grown = total / (total - member.weight);
    for (double& score : scores) score *= grown;
  }
  return LossOf(scores);
}

bool LearnerStack::FindShrinking(Shrinking& best) const {
  const bool may_drop = std::count_if(members_.begin(), members_.end(),
                                      [](const Member& member) { return member.weight > 0; }) > 1;
  bool is_found = false;
  for (size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    if (!member.is_served()) continue;
    for (size_t s = 0; s < member.smaller.size() + (may_drop ? 1 : 0); ++s) {
      const bool drops = s == member.smaller.size();
      const size_t bytes = drops ? 0 : member.smaller[s].bytes;
      if (bytes >= member.used.bytes) continue;
      const double loss = LossWith(m, drops ? nullptr : &member.smaller[s].held_out);
      const double cost = (loss - loss_) / static_cast<double>(member.used.bytes - bytes);
      if (is_found && cost >= best.cost) continue;
      best = {.cost = cost, .learner = m, .smaller = s};
      is_found = true;
    }
  }
  return is_found;
}

Status LearnerStack::ShrinkTo(size_t max_bytes) {
  if (Bytes() <= max_bytes) return OkStatus();
  for (size_t m = 0; m < members_.size(); ++m) FindSmaller(m);
  while (Bytes() > max_bytes) {
    Shrinking step;
    if (!FindShrinking(step)) {
      return InvalidArgumentError(StrCat("no model takes ", max_bytes,
                                         " bytes; the smallest takes ", Bytes(),
                                         ": raise the limit to that"));
    }
    Member& member = members_[step.learner];
    if (step.smaller == member.smaller.size()) {
      member.is_dropped = true;
    } else {
      member.used = std::move(member.smaller[step.smaller]);
      FindSmaller(step.learner);
    }
    Weigh();
  }
  return OkStatus();
}

StatusOr<PublicPredictor> LearnerStack::Served(double mean, double deviation) const {
  const size_t columns = answers_.columns();
  std::vector<double> base = level_;
  std::vector<ScoreTree> trees;
  for (size_t m = 0; m < members_.size(); ++m) {
    const auto& [used, smaller, weight, is_dropped] = members_[m];
    if (weight == 0) continue;
    const FittedLearner& fitted = fits_[m].to_all;
    const double factor = weight * used.calibration.temperature;
    for (size_t k = 0; k < columns; ++k) {
      base[k] += factor * fitted.base[k] + weight * used.calibration.level[k];
    }
    if (factor == 0) continue;
    for (uint32_t t = 0; t < used.size.trees; ++t) {
      COPPICE_ASSIGN_OR_RETURN(
          ScoreTree tree,
          ServedTree(fitted.trees[t], used.size.max_leaves,
                     deviation * factor * fitted.TreeWeight(used.size), columns, rows_.schema()));
      trees.push_back(std::move(tree));
    }
  }
  for (double& score : base) score = mean + deviation * score;
  if (columns > 1) MoveToMeanZero(absl::MakeSpan(base));
  return PublicPredictor::Create(rows_.shared_schema(), std::move(base), std::move(trees));
}

}  // namespace coppice
