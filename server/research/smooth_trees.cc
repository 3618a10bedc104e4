// srt: smooth random trees, as published.
//
// Each tree sees a part of the rows of its own, and asks for features and cuts that are drawn
// without them. A leaf answers with one class: the largest with odds exp(epsilon / (2 s)) against
// each other one, where s = exp(-epsilon j) and j is the gap between its two largest counts. The
// trees vote.
//
// s is a smooth bound on how a row changes the answer, so the scale depends on the rows. Noise of
// a scale that neighbours do not share needs a density that changes little when it is stretched,
// too; the exponential mechanism's does not have one.
//
// Choices where the text is open, as in the authors' program: a category has a branch of its own
// and is not asked for again below; a number is cut uniformly between the bounds that its path has
// left, here those of the schema; the depth is half the categories plus as many levels as leave
// half of the numbers unasked, at most 15; a leaf without rows answers any class. A missing number
// goes left, a missing category has a branch.
//
// Source     Fletcher, Islam 2017, "Differentially private random decision forests using smooth
//            sensitivity".
// Guarantee  none is stated (docs/research/mechanisms.md#baselines).

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/research/method.h"
#include "server/research/real_draws.h"

namespace coppice::research {
namespace {

constexpr double kMostSmoothTrees = 1024;
constexpr uint32_t kMostSmoothLevels = 15;

uint32_t SmoothDepth(const Schema& schema) {
  double numbers = 0, categories = 0;
  for (const Feature& feature : schema.features()) {
    (feature.type == FeatureType::kNumeric ? numbers : categories) += 1;
  }
  double levels = 0;
  // The expected number of numbers that were not asked for yet.
  for (double unasked = numbers; unasked > numbers / 2; ++levels) {
    unasked = numbers * std::pow((numbers - 1) / numbers, levels);
  }
  return std::min(kMostSmoothLevels, static_cast<uint32_t>(levels + categories / 2));
}

// A tree that is drawn where rows come: a node that no row reaches is never made, which changes
// nothing about the others.
class SmoothTree {
 public:
  SmoothTree(const Schema& schema, uint32_t depth) : schema_(schema), depth_(depth), nodes_(1) {}

  // Follows a row to its leaf.
  uint32_t Reach(const Table& rows, size_t row, PublicRandom& random) {
    Path path;
    for (const Feature& feature : schema_.features()) {
      path.low.push_back(feature.min);
      path.high.push_back(feature.max);
      path.open.push_back(static_cast<uint32_t>(path.open.size()));
    }
    uint32_t at = 0;
    for (uint32_t level = 0; level < depth_ && !path.open.empty(); ++level) {
      if (!nodes_[at].drawn) Draw(path, nodes_[at], random);
      const uint32_t branch = BranchOf(nodes_[at], rows, row, path);
      const auto next = nodes_[at].children.try_emplace(branch, nodes_.size()).first->second;
      if (next == nodes_.size()) nodes_.emplace_back();
      at = next;
    }
    return at;
  }

  size_t num_nodes() const { return nodes_.size(); }

 private:
  struct SmoothNode {
    bool drawn = false;
    uint32_t feature = 0;
    double cut = 0;  // of a number
    std::map<uint32_t, uint32_t> children{};
  };
  // What a path has left: bounds of numbers, and features that may be asked for.
  struct Path {
    std::vector<double> low{}, high{};
    std::vector<uint32_t> open{};
  };

  void Draw(const Path& path, SmoothNode& node, PublicRandom& random) const {
    node.drawn = true;
    node.feature = path.open[random.Below(path.open.size())];
    node.cut =
        path.low[node.feature] + random.Unit() * (path.high[node.feature] - path.low[node.feature]);
  }

  uint32_t BranchOf(const SmoothNode& node, const Table& rows, size_t row, Path& path) const {
    const Feature& feature = schema_.features()[node.feature];
    const double value = rows.value(row, node.feature);
    if (feature.type == FeatureType::kCategorical) {
      std::erase(path.open, node.feature);
      return static_cast<uint32_t>(IsMissing(value) ? feature.values.size() + 1 : value);
    }
    const bool right = !IsMissing(value) && value >= node.cut;
    (right ? path.low : path.high)[node.feature] = node.cut;
    return right ? 1 : 0;
  }

  const Schema& schema_;
  const uint32_t depth_;
  std::vector<SmoothNode> nodes_;
};

// The published choice of a leaf's class.
StatusOr<uint32_t> NoisyMajority(const std::vector<size_t>& counts, double epsilon,
                                 PrivateRandom& noise) {
  std::vector<size_t> sorted = counts;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto gap = static_cast<double>(sorted[0] - sorted[1]);
  const double log_odds = epsilon / 2 * std::exp(epsilon * gap);
  std::vector<double> weights;
  for (const size_t count : counts) {
    weights.push_back(count == sorted[0] ? 1 : std::exp(-log_odds));
  }
  COPPICE_ASSIGN_OR_RETURN(double left, DrawUnit(noise));
  left *= std::accumulate(weights.begin(), weights.end(), 0.0);
  uint32_t chosen = 0;
  while (chosen + 1 < counts.size() && left >= weights[chosen]) left -= weights[chosen++];
  return chosen;
}

class SmoothTrees final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {
        .name = "srt",
        .summary = "smooth random trees: each leaf votes for its largest class, nearly always",
        .source = "Fletcher, Islam 2017",
        .protects = "a row, its authors say",
        .neighbours = "one row more or less, its authors say",
        .guarantee = kAsPublished,
        .sampler = "floating point",
        .setting = "trees",
        .default_setting = 10,
        .paper_settings = {1, 3, 10, 30, 100},
        .reason =
            "the scale of the choice depends on the rows, and the exponential mechanism's "
            "density does not bear being stretched"};
    return kInfo;
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options,
                        PublicRandom& public_random, PrivateRandom& noise) const override {
    if (options.setting < 1 || options.setting > kMostSmoothTrees) {
      return InvalidArgumentError("srt takes 1 to 1024 trees");
    }
    const Table& table = *rows.private_rows;
    COPPICE_RETURN_IF_ERROR(CheckLabelled(table));
    const auto trees = static_cast<size_t>(options.setting);
    std::vector<size_t> order(table.num_rows());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[public_random.Below(i)]);
    }
    Answers answers(table.schema().num_classes(), rows.test_rows->num_rows());
    for (size_t t = 0; t < trees; ++t) {
      const size_t first = t * order.size() / trees, end = (t + 1) * order.size() / trees;
      COPPICE_RETURN_IF_ERROR(
          AddVotes(table, absl::MakeConstSpan(order).subspan(first, end - first), *rows.test_rows,
                   options.epsilon->epsilon(), 1 / options.setting, public_random, noise, answers));
    }
    return answers;
  }

 private:
  static Status AddVotes(const Table& table, absl::Span<const size_t> of_tree, const Table& asked,
                         double epsilon, double weight, PublicRandom& public_random,
                         PrivateRandom& noise, Answers& answers) {
    SmoothTree tree(table.schema(), SmoothDepth(table.schema()));
    std::map<uint32_t, std::vector<size_t>> counts;  // by leaf
    for (const size_t row : of_tree) {
      auto& of_leaf = counts[tree.Reach(table, row, public_random)];
      of_leaf.resize(answers.classes);
      ++of_leaf[table.label(row)];
    }
    std::map<uint32_t, uint32_t> label_of;
    for (size_t row = 0; row < asked.num_rows(); ++row) {
      const uint32_t leaf = tree.Reach(asked, row, public_random);
      if (!label_of.contains(leaf)) {
        auto& of_leaf = counts[leaf];
        of_leaf.resize(answers.classes);
        COPPICE_ASSIGN_OR_RETURN(label_of[leaf], NoisyMajority(of_leaf, epsilon, noise));
      }
      answers.of(row)[label_of[leaf]] += weight;
    }
    return OkStatus();
  }
};

}  // namespace

const Method& Srt() {
  static const SmoothTrees kMethod;
  return kMethod;
}

}  // namespace coppice::research
