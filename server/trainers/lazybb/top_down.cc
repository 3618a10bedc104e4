#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/cell.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/core/split_scores.h"
#include "server/trainers/lazybb/weak_learners.h"

namespace coppice::trainers {
namespace {

struct Masses {
  int64_t against = 0, with = 0;

  void Add(int64_t mass) { (mass > 0 ? with : against) += mass > 0 ? mass : -mass; }
  void Add(const Masses& more) {
    against += more.against;
    with += more.with;
  }
  Masses Without(const Masses& part) const { return {against - part.against, with - part.with}; }
  int64_t Score() const { return WeightedGiniTerm(against, with); }
};

// A leaf while the tree grows.
struct TopDownLeaf {
  uint32_t node = 0;
  Cell cell;
  std::vector<uint32_t> rows;
  std::vector<BinSplit> splits{};  // those of its cell
  std::vector<int64_t> drops{};    // the impurity drop of each
};

struct Shares {
  BudgetShare split;
  BudgetShare votes;
};

class TopDownGrower {
 public:
  TopDownGrower(const WeighedRows& rows, const std::vector<FeatureBins>& bins)
      : rows_(rows), bins_(bins) {
    nodes_.emplace_back();
    AddLeaf(0, Cell(bins), AllRows(rows.rows.num_rows()));
  }

  // Returns false if no leaf has a split.
  StatusOr<bool> Split(uint64_t mass_change, const BudgetShare& share, PrivateReleaser& releaser) {
    std::vector<int64_t> scores;
    for (const TopDownLeaf& leaf : leaves_) {
      scores.insert(scores.end(), leaf.drops.begin(), leaf.drops.end());
    }
    if (scores.empty()) return false;
    COPPICE_ASSIGN_OR_RETURN(size_t chosen,
                             releaser.Select(scores, share, WeightedGiniRange(mass_change)));
    size_t place = 0;
    while (chosen >= leaves_[place].drops.size()) chosen -= leaves_[place++].drops.size();
    SplitLeaf(place, leaves_[place].splits[chosen]);
    return true;
  }

  StatusOr<WeakRule> Vote(const Schema& schema, uint64_t mass_change, const BudgetShare& share,
                          PrivateReleaser& releaser) && {
    WeakRule rule;
    rule.row_votes.resize(rows_.rows.num_rows());
    std::vector<int8_t> vote_of(nodes_.size());
    for (const TopDownLeaf& leaf : leaves_) {
      const Masses masses = MassesOf(leaf.rows);
      COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                               releaser.Select({masses.against, masses.with}, share, mass_change));
      vote_of[leaf.node] = chosen == 1 ? 1 : -1;
      for (const uint32_t row : leaf.rows) rule.row_votes[row] = vote_of[leaf.node];
    }
    AddVotes(0, vote_of, rule.leaf_votes);
    COPPICE_ASSIGN_OR_RETURN(rule.tree, Tree::Create(std::move(nodes_), schema));
    return rule;
  }

 private:
  Masses MassesOf(const std::vector<uint32_t>& rows) const {
    Masses masses;
    for (const uint32_t row : rows) masses.Add(rows_.masses[row]);
    return masses;
  }

  void AddLeaf(uint32_t node, Cell cell, std::vector<uint32_t> rows) {
    TopDownLeaf leaf{.node = node, .cell = std::move(cell), .rows = std::move(rows)};
    const Masses all = MassesOf(leaf.rows);
    for (const uint32_t feature : leaf.cell.SplittableFeatures()) AddSplits(feature, all, leaf);
    leaves_.push_back(std::move(leaf));
  }

  void AddSplits(uint32_t feature, const Masses& all, TopDownLeaf& leaf) const {
    std::vector<Masses> by_bin(bins_[feature].size());
    const BinColumn& column = rows_.rows.column(feature);
    for (const uint32_t row : leaf.rows) by_bin[column[row]].Add(rows_.masses[row]);
    Masses up_to;
    uint32_t next = 0;
    for (const BinSplit& split : leaf.cell.Splits(feature)) {
      Masses left = by_bin[split.bin];
      if (split.kind == SplitKind::kNumeric) {
        for (; next <= split.bin; ++next) up_to.Add(by_bin[next]);
        left = up_to;
      }
      leaf.splits.push_back(split);
      leaf.drops.push_back(left.Score() + all.Without(left).Score() - all.Score());
    }
  }

  void SplitLeaf(size_t place, const BinSplit split) {
    const TopDownLeaf parent = std::move(leaves_[place]);
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(place));
    std::vector<uint32_t> left, right;
    const BinColumn& column = rows_.rows.column(split.feature);
    for (const uint32_t row : parent.rows)
      (split.GoesLeft(column[row]) ? left : right).push_back(row);
    const auto first = static_cast<uint32_t>(nodes_.size());
    nodes_[parent.node] = split.ToNode(bins_);
    nodes_[parent.node].left = first;
    nodes_[parent.node].right = first + 1;
    nodes_.resize(first + 2);
    AddLeaf(first, parent.cell.Left(split), std::move(left));
    AddLeaf(first + 1, parent.cell.Right(split), std::move(right));
  }

  // Adds the votes of leaves from left to right.
  void AddVotes(uint32_t node, const std::vector<int8_t>& vote_of,
                std::vector<int8_t>& votes) const {
    if (nodes_[node].kind == SplitKind::kLeaf) {
      votes.push_back(vote_of[node]);
      return;
    }
    AddVotes(nodes_[node].left, vote_of, votes);
    AddVotes(nodes_[node].right, vote_of, votes);
  }

  const WeighedRows& rows_;
  const std::vector<FeatureBins>& bins_;
  std::vector<Node> nodes_;
  std::vector<TopDownLeaf> leaves_;
};

class TopDown final : public WeakLearner {
 public:
  TopDown(const Schema& schema, std::vector<FeatureBins> bins, const TopDownOptions& options)
      : schema_(schema), bins_(std::move(bins)), options_(options) {}

  Status CheckShare(const BudgetShare& share) const override { return DivideShare(share).status(); }
  StatusOr<BudgetShare> ShareOfVotes(const BudgetShare& share) const override {
    COPPICE_ASSIGN_OR_RETURN(const Shares shares, DivideShare(share));
    return shares.votes;
  }

  StatusOr<WeakRule> Learn(const WeighedRows& rows, uint64_t mass_change, const BudgetShare& share,
                           PrivateReleaser& releaser) const override {
    COPPICE_ASSIGN_OR_RETURN(const Shares shares, DivideShare(share));
    TopDownGrower grower(rows, bins_);
    for (uint32_t split = 0; split < options_.splits; ++split) {
      COPPICE_ASSIGN_OR_RETURN(const bool found, grower.Split(mass_change, shares.split, releaser));
      if (!found) break;
    }
    return std::move(grower).Vote(schema_, mass_change, shares.votes, releaser);
  }

 private:
  StatusOr<Shares> DivideShare(const BudgetShare& share) const {
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(share, options_.structure));
    COPPICE_ASSIGN_OR_RETURN(const BudgetShare split, EqualShare(shares.part, options_.splits));
    return Shares{.split = split, .votes = shares.rest};
  }

  const Schema& schema_;
  std::vector<FeatureBins> bins_;
  TopDownOptions options_;
};

}  // namespace

std::unique_ptr<WeakLearner> MakeTopDown(const Schema& schema, std::vector<FeatureBins> bins,
                                         const TopDownOptions& options) {
  return std::make_unique<TopDown>(schema, std::move(bins), options);
}

}  // namespace coppice::trainers
