// Without privacy a weak learner returns one of its best rules, found here row by row; with privacy
// every rule is possible.

#include "server/trainers/lazybb/weak_learners.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/trainers/core/cell.h"
#include "server/trainers/core/split_scores.h"
#include "server/trainers/lazybb/smooth_measure.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::HasSubstr;

constexpr uint32_t kRuleCuts = 7;

// A table and made-up masses, some of which are 0.
struct Case {
  explicit Case(uint64_t seed)
      : table(RandomTable(MixedClasses(2), {.rows = 80}, seed)), rows(Binned(table, kRuleCuts)) {
    for (size_t row = 0; row < table.num_rows(); ++row) {
      const auto mass = static_cast<int64_t>((row * 7919 + seed * 104729) % 1000);
      masses.push_back(table.label(row) == 1 ? mass : -mass);
    }
  }
  WeighedRows weighed() const { return {.rows = rows, .masses = masses}; }

  Table table;
  BinnedRows rows;
  std::vector<int64_t> masses;
};

std::unique_ptr<WeakLearner> OneRuleOf(const Case& c, NumericLiterals literals) {
  return MakeOneRule(c.table.schema(), c.rows.bins(), literals);
}
std::unique_ptr<WeakLearner> TopDownOf(const Case& c, uint32_t splits) {
  return MakeTopDown(c.table.schema(), c.rows.bins(), {.splits = splits, .structure = 0.5});
}

WeakRule LearnBest(const WeakLearner& learner, const Case& c, uint64_t seed = 1) {
  SeededRandom random(seed);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  return *learner.Learn(c.weighed(), 2 * kMassUnit, BudgetShare::WithoutPrivacy(), releaser);
}

int64_t WrongMass(const Case& c, const std::vector<int8_t>& votes) {
  int64_t wrong = 0;
  for (size_t row = 0; row < votes.size(); ++row) {
    if ((c.masses[row] > 0) != (votes[row] > 0)) wrong += std::abs(c.masses[row]);
  }
  return wrong;
}

// The least wrong mass of all literals, by raw values: below or at least a cut (a missing value is
// not below), in a bin, a value, missing, or always; either way.
int64_t LeastWrongMass(const Case& c, NumericLiterals literals) {
  int64_t all = 0;
  for (const int64_t mass : c.masses) all += std::abs(mass);
  int64_t least = INT64_MAX;
  const auto add_votes = [&](const std::vector<int8_t>& votes) {
    const int64_t wrong = WrongMass(c, votes);
    least = std::min({least, wrong, all - wrong});
  };
  const auto add = [&](size_t feature, auto is_true) {
    std::vector<int8_t> votes;
    for (size_t row = 0; row < c.table.num_rows(); ++row) {
      votes.push_back(is_true(c.table.value(row, static_cast<uint32_t>(feature))) ? 1 : -1);
    }
    add_votes(votes);
  };
  add_votes(std::vector<int8_t>(c.table.num_rows(), 1));
  for (size_t f = 0; f < c.rows.num_features(); ++f) {
    const FeatureBins& bins = c.rows.bins()[f];
    if (bins.known < 2) continue;
    add(f, [](double x) { return IsMissing(x); });
    if (bins.type == FeatureType::kCategorical) {
      for (uint32_t value = 0; value < bins.ordinary(); ++value) {
        add(f, [&](double x) { return x == value; });
      }
    } else if (literals == NumericLiterals::kCuts) {
      for (const double cut : bins.cuts) add(f, [&](double x) { return x < cut; });
    } else {
      for (size_t b = 0; b <= bins.cuts.size(); ++b) {
        add(f, [&](double x) {
          return !IsMissing(x) && (b == 0 || x >= bins.cuts[b - 1]) &&
                 (b == bins.cuts.size() || x < bins.cuts[b]);
        });
      }
    }
  }
  return least;
}

void ExpectRowsToVoteAsTheirLeaves(const Case& c, const WeakRule& rule) {
  ASSERT_EQ(rule.leaf_votes.size(), rule.tree.num_leaves());
  ASSERT_EQ(rule.row_votes.size(), c.table.num_rows());
  for (size_t row = 0; row < c.table.num_rows(); ++row) {
    EXPECT_EQ(rule.row_votes[row], rule.leaf_votes[rule.tree.FindLeaf(c.table.row(row))]) << row;
  }
}

TEST(OneRuleTest, WithoutPrivacyIsTheRuleWithTheLeastWrongMass) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Case c(seed);
    for (const auto literals : {NumericLiterals::kCuts, NumericLiterals::kBins}) {
      const WeakRule rule = LearnBest(*OneRuleOf(c, literals), c, seed);
      EXPECT_EQ(WrongMass(c, rule.row_votes), LeastWrongMass(c, literals)) << seed;
      ExpectRowsToVoteAsTheirLeaves(c, rule);
    }
  }
}

// With almost no epsilon rules are about equally likely, and each is a tree that says what it is.
TEST(OneRuleTest, EveryRuleCanComeAndItsTreeSaysWhatItIs) {
  const Case c(3);
  const BudgetShare share(*Budget::Parse("0.000001"));
  for (const auto literals : {NumericLiterals::kCuts, NumericLiterals::kBins}) {
    const auto learner = OneRuleOf(c, literals);
    size_t candidates = 1;
    const Cell all(c.rows.bins());
    for (const uint32_t f : all.SplittableFeatures()) {
      const bool bins =
          literals == NumericLiterals::kBins && c.rows.bins()[f].type == FeatureType::kNumeric;
      const std::vector<BinSplit> splits = all.Splits(f);
      candidates += bins ? c.rows.bins()[f].size() : splits.size();
    }
    SeededRandom random(1);
    PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
    std::set<std::string> seen;
    for (size_t i = 0; i < 40 * candidates; ++i) {
      ASSERT_OK_AND_ASSIGN(const WeakRule rule,
                           learner->Learn(c.weighed(), 2 * kMassUnit, share, releaser));
      if (i < 3 * candidates) ExpectRowsToVoteAsTheirLeaves(c, rule);
      std::string text;
      for (const Node& node : rule.tree.nodes()) {
        StrAppend(&text, static_cast<int>(node.kind), ",", node.feature, ",", node.threshold,
                  node.missing_left ? "m" : "", ";");
      }
      for (const int8_t vote : rule.leaf_votes) StrAppend(&text, vote, " ");
      seen.insert(text);
    }
    EXPECT_EQ(seen.size(), 2 * candidates);
  }
}

// The least impurity of all splits of all rows.
int64_t LeastImpurity(const Case& c) {
  int64_t least = INT64_MAX;
  const Cell all(c.rows.bins());
  for (const uint32_t f : all.SplittableFeatures()) {
    for (const BinSplit& split : all.Splits(f)) {
      std::array<std::array<int64_t, 2>, 2> masses{};
      for (size_t row = 0; row < c.masses.size(); ++row) {
        const bool left = split.GoesLeft(c.rows.column(f)[row]);
        masses[left ? 0 : 1][c.masses[row] > 0 ? 1 : 0] += std::abs(c.masses[row]);
      }
      least = std::min(least, -WeightedGiniTerm(masses[0][0], masses[0][1]) -
                                  WeightedGiniTerm(masses[1][0], masses[1][1]));
    }
  }
  return least;
}

// Splits one after the other, each the best of all leaves; then each leaf takes its larger mass.
TEST(TopDownTest, WithoutPrivacyIsGrownByTheBestDropAndVotesForTheLargerMass) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Case c(seed);
    int64_t last = 0;
    for (const uint32_t splits : {1u, 2u, 4u}) {
      const WeakRule rule = LearnBest(*TopDownOf(c, splits), c, seed);
      EXPECT_EQ(rule.tree.num_leaves(), splits + 1);
      ExpectRowsToVoteAsTheirLeaves(c, rule);
      std::vector<std::array<int64_t, 2>> masses(rule.tree.num_leaves());
      for (size_t row = 0; row < c.table.num_rows(); ++row) {
        masses[rule.tree.FindLeaf(c.table.row(row))][c.masses[row] > 0 ? 1 : 0] +=
            std::abs(c.masses[row]);
      }
      int64_t impurity = 0;
      for (uint32_t leaf = 0; leaf < masses.size(); ++leaf) {
        const auto [against, with] = masses[leaf];
        if (against != with) {
          EXPECT_EQ(rule.leaf_votes[leaf] > 0, with > against);
        }
        impurity -= WeightedGiniTerm(against, with);
      }
      if (splits == 1) {
        EXPECT_EQ(impurity, LeastImpurity(c));
      } else {
        EXPECT_LE(impurity, last);
      }
      last = impurity;
    }
  }
}

TEST(TopDownTest, EndsWhereNoSplitIsLeft) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("yes", {"y", "n"})}, "label", {"no", "yes"}));
  Table table(schema);
  table.Append({0}, 1);
  table.Append({1}, 0);
  const BinnedRows rows = Binned(table, kRuleCuts);
  const std::vector<int64_t> masses = {5, -3};
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  const auto learner = MakeTopDown(*schema, rows.bins(), {.splits = 10});
  ASSERT_OK_AND_ASSIGN(const WeakRule rule,
                       learner->Learn({.rows = rows, .masses = masses}, kMassUnit,
                                      BudgetShare(*Budget::Parse("1")), releaser));
  EXPECT_LE(rule.tree.num_leaves(), 4u);
  EXPECT_GE(rule.tree.num_leaves(), 2u);
}

// A leaf votes wrongly with probability exp(-epsilon d / mass_change) / 2, where d is the
// difference of its masses.
TEST(TopDownTest, ALeafVotesAsTheSignOfANoisyDifference) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("constant", 7, 7)}, "label", {"no", "yes"}));
  Table table(schema);
  table.Append({7}, 1);
  table.Append({7}, 0);
  const BinnedRows rows = Binned(table, kRuleCuts);
  const std::vector<int64_t> masses = {8, -3};
  const auto learner = MakeTopDown(*schema, rows.bins(), {.splits = 1, .structure = 0.5});
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  constexpr int kTrials = 40'000;
  int wrong = 0;
  for (int i = 0; i < kTrials; ++i) {
    ASSERT_OK_AND_ASSIGN(const WeakRule rule,
                         learner->Learn({.rows = rows, .masses = masses}, 10,
                                        BudgetShare(*Budget::Parse("2")), releaser));
    ASSERT_EQ(rule.leaf_votes.size(), 1u);
    wrong += rule.leaf_votes[0] < 0 ? 1 : 0;
  }
  const double expected = std::exp(-0.5) / 2;  // epsilon 1 of 2, difference 5 of 10
  EXPECT_NEAR(static_cast<double>(wrong) / kTrials, expected, 5 * 0.5 / std::sqrt(kTrials));
}

// The better of two splits is passed over with probability exp(-epsilon d / range) / 2, where d is
// the difference of their drops.
TEST(TopDownTest, ASplitIsChosenByItsDropInUnitsOfTheRange) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 1)}, "label", {"no", "yes"}));
  Table table(schema);
  table.Append({0}, 1);
  table.Append({1}, 0);
  const BinnedRows rows = Binned(table, 1);
  const std::vector<int64_t> masses = {8, -8};  // the cut drops 16, "missing" nothing
  const auto learner = MakeTopDown(*schema, rows.bins(), {.splits = 1, .structure = 0.5});
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  constexpr int kTrials = 40'000;
  int passed_over = 0;
  for (int i = 0; i < kTrials; ++i) {
    ASSERT_OK_AND_ASSIGN(const WeakRule rule,
                         learner->Learn({.rows = rows, .masses = masses}, 10,
                                        BudgetShare(*Budget::Parse("8")), releaser));
    passed_over += rule.tree.nodes()[0].kind == SplitKind::kMissing ? 1 : 0;
  }
  const double expected = std::exp(-4.0 * 16 / (4 * 10 + 6)) / 2;
  EXPECT_NEAR(static_cast<double>(passed_over) / kTrials, expected, 5 * 0.5 / std::sqrt(kTrials));
}

TEST(TopDownTest, AShareTooSmallToBeDividedIsRefused) {
  const Case c(1);
  const auto learner = TopDownOf(c, 4);
  EXPECT_THAT(learner->CheckShare(BudgetShare(*Budget::FromNanos(6))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too small")));
  EXPECT_OK(learner->CheckShare(BudgetShare(*Budget::FromNanos(8))));
  EXPECT_OK(learner->CheckShare(BudgetShare::WithoutPrivacy()));
}

}  // namespace
}  // namespace coppice::trainers
