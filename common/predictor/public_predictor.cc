#include "common/predictor/public_predictor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status CheckScores(absl::Span<const double> scores) {
  if (std::all_of(scores.begin(), scores.end(), [](double x) { return std::isfinite(x); })) {
    return OkStatus();
  }
  return InvalidArgumentError("scores must be finite");
}

Status CheckScoreTree(const ScoreTree& tree, const Schema& schema) {
  COPPICE_RETURN_IF_ERROR(tree.tree.CheckFits(schema));
  const size_t wanted = tree.tree.num_leaves() * ScoreColumns(schema);
  if (tree.values.size() != wanted) {
    return InvalidArgumentError(
        StrCat("a tree of this size needs ", wanted, " scores, not ", tree.values.size()));
  }
  return CheckScores(tree.values);
}

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 128; value >>= 7) ++bytes;
  return bytes;
}

// The outputs of a model's leaf for a row's scores. Of a number both ends of the target's range
// have one; each is the negative of the other.
LeafPrediction LeafOf(absl::Span<const double> scores, const std::optional<Target>& target,
                      uint32_t node) {
  LeafPrediction leaf{.probabilities = {},
                      .standard_error = std::numeric_limits<double>::infinity(),
                      .source_node = node};
  if (target) {
    const double place = scores[0] / target->span();
    leaf.probabilities = {-place, place};
  } else {
    leaf.probabilities.assign(scores.begin(), scores.end());
  }
  const auto largest = std::max_element(leaf.probabilities.begin(), leaf.probabilities.end());
  leaf.label = static_cast<uint32_t>(largest - leaf.probabilities.begin());
  return leaf;
}

}  // namespace

void Softmax(absl::Span<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  for (double& score : scores) score /= total;
}

size_t ModelBytes(absl::Span<const Node> nodes, uint64_t shown, const Schema& schema) {
  constexpr size_t kFrames = 40;  // tags and lengths of the tree's messages and their lists
  constexpr size_t kDouble = 9, kTag = 1;
  const uint64_t used = std::min<uint64_t>(nodes.size(), shown);
  const size_t leaf = 2 * kTag + 2 * VarintBytes(9 * schema.num_outputs() + 30) +
                      8 * schema.num_outputs() + kDouble + kTag +
                      VarintBytes(schema.num_outputs()) + kTag + VarintBytes(used);
  size_t bytes = kFrames;
  for (const Node& node : nodes.first(used)) {
    bytes += 1;  // its kind
    if (node.kind == SplitKind::kLeaf || node.left >= used) {
      bytes += leaf;
      continue;
    }
    bytes += VarintBytes(node.feature) + 1;
    if (node.kind == SplitKind::kNumeric) bytes += 8;
    if (node.kind == SplitKind::kCategory) {
      bytes += VarintBytes(static_cast<uint64_t>(node.threshold));
    }
  }
  return bytes;
}

PublicPredictor::PublicPredictor(std::shared_ptr<const Schema> schema, std::vector<double> base,
                                 std::vector<ScoreTree> trees)
    : schema_(std::move(schema)), base_(std::move(base)), trees_(std::move(trees)) {}

StatusOr<PublicPredictor> PublicPredictor::Create(std::shared_ptr<const Schema> schema,
                                                  std::vector<double> base,
                                                  std::vector<ScoreTree> trees) {
  if (base.size() != ScoreColumns(*schema)) {
    return InvalidArgumentError(
        StrCat("a row has ", ScoreColumns(*schema), " scores, not ", base.size()));
  }
  COPPICE_RETURN_IF_ERROR(CheckScores(base));
  for (size_t t = 0; t < trees.size(); ++t) {
    const Status status = CheckScoreTree(trees[t], *schema);
    if (!status.ok()) return InvalidArgumentError(StrCat("tree ", t, ": ", status.message()));
  }
  return PublicPredictor(std::move(schema), std::move(base), std::move(trees));
}

void PublicPredictor::Score(RowView row, absl::Span<double> scores) const {
  std::copy(base_.begin(), base_.end(), scores.begin());
  for (const ScoreTree& tree : trees_) {
    const double* values = &tree.values[tree.tree.FindLeaf(row) * columns()];
    for (size_t k = 0; k < columns(); ++k) scores[k] += values[k];
  }
}

std::vector<double> PublicPredictor::ScoresOf(const Table& rows) const {
  std::vector<double> scores(rows.num_rows() * columns());
  Row row;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    rows.CopyRow(i, row);
    Score(row, absl::MakeSpan(scores).subspan(i * columns(), columns()));
  }
  return scores;
}

StatusOr<PublicPredictor> PublicPredictor::Corrected(double scale, absl::Span<const double> level,
                                                     std::vector<ScoreTree> more) const {
  if (!level.empty() && level.size() != columns()) {
    return InvalidArgumentError(StrCat("a row has ", columns(), " scores, not ", level.size()));
  }
  std::vector<double> base = base_;
  for (size_t k = 0; k < base.size(); ++k) {
    base[k] = scale * base[k] + (level.empty() ? 0 : level[k]);
  }
  std::vector<ScoreTree> trees = trees_;
  for (ScoreTree& tree : trees) {
    for (double& value : tree.values) value *= scale;
  }
  std::move(more.begin(), more.end(), std::back_inserter(trees));
  return Create(schema_, std::move(base), std::move(trees));
}

size_t PublicPredictor::model_bytes() const {
  const std::vector<Node> single_leaf(1);
  size_t bytes = ModelBytes(single_leaf, 1, *schema_);
  for (const ScoreTree& tree : trees_) {
    bytes += ModelBytes(tree.tree.nodes(), tree.tree.nodes().size(), *schema_);
  }
  return bytes;
}

ScoreForest PublicPredictor::ToForest() const {
  ScoreForest result;
  const std::optional<Target>& target = schema_->target();
  std::vector<double> base = base_;
  if (target) base[0] -= target->min;
  result.forest.push_back(Tree::SingleLeaf());
  result.leaves.push_back({LeafOf(base, target, 0)});
  for (const ScoreTree& tree : trees_) {
    result.forest.push_back(tree.tree);
    std::vector<LeafPrediction>& leaves = result.leaves.emplace_back();
    leaves.reserve(tree.tree.num_leaves());
    for (uint32_t l = 0; l < tree.tree.num_leaves(); ++l) {
      leaves.push_back(LeafOf(absl::MakeConstSpan(tree.values).subspan(l * columns(), columns()),
                              target, tree.tree.leaf_node(l)));
    }
  }
  return result;
}

StatusOr<Model> PublicPredictor::ToModel(Certificate certificate) const {
  ScoreForest scores = ToForest();
  return Model::Create(*schema_, std::move(scores.forest), std::move(scores.leaves),
                       std::move(certificate), LeafKind::kScores);
}

}  // namespace coppice
