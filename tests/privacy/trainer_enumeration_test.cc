// Whole trainers, walked through every branch on every tiny table: nothing in the model tells any
// two neighbours apart by more than epsilon. Noise is one branch (walked_noise.cc).
//
// A trainer joins by one line in WalkedTrainers().

#include <array>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/noisy_sums.h"
#include "server/trainers/core/split_scores.h"
#include "server/trainers/forests/split_choosers.h"
#include "server/trainers/lazybb/smooth_measure.h"
#include "server/trainers/lazybb/weak_learners.h"
#include "tests/privacy/enumeration.h"
#include "tests/privacy/trainer_releases.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr Neighbours kLabel = Neighbours::kChangeLabel;

// The fourth round of smooth boosting after three rules that said "yes", with noise for what a row
// can move in round `claimed`.
TinyRelease FourthRound(uint32_t claimed) {
  return [claimed](const TinyTable& tiny, const Budget& epsilon,
                   PrivateRandom& random) -> StatusOr<std::string> {
    const TinySchema schema = OneNumber();
    const auto bins = trainers::PublicBins(*schema.schema, 1);
    const auto rows = trainers::BinnedRows::Create(schema.ToTable(tiny), *bins);
    const trainers::SmoothMeasure measure(/*rate=*/2, /*density=*/200, /*rounds=*/3);
    std::vector<uint64_t> counts(7);
    for (const TinyRow& row : tiny) ++counts[row.y == 1 ? 6 : 0];
    const std::vector<int64_t> by_margin = measure.MassByMargin(counts);
    std::vector<int64_t> masses;
    for (const TinyRow& row : tiny) masses.push_back(row.y == 1 ? by_margin[6] : -by_margin[0]);
    trainers::PrivateReleaser releaser(trainers::SelectionRule::kPermuteAndFlip, random);
    const auto learner =
        trainers::MakeOneRule(*schema.schema, *bins, trainers::NumericLiterals::kCuts);
    const auto rule = learner->Learn({.rows = *rows, .masses = masses}, measure.MassChange(claimed),
                                     trainers::BudgetShare(epsilon), releaser);
    if (!rule.ok()) return rule.status();
    return StrCat(TreeText(rule->tree), rule->leaf_votes[0]);
  };
}

std::vector<WalkedRelease> WalkedTrainers() {
  return {
      {"spe", "6", kRow, 2, 1e-6, 0.4, WalkTrainer("spe", OneNumber(), {})},
      {"rdt", "3", kRow, 2, 1e-6, 0.4, WalkTrainer("rdt", OneNumber(), {})},
      {"maxtree", "6", kRow, 2, 1e-6, 0.4, WalkTrainer("maxtree", OneNumber(), {})},
      {"dpdf", "6", kRow, 2, 1e-6, 0.4, WalkTrainer("dpdf", OneNumber(), {})},
      {"sspe1", "3", kRow, 2, 1e-6, 0.4, WalkTrainer("sspe1", OneNumber(), {{"labelled", "0.5"}})},
      {"sspe2", "3", kLabel, 2, 1e-6, 0.4,
       WalkTrainer("sspe2", OneNumber(), {{"labelled", "1"}, {"min_leaf", "0"}})},
      {"sspe2, three classes", "6", kLabel, 2, 1e-7, 0.4,
       WalkTrainer("sspe2", OneNumber(3), {{"labelled", "1"}, {"depth", "0"}})},
      {"pte", "3", kLabel, 2, 1e-6, 0.9,
       WalkTrainer(
           "pte", OneNumber(),
           {{"labelled", "0.5"}, {"min_leaf", "0"}, {"depth", "0"}, {"second_trees", "1"}})},
      {"diprime", "8", kRow, 2, 1e-6, 0.4,
       WalkTrainer("diprime", TwoNumbers(), {{"features", "2"}})},
      {"diprime, one feature", "6", kRow, 2, 1e-6, 0.4,
       WalkTrainer("diprime", OneNumber(), {{"features", "1"}})},
      // With kappa = 1 the first round gets all of epsilon, and a row has all of its mass.
      {"lazybb, one rule", "3", kRow, 3, 1e-6, 0.9,
       WalkTrainer("lazybb", OneNumber(), {{"rounds", "1"}, {"kappa", "1"}})},
      {"lazybb, bins", "3", kRow, 2, 1e-6, 0.9,
       WalkTrainer("lazybb", OneNumber(), {{"rounds", "1"}, {"kappa", "1"}, {"literals", "bins"}})},
      {"lazybb, two rounds", "3", kRow, 1, 1e-6, 0.2,
       WalkTrainer("lazybb", OneNumber(), {{"rounds", "2"}, {"kappa", "0.5"}, {"lambda", "2"}})},
      {"lazybb, four rounds without a question", "4", kRow, 3, 1e-9, 0.7,
       WalkTrainer("lazybb", Nothing(), {{"rounds", "4"}, {"kappa", "0.3"}, {"lambda", "2"}})},
      {"lazybb, rounds by a noisy number of rows", "9", kRow, 1, 1e-6, 0.35,
       WalkTrainer("lazybb", Nothing(), {{"kappa", "0.5"}})},
      {"lazybb, a tree", "4", kRow, 2, 1e-6, 0.6,
       WalkTrainer("lazybb", OneNumber(),
                   {{"rounds", "1"},
                    {"kappa", "1"},
                    {"learner", "top_down"},
                    {"structure", "0.5"},
                    {"splits", "2"}})},
      {"lazybb, two trees", "4", kRow, 1, 1e-6, 0.1,
       WalkTrainer("lazybb", OneNumber(),
                   {{"rounds", "2"},
                    {"lambda", "2"},
                    {"learner", "top_down"},
                    {"structure", "0.5"},
                    {"splits", "1"}})},
      {"lazybb, three classes without a question", "3", kRow, 3, 1e-9, 0.7,
       WalkTrainer("lazybb", Nothing(3), {{"rounds", "2"}, {"kappa", "1"}})},
      {"lazybb, three classes", "3", kRow, 1, 1e-6, 0.2,
       WalkTrainer("lazybb", OneNumber(3), {{"rounds", "1"}, {"kappa", "1"}})},
      {"median_forest", "8", kRow, 1, 1e-6, 0.35,
       WalkTrainer("median_forest", TwoNumbers(), {{"features", "2"}})},
      {"dpboost", "8", kRow, 2, 1e-6, 0.4,
       WalkTrainer("dpboost", OneNumber(), {{"learning_rate", "1"}})},
      {"dpboost, three classes", "6", kRow, 2, 1e-6, 0.3,
       WalkTrainer("dpboost", OneNumber(3), {{"depth", "0"}})},
      {"dpboost, two groups", "6", kRow, 2, 1e-6, 0.25,
       WalkTrainer("dpboost", OneNumber(), {{"trees", "2"}, {"depth", "0"}})},
      {"dpboost, two ensembles", "6", kRow, 2, 1e-6, 0.25,
       WalkTrainer("dpboost", OneNumber(), {{"trees", "2"}, {"ensembles", "2"}, {"depth", "0"}})},
      {"dpboost, all rows in two trees, those of large residuals dropped", "6", kRow, 2, 1e-6, 0.25,
       WalkTrainer("dpboost", OneNumber(),
                   {{"trees", "2"}, {"scheme", "seq"}, {"filtering", "drop"}, {"depth", "0"}})},
      {"dpboost, half of the rows in each of three trees", "6", kRow, 1, 1e-6, 0.2,
       WalkTrainer("dpboost", OneNumber(),
                   {{"trees", "3"}, {"scheme", "para"}, {"loss", "square"}, {"depth", "0"}})},
      {"spe, two levels", "9", kRow, 1, 1e-7, 0.4,
       WalkTrainer("spe", OneNumber(), {{"depth", "2"}})},
      {"spe, two groups", "6", kRow, 1, 1e-5, 0.25,
       WalkTrainer("spe", OneNumber(), {{"trees", "2"}})},
      {"dpert, two groups of two rows", "4", kRow, 2, 1e-6, 0.4,
       WalkTrainer("dpert", OneNumber(), {{"trees", "2"}, {"depth", "0"}})},
      {"rdt, all rows in two trees", "6", kRow, 2, 1e-6, 0.4,
       WalkTrainer("rdt", OneNumber(), {{"trees", "2"}, {"depth", "0"}})},
      {"logistic, a column", "3", kRow, 2, 1e-6, 0.9,
       WalkTrainer("logistic", OneNumber(), {{"lines", "0"}, {"bins", "1"}})},
      {"a fourth round of boosting", "3", kRow, 3, 1e-6, 0.35, FourthRound(3)},
      {"sspe1, all rows in two trees", "6", kRow, 1, 1e-6, 0.4,
       WalkTrainer("sspe1", OneNumber(),
                   {{"trees", "2"}, {"rows", "all"}, {"depth", "0"}, {"labelled", "0.5"}})},
  };
}

class TrainerEnumerationTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, TrainerEnumerationTest, ::testing::ValuesIn(WalkedTrainers()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(TrainerEnumerationTest, NoNeighboursAreToldApartByMoreThanClaimed) {
  ExpectAsPrivateAsClaimed(GetParam());
}

// A trainer walked with a delta so large that its rounds get more than epsilon divided by their
// number.
struct WalkedWithDelta {
  const char* rounds;
  uint64_t delta_atto;
  double found;  // the share of delta
};

class DeltaEnumerationTest : public ::testing::TestWithParam<WalkedWithDelta> {
 protected:
  static WalkedRelease Rounds(const char* name, const char* epsilon, uint64_t delta_atto) {
    return {name,
            epsilon,
            kRow,
            2,
            1e-9,
            0,
            WalkTrainer("lazybb", Nothing(), {{"rounds", GetParam().rounds}, {"kappa", "1"}},
                        delta_atto)};
  }
};

// Two rounds by the exponential mechanism, and three by permute and flip.
INSTANTIATE_TEST_SUITE_P(LazyBb, DeltaEnumerationTest,
                         ::testing::Values(WalkedWithDelta{"2", kDeltaOne / 10, 0.5},
                                           WalkedWithDelta{"3", kDeltaOne / 1000, 0.4}));

TEST_P(DeltaEnumerationTest, RoundsLoseNoMoreThanEpsilonAndDelta) {
  const WalkedRelease with = Rounds("lazybb with a delta", "1", GetParam().delta_atto);
  const double delta = WorstDelta(with);
  EXPECT_LE(delta, static_cast<double>(GetParam().delta_atto) / kDeltaOne);
  EXPECT_GE(delta, GetParam().found * static_cast<double>(GetParam().delta_atto) / kDeltaOne);
  EXPECT_GT(WorstOf(with).loss, 1);
  EXPECT_LE(WorstDelta(Rounds("lazybb without one", "1", 0)), 1e-12);
}

// Trees grown by a broken rule, without their leaves.
template <typename Chooser>
TinyRelease WalkTree(Chooser choose) {
  return [choose](const TinyTable& tiny, const Budget& epsilon,
                  PrivateRandom& random) -> StatusOr<std::string> {
    class Rule final : public trainers::SplitChooser {
     public:
      Rule(const Chooser& chooser, const Budget& budget, PrivateRandom& coins)
          : choose_(chooser),
            share_(budget),
            releaser_(trainers::SelectionRule::kPermuteAndFlip, coins) {}
      StatusOr<std::optional<trainers::BinSplit>> Choose(const trainers::NodeRows& node,
                                                         uint32_t) override {
        return choose_(node, share_, releaser_);
      }

     private:
      const Chooser& choose_;
      trainers::BudgetShare share_;
      trainers::PrivateReleaser releaser_;
    };
    const TinySchema schema = OneNumber();
    const auto bins = trainers::PublicBins(*schema.schema, 3);
    const auto rows = trainers::BinnedRows::Create(schema.ToTable(tiny), *bins);
    std::vector<uint32_t> all;
    for (uint32_t r = 0; r < tiny.size(); ++r) all.push_back(r);
    Rule rule(choose, epsilon, random);
    const auto grown = trainers::GrowTree(*schema.schema, *rows, all, 1, rule);
    if (!grown.ok()) return grown.status();
    return TreeText(grown->tree);
  };
}

using MaybeSplit = StatusOr<std::optional<trainers::BinSplit>>;

MaybeSplit MedianAmong(const trainers::NodeRows& node,
                       const std::vector<trainers::BinSplit>& splits,
                       const trainers::BudgetShare& share, trainers::PrivateReleaser& releaser) {
  if (splits.empty()) return std::nullopt;
  const auto chosen =
      releaser.Select(trainers::MedianScores(node, splits), share, trainers::kMedianRange);
  if (!chosen.ok()) return chosen.status();
  return splits[*chosen];
}

// The class counts of two groups whose sizes are equal or one apart.
StatusOr<std::string> FixedGroups(const TinyTable& table, const Budget& epsilon,
                                  PrivateRandom& random) {
  TinyTable rest = table;
  std::array<std::vector<int64_t>, 2> classes = {std::vector<int64_t>(2), std::vector<int64_t>(2)};
  while (!rest.empty()) {
    const auto drawn = random.UniformBelow(rest.size());
    if (!drawn.ok()) return drawn.status();
    const size_t group = rest.size() > table.size() / 2 ? 0 : 1;
    ++classes[group][rest[*drawn].y];
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(*drawn));
  }
  std::string seen;
  for (const std::vector<int64_t>& counts : classes) {
    const auto noisy = ReleaseSums(counts, 1, epsilon, random);
    if (!noisy.ok()) return noisy.status();
    StrAppend(&seen, (*noisy)[0], " ", (*noisy)[1], " ");
  }
  return seen;
}

// A split by gain, as if a row moved gains no more unevenly than `range`. Class 1 has residual 1
// and class 0 has -1, as when boosting starts.
MaybeSplit BestGain(const trainers::NodeRows& node, uint64_t range,
                    const trainers::BudgetShare& share, trainers::PrivateReleaser& releaser) {
  const std::vector<trainers::BinSplit> splits = node.cell.Splits(0);
  std::vector<int64_t> gains;
  for (const trainers::BinSplit& split : splits) {
    std::array<int64_t, 2> counts = {0, 0}, sums = {0, 0};
    for (const uint32_t row : node.rows) {
      const size_t side = split.GoesLeft(node.all.column(0)[row]) ? 0 : 1;
      ++counts[side];
      sums[side] +=
          node.all.labels()[row] == 1 ? trainers::kResidualSteps : -trainers::kResidualSteps;
    }
    gains.push_back(trainers::GainTerm(counts[0], sums[0], {1, 10}) +
                    trainers::GainTerm(counts[1], sums[1], {1, 10}));
  }
  const auto chosen = releaser.Select(gains, share, range);
  if (!chosen.ok()) return chosen.status();
  return splits[*chosen];
}

// Twice the sensitivity of DPBoost's Lemma 1, at lambda = 0.1.
constexpr auto kPaperGainRange =
    static_cast<uint64_t>(2 * 2.3 / (1.1 * 2.1) * trainers::kScoreUnit);

std::vector<WalkedRelease> BrokenTrainers() {
  return {
      {"gains as DPBoost's Lemma 1 bounds them", "2", kRow, 4, 1e-7, 1,
       WalkTree([](const trainers::NodeRows& node, const trainers::BudgetShare& share,
                   trainers::PrivateReleaser& releaser) -> MaybeSplit {
         return BestGain(node, kPaperGainRange, share, releaser);
       })},
      {"dpboost's trees that see all rows, for all of epsilon each", "3", kRow, 1, 1e-6, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return WalkTrainer("dpboost", OneNumber(),
                            {{"trees", "2"}, {"scheme", "seq"}, {"depth", "0"}})(
             table, *epsilon.Plus(epsilon), random);
       }},
      {"candidates between the rows of the node", "2", kRow, 3, 1e-7, 1,
       WalkTree([](const trainers::NodeRows& node, const trainers::BudgetShare& share,
                   trainers::PrivateReleaser& releaser) -> MaybeSplit {
         std::vector<trainers::BinSplit> splits = node.cell.Splits(0);
         const auto rows = static_cast<int64_t>(node.rows.size());
         std::erase_if(splits, [&](const trainers::BinSplit& split) {
           const int64_t left = trainers::CountsLeft(node, {split})[0];
           return left == 0 || left == rows;
         });
         return MedianAmong(node, splits, share, releaser);
       })},
      {"a leaf where few rows are", "2", kRow, 3, 1e-7, 1,
       WalkTree([](const trainers::NodeRows& node, const trainers::BudgetShare& share,
                   trainers::PrivateReleaser& releaser) -> MaybeSplit {
         if (node.rows.size() <= 1) return std::nullopt;
         return MedianAmong(node, node.cell.Splits(0), share, releaser);
       })},
      {"an exact median", "2", kRow, 3, 1e-7, 1,
       WalkTree([](const trainers::NodeRows& node, const trainers::BudgetShare&,
                   trainers::PrivateReleaser& releaser) -> MaybeSplit {
         return MedianAmong(node, node.cell.Splits(0), trainers::BudgetShare::WithoutPrivacy(),
                            releaser);
       })},
      // Spends what the two sides of sspe1 may spend only because no row is on both.
      {"rows that grow a tree and fill it for all of epsilon each", "3", kRow, 2, 1e-6, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return WalkTrainer("spe", OneNumber(), {})(table, *epsilon.Plus(epsilon), random);
       }},
      {"two trees that see all rows for all of epsilon each", "2", kRow, 1, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return WalkTrainer("rdt", OneNumber(), {{"trees", "2"}, {"depth", "0"}})(
             table, *epsilon.Plus(epsilon), random);
       }},
      {"a round of boosting with the noise of the first", "1", kRow, 3, 1e-7, 1, FourthRound(0)},
      {"groups of fixed sizes, shuffled and cut", "2", kRow, 2, 1e-6, 1, FixedGroups},
      {"label changes taken to move one count", "2", kLabel, 2, 1e-6, 1,
       WalkTrainer("dpert", OneNumber(3), {{"depth", "0"}})},
      // sspe2 does not protect this relation.
      {"sspe2 told one row more", "3", kRow, 2, 1e-6, 1,
       WalkTrainer("sspe2", OneNumber(), {{"labelled", "1"}, {"min_leaf", "0"}})},
  };
}

TEST(TrainerTwinTest, GainsAsTheyAreBoundedHereAreFine) {
  ExpectAsPrivateAsClaimed(
      {"gains", "2", kRow, 4, 1e-7, 0.5,
       WalkTree([](const trainers::NodeRows& node, const trainers::BudgetShare& share,
                   trainers::PrivateReleaser& releaser) -> MaybeSplit {
         return BestGain(node, trainers::kGainRange, share, releaser);
       })});
}

class BrokenTrainerTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, BrokenTrainerTest, ::testing::ValuesIn(BrokenTrainers()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(BrokenTrainerTest, TheEnumerationFindsTheBug) { ExpectFoundOut(GetParam()); }

}  // namespace
}  // namespace coppice
