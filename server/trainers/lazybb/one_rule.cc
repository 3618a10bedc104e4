#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/cell.h"
#include "server/trainers/lazybb/weak_learners.h"

namespace coppice::trainers {
namespace {

// True for the bins of one feature from `first` to `last`, both included.
struct Literal {
  uint32_t feature = 0;
  uint32_t first = 0, last = 0;

  bool IsTrue(uint16_t bin) const { return bin >= first && bin <= last; }
};

// A tree with the votes of the two leaves of a question, or of the three of an interval.
struct LiteralTree {
  std::vector<Node> nodes;
  std::vector<int8_t> votes;
};

Node Below(uint32_t feature, double cut, uint32_t left) {
  return {.kind = SplitKind::kNumeric,
          .feature = feature,
          .threshold = cut,
          .left = left,
          .right = left + 1};
}

// Votes `vote` where the literal is true.
LiteralTree TreeOf(const Literal& literal, const FeatureBins& bins, int8_t vote) {
  const auto other = static_cast<int8_t>(-vote);
  Node root{.feature = literal.feature, .left = 1, .right = 2};
  if (literal.first == bins.missing()) {
    root.kind = SplitKind::kMissing;
    return {{root, Node{}, Node{}}, {vote, other}};
  }
  if (bins.type == FeatureType::kCategorical) {
    root.kind = SplitKind::kCategory;
    root.threshold = literal.first;
    return {{root, Node{}, Node{}}, {vote, other}};
  }
  if (literal.first == 0) {
    return {{Below(literal.feature, bins.cuts[literal.last], 1), Node{}, Node{}}, {vote, other}};
  }
  Node from = Below(literal.feature, bins.cuts[literal.first - 1], 1);
  if (literal.last + 1 == bins.ordinary()) {  // the upper end, which excludes missing values
    from.missing_left = true;
    return {{from, Node{}, Node{}}, {other, vote}};
  }
  return {{from, Node{}, Below(literal.feature, bins.cuts[literal.last], 3), Node{}, Node{}},
          {other, vote, other}};
}

class OneRule final : public WeakLearner {
 public:
  OneRule(const Schema& schema, std::vector<FeatureBins> bins, NumericLiterals numeric)
      : schema_(schema), bins_(std::move(bins)) {
    const Cell all(bins_);
    for (const uint32_t feature : all.SplittableFeatures()) {
      for (const BinSplit& split : all.Splits(feature)) {
        if (split.kind != SplitKind::kNumeric) {
          literals_.push_back({feature, split.bin, split.bin});
        } else if (numeric == NumericLiterals::kCuts) {
          literals_.push_back({feature, 0, split.bin});
        }
      }
      if (bins_[feature].type != FeatureType::kNumeric || numeric == NumericLiterals::kCuts) {
        continue;
      }
      for (uint32_t bin = 0; bin < bins_[feature].ordinary(); ++bin) {
        literals_.push_back({feature, bin, bin});
      }
    }
  }

  Status CheckShare(const BudgetShare&) const override { return OkStatus(); }
  StatusOr<BudgetShare> ShareOfVotes(const BudgetShare& share) const override { return share; }

  StatusOr<WeakRule> Learn(const WeighedRows& rows, uint64_t mass_change, const BudgetShare& share,
                           PrivateReleaser& releaser) const override {
    COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                             releaser.Select(ScoresOf(rows), share, mass_change));
    const int8_t vote = chosen % 2 == 0 ? 1 : -1;
    const size_t place = chosen / 2;
    if (place == literals_.size()) return Always(vote, rows.rows.num_rows());
    return RuleOf(literals_[place], vote, rows.rows);
  }

 private:
  // Returns minus the mass that each literal gets wrong, when it votes for the class and when
  // against it; the last two are for always voting for it, and against it.
  std::vector<int64_t> ScoresOf(const WeighedRows& rows) const {
    int64_t with = 0, without = 0;
    for (const int64_t mass : rows.masses) (mass > 0 ? with : without) += mass > 0 ? mass : -mass;
    std::vector<int64_t> scores;
    scores.reserve(2 * literals_.size() + 2);
    std::vector<int64_t> up_to;  // up_to[b]: the sum over the bins below b
    uint32_t feature = ~0u;
    for (const Literal& literal : literals_) {
      if (literal.feature != feature) {
        feature = literal.feature;
        up_to = SumsBelow(rows, feature);
      }
      const int64_t inside = up_to[literal.last + 1] - up_to[literal.first];
      scores.push_back(-(with - inside));
      scores.push_back(-(without + inside));
    }
    scores.push_back(-without);
    scores.push_back(-with);
    return scores;
  }

  std::vector<int64_t> SumsBelow(const WeighedRows& rows, uint32_t feature) const {
    std::vector<int64_t> up_to(bins_[feature].size() + 1);
    const BinColumn& column = rows.rows.column(feature);
    for (size_t row = 0; row < column.size(); ++row) up_to[column[row] + 1u] += rows.masses[row];
    for (size_t bin = 1; bin < up_to.size(); ++bin) up_to[bin] += up_to[bin - 1];
    return up_to;
  }

  static WeakRule Always(int8_t vote, size_t rows) {
    return {.tree = Tree::SingleLeaf(),
            .leaf_votes = {vote},
            .row_votes = std::vector<int8_t>(rows, vote)};
  }

  StatusOr<WeakRule> RuleOf(const Literal& literal, int8_t vote, const BinnedRows& rows) const {
    LiteralTree tree = TreeOf(literal, bins_[literal.feature], vote);
    WeakRule rule;
    COPPICE_ASSIGN_OR_RETURN(rule.tree, Tree::Create(std::move(tree.nodes), schema_));
    rule.leaf_votes = std::move(tree.votes);
    rule.row_votes.reserve(rows.num_rows());
    for (const uint16_t bin : rows.column(literal.feature)) {
      rule.row_votes.push_back(literal.IsTrue(bin) ? vote : static_cast<int8_t>(-vote));
    }
    return rule;
  }

  const Schema& schema_;
  std::vector<FeatureBins> bins_;
  std::vector<Literal> literals_;  // those of a feature next to each other
};

}  // namespace

std::unique_ptr<WeakLearner> MakeOneRule(const Schema& schema, std::vector<FeatureBins> bins,
                                         NumericLiterals literals) {
  return std::make_unique<OneRule>(schema, std::move(bins), literals);
}

}  // namespace coppice::trainers
