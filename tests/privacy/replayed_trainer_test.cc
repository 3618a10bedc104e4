// Runs a trainer twice: on a table, and on a neighbour of it with the first run's releases put in
// place of its own. Each release may depend on those and on the rows, so for every release the two
// runs' sums must be within what its noise is for, their scores within the range of its selection,
// and the shares of all releases together within what was asked for. On the tables that are tried,
// this is the whole proof of an adaptive composition.

#include <algorithm>
#include <set>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/privacy/replayed_releases.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr uint64_t kDelta = 1'000'000'000'000;  // a millionth, in 1e-18

struct Spent {
  double largest_part = 0;  // of a sensitivity, in any release after the first
  size_t releases = 0;
  uint64_t nanos = 0, picos = 0;
};

// What each of the two runs asked for.
struct TwoRuns {
  std::vector<ReleaseRequest> first{}, second{};
};

TwoRuns AskTwice(const char* algorithm, const Table& table, const Table& neighbour,
                 const trainers::TrainOptions& options, uint64_t seed) {
  const trainers::Trainer& trainer = **trainers::FindTrainer(algorithm);
  const auto go_on = [](double) { return OkStatus(); };
  // Both runs get the same public coins: orders and groups must not differ.
  SeededRandom random(seed), again(seed);
  Recorder recorder(seed);
  EXPECT_OK(trainer.Train(table, options, random, go_on));
  TwoRuns runs{.first = recorder.Replay()};
  EXPECT_OK(trainer.Train(neighbour, options, again, go_on));
  runs.second = recorder.Replay();
  EXPECT_EQ(runs.first.size(), runs.second.size());
  runs.second.resize(runs.first.size());
  for (size_t i = 0; i < runs.first.size(); ++i) {
    const ReleaseRequest& one = runs.first[i];
    ReleaseRequest& other = runs.second[i];
    EXPECT_EQ(one.sensitivity, other.sensitivity);
    EXPECT_EQ(one.amount, other.amount);
    EXPECT_EQ(one.selects, other.selects);
    EXPECT_EQ(one.exponential, other.exponential);
    EXPECT_EQ(one.sums.size(), other.sums.size());
    other.sums.resize(one.sums.size());
  }
  return runs;
}

Spent RunTwice(const char* algorithm, const Table& table, const Table& neighbour,
               const trainers::TrainOptions& options, uint64_t seed) {
  const TwoRuns runs = AskTwice(algorithm, table, neighbour, options, seed);
  const std::vector<ReleaseRequest>& first = runs.first;
  Spent spent{.releases = first.size()};
  size_t moved = 0;  // selections of one level that differ
  for (size_t i = 0; i < first.size(); ++i) {
    const ReleaseRequest& one = first[i];
    const ReleaseRequest& other = runs.second[i];
    const double part = PartOfSensitivity(one, other);
    EXPECT_LE(part, 1) << "release " << i;
    if (i > 0) spent.largest_part = std::max(spent.largest_part, part);
    // Selections in a row from as many candidates belong to the nodes of one level, only one of
    // which sees the row. Those of windows, alone in that their scores count rows, cost one by one.
    const bool of_level = i > 0 && one.selects && first[i - 1].selects && one.sensitivity > 1 &&
                          one.sums.size() == first[i - 1].sums.size();
    if (of_level) {
      EXPECT_EQ(one.amount, first[i - 1].amount);
    }
    if (!of_level) moved = 0;
    if (one.selects && one.sums != other.sums) ++moved;
    EXPECT_LE(moved, 1u) << "two nodes of a level see the row";
    if (of_level) continue;
    if (one.exponential) {
      spent.picos += one.amount * one.amount / 8'000'000;  // epsilon^2 / 8
    } else {
      (one.in_rho ? spent.picos : spent.nanos) += one.amount;
    }
  }
  return spent;
}

// All that was asked for is spent, and no more. What is not spent in epsilon is spent in rho; the
// delta belongs to rho alone, once.
void ExpectSpendsAll(const Spent& spent, const trainers::TrainOptions& options) {
  const uint64_t epsilon = options.epsilon->nanos();
  if (spent.picos == 0) {
    EXPECT_LE(spent.nanos, epsilon);
    EXPECT_GT(spent.nanos + 1000, epsilon) << "wasted";
    return;
  }
  const Budget rest = *Budget::FromNanos(epsilon - spent.nanos);
  const auto most = static_cast<double>(Rho::Implying(rest, options.delta_atto)->picos());
  EXPECT_LE(static_cast<double>(spent.picos), most);
  EXPECT_GT(static_cast<double>(spent.picos), 0.999 * most) << "wasted";
}

// Epsilon alone, epsilon and a delta, and the same added up as rho.
std::vector<trainers::TrainOptions> WithAndWithoutDelta(const char* epsilon, uint64_t delta_atto) {
  const trainers::TrainOptions pure{
      .epsilon = *Budget::Parse(epsilon), .delta_atto = 0, .settings = {}};
  trainers::TrainOptions approximate = pure;
  approximate.delta_atto = delta_atto;
  trainers::TrainOptions in_rho = approximate;
  in_rho.concentrated = true;
  return {pure, approximate, in_rho};
}

std::shared_ptr<const Schema> NumericClasses(uint32_t features, uint32_t classes) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  return std::make_shared<const Schema>(*Schema::Create(NumericFeatures(features), "label",
                                                        {names.begin(), names.begin() + classes}));
}

// `table` with one row more, at the ends of all ranges.
Table WithARow(const Table& table, uint32_t label, bool high) {
  Table more = table;
  Row row;
  for (const Feature& feature : table.schema().features()) {
    row.push_back(feature.type == FeatureType::kCategorical ? 0 : high ? feature.max : feature.min);
  }
  more.Append(row, label);
  return more;
}

class ReplayedTrainerTest : public ::testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Classes, ReplayedTrainerTest, ::testing::Values(2, 3));

TEST_P(ReplayedTrainerTest, NoReleaseMovesByMoreThanItsNoiseIsForAndAllTogetherCostEpsilon) {
  const auto schema = MixedClasses(GetParam());
  double most = 0;
  bool fits_lines = false;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Table table = RandomTable(schema, {.rows = 60 * seed * seed, .unlabelled = 0.1}, seed);
    const Table neighbour = WithARow(table, static_cast<uint32_t>(seed % GetParam()), seed % 4 < 2);
    const trainers::TrainOptions options{
        .epsilon = *Budget::Parse("1"), .delta_atto = 0, .settings = {}};
    const Spent spent = RunTwice("logistic", table, neighbour, options, seed);
    ExpectSpendsAll(spent, options);
    EXPECT_EQ(spent.picos, 0u);
    // With lines there are 17: the number of rows, moments, eight steps, seven columns.
    fits_lines = fits_lines || spent.releases == 17;
    most = std::max(most, spent.largest_part);
  }
  EXPECT_TRUE(fits_lines);
  EXPECT_GT(most, 0.97) << "noise is for more than a row can do";
}

TEST_P(ReplayedTrainerTest, NoReleaseCostsMoreThanItsRho) {
  const auto schema = NumericClasses(60, GetParam());
  double most = 0;
  for (const uint64_t rows : {20u, 5000u}) {
    const Table table = RandomTable(schema, {.rows = rows}, 5);
    const trainers::TrainOptions options{
        .epsilon = *Budget::Parse("1"), .delta_atto = kDelta, .settings = {{"lines", "0.5"}}};
    const Spent spent = RunTwice("logistic", table, WithARow(table, 1, true), options, 5);
    const Budget weights = *Budget::FromNanos(options.epsilon->nanos() - spent.nanos);
    const Rho rho = *Rho::Implying(weights, options.delta_atto);
    EXPECT_LE(spent.picos, rho.picos());
    EXPECT_GT(spent.picos + 1000, rho.picos());
    EXPECT_EQ(spent.nanos, 10'000'000u);  // the number of rows
    most = std::max(most, spent.largest_part);
  }
  EXPECT_GT(most, 0.9);
}

// A level's nodes divide the rows, so only one node of a level may differ, and it is the one that
// counts: all shares are those of the dearest node of every level.
TEST_P(ReplayedTrainerTest, AutoCostsNoMoreThanEpsilonWithAndWithoutLines) {
  const auto schema = NumericClasses(3, GetParam());
  const trainers::TrainOptions options{
      .epsilon = *Budget::Parse("2"), .delta_atto = 0, .settings = {}};
  for (const uint64_t rows : {20u, 6000u}) {
    const Table table = RandomTable(schema, {.rows = rows, .unlabelled = 0.1}, rows);
    const Spent spent =
        RunTwice("auto", table, WithARow(table, 0, rows > 1000), options, /*seed=*/7);
    ExpectSpendsAll(spent, options);
    EXPECT_EQ(spent.picos, 0u);
    EXPECT_GT(spent.largest_part, 0.8);
    // The number of rows, bounds, and for each of two trees four levels: 15 nodes' splits and 4
    // measurements. With two classes, their odds, moments and eight steps come before.
    if (rows > 1000) {
      EXPECT_EQ(spent.releases, (GetParam() == 2 ? 10u : 0u) + 1u + 1u + 2u * 19u);
    }
  }
}

Table WithANumber(const Table& table, bool high) {
  Table more = table;
  const Row row(table.schema().features().size(), high ? 1.0 : 0.0);
  const Target& target = *table.schema().target();
  more.AppendTarget(row, high ? target.max : target.min);
  return more;
}

// For few numbers a mean comes first, in epsilon, and says whether trees are worth their noise.
TEST(ReplayedNumbersTest, FewNumbersCostWhatWasAskedFor) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression(NumericFeatures(3), "price", {.min = -2, .max = 6}));
  constexpr uint64_t kThousandth = 1'000'000'000'000'000;
  double most = 0;
  std::set<size_t> counts;
  for (const trainers::TrainOptions& options : WithAndWithoutDelta("1", kThousandth)) {
    for (const uint64_t rows : {0u, 60u, 260u, 600u, 1400u}) {
      const Table table = RandomTable(schema, {.rows = rows}, rows);
      const Spent spent =
          RunTwice("auto", table, WithANumber(table, rows % 200 > 0), options, /*seed=*/7);
      most = std::max(most, spent.largest_part);
      counts.insert(spent.releases);
      ExpectSpendsAll(spent, options);
    }
  }
  EXPECT_GT(most, 0.97) << "noise is for more than a row can do";
  // The number of rows and two means; or also the reach, one leaf, and a tree of a level or more.
  EXPECT_TRUE(counts.contains(3));
  EXPECT_GE(*counts.rbegin(), 8u);
}

// Many numbers in a mostly numeric table have lines, for a tenth of what trees get.
TEST(ReplayedNumbersTest, NumbersWithLinesCostWhatWasAskedFor) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression(NumericFeatures(3), "price", {.min = -2, .max = 6}));
  for (const trainers::TrainOptions& options : WithAndWithoutDelta("2", kDelta)) {
    const bool has_delta = options.delta_atto > 0;
    const Table table = RandomTable(schema, {.rows = 6000}, 4);
    const Spent spent = RunTwice("auto", table, WithANumber(table, has_delta), options, 3);
    EXPECT_GT(spent.largest_part, 0.95) << "noise is for more than a row can do";
    // The number of rows, the middle, the reach, one leaf, moments and eight steps come first.
    EXPECT_GT(spent.releases, 13u + 8u);
    EXPECT_EQ(spent.picos > 0, has_delta);
    ExpectSpendsAll(spent, options);
  }
}

// All that public rows bring: the guard, gradients and lengths of lines, and then trees.
TEST_P(ReplayedTrainerTest, AutoWithPublicRowsCostsWhatWasAskedFor) {
  const auto schema = MixedClasses(GetParam());
  double most = 0;
  for (const uint64_t public_rows : {30u, 120u}) {
    for (trainers::TrainOptions& options : WithAndWithoutDelta("1", kDelta)) {
      options.public_rows =
          std::make_shared<const Table>(RandomTable(schema, {.rows = public_rows}, 9));
      for (const uint64_t rows : {0u, 40u, 3000u}) {
        const Table table = RandomTable(schema, {.rows = rows, .unlabelled = 0.1}, rows + 1);
        const Spent spent =
            RunTwice("auto", table, WithARow(table, 1, rows > 1000), options, /*seed=*/rows);
        most = std::max(most, spent.largest_part);
        if (rows == 3000) {
          EXPECT_GT(spent.releases, public_rows >= 50 ? 8u : 4u);
        }
        ExpectSpendsAll(spent, options);
      }
    }
  }
  EXPECT_GT(most, 0.9) << "noise is for more than a row can do";
}

// If costs are added up as rho, the rho spent is the one that the plan states, for any number of
// rows.
TEST_P(ReplayedTrainerTest, AutoKeepsToTheRhoThatItStates) {
  const auto schema = NumericClasses(3, GetParam());
  const trainers::TrainOptions options{
      .epsilon = *Budget::Parse("1"), .delta_atto = kDelta, .concentrated = true, .settings = {}};
  const std::vector<Release> plan = *(*trainers::FindTrainer("auto"))->Plan(*schema, options);
  ASSERT_EQ(plan.size(), 2u);
  const auto stated = static_cast<double>(plan[1].rho_pico);
  EXPECT_LE(plan[1].rho_pico,
            Rho::Implying(*Budget::FromNanos(plan[1].epsilon_nanos), options.delta_atto)->picos());
  for (const uint64_t rows : {0u, 20u, 60'000u}) {
    const Table table = RandomTable(schema, {.rows = rows}, rows);
    const Spent spent =
        RunTwice("auto", table, WithARow(table, 0, rows > 1000), options, /*seed=*/7);
    EXPECT_EQ(spent.nanos, plan[0].epsilon_nanos);
    EXPECT_LE(static_cast<double>(spent.picos), stated);
    EXPECT_GT(static_cast<double>(spent.picos), 0.999 * stated) << "wasted";
  }
}

// Columns whose bounds are a million times as wide as their rows, a time and an amount, beside one
// that is not.
struct WideMode {
  const char* name;
  uint32_t classes;  // 0: a number
  bool delta, states_rho;
};

class ReplayedWideTest : public ::testing::TestWithParam<WideMode> {};

INSTANTIATE_TEST_SUITE_P(Modes, ReplayedWideTest,
                         ::testing::Values(WideMode{"Two", 2, false, false},
                                           WideMode{"TwoWithDelta", 2, true, false},
                                           WideMode{"TwoInRho", 2, true, true},
                                           WideMode{"Three", 3, false, false},
                                           WideMode{"Number", 0, false, false},
                                           WideMode{"NumberWithDelta", 0, true, false},
                                           WideMode{"NumberInRho", 0, true, true}),
                         [](const auto& mode) { return mode.param.name; });

TEST_P(ReplayedWideTest, NarrowerBoundsCostNoMoreThanWasAskedFor) {
  const WideMode& mode = GetParam();
  const std::vector<Feature> features = {Numeric("time", 0, 1e10), Numeric("x", 0, 1),
                                         Numeric("amount", 0, 1e9),
                                         Categorical("colour", {"red", "green"})};
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto schema = std::make_shared<const Schema>(
      mode.classes == 0
          ? *Schema::CreateRegression(features, "price", {.min = -2, .max = 6})
          : *Schema::Create(features, "label", {names.begin(), names.begin() + mode.classes}));
  Table table(schema);
  for (size_t i = 0; i < 6000; ++i) {
    const Row row = {1.7e9 + static_cast<double>(i % 97) * 100, static_cast<double>(i % 89) / 89,
                     static_cast<double>(i % 101) * 10, static_cast<double>(i % 2)};
    if (mode.classes == 0) {
      table.AppendTarget(row, static_cast<double>(i % 7));
    } else {
      table.Append(row, static_cast<uint32_t>(i % mode.classes));
    }
  }
  Table more = table;
  const Row row = {1.7e9 + 50, 0.5, 55, 1};
  if (mode.classes == 0) {
    more.AppendTarget(row, 6);
  } else {
    more.Append(row, 0);
  }
  const trainers::TrainOptions options{.epsilon = *Budget::Parse("1"),
                                       .delta_atto = mode.delta ? kDelta : 0,
                                       .concentrated = mode.states_rho,
                                       .settings = {}};
  const TwoRuns runs = AskTwice("auto", table, more, options, /*seed=*/3);
  size_t windows = 0, moved = 0;
  for (size_t i = 0; i < runs.first.size(); ++i) {
    if (!runs.first[i].selects || runs.first[i].sensitivity != 1) continue;
    ++windows;
    moved += runs.first[i].sums != runs.second[i].sums ? 1 : 0;
  }
  EXPECT_GE(windows, 5u) << "two columns in two steps each, and \"none\"";
  EXPECT_EQ(moved, windows) << "the row is in some window of every selection";
  const Spent spent = RunTwice("auto", table, more, options, /*seed=*/3);
  ExpectSpendsAll(spent, options);
}

// In a wide table of numbers whose classes lie apart, their means are released first, and how steep
// they are; where they lie near each other, the first of these alone.
TEST(ReplayedDirectionsTest, DirectionsCostNoMoreThanWasAskedFor) {
  const auto schema = NumericClasses(20, 4);
  for (const double apart : {0.02, 0.4}) {
    Table table(schema);
    for (uint32_t i = 0; i < 6000; ++i) {
      Row row;
      for (uint32_t f = 0; f < 20; ++f) {
        row.push_back(0.5 + (f % 4 == i % 4 ? apart : -apart) + 0.005 * ((i * 7 + f * 5) % 19));
      }
      table.Append(row, i % 4);
    }
    for (const trainers::TrainOptions& options : WithAndWithoutDelta("4", kDelta)) {
      const bool has_delta = options.delta_atto > 0;
      const Table more = WithARow(table, 1, has_delta);
      const TwoRuns runs = AskTwice("auto", table, more, options, /*seed=*/3);
      const auto selects_steepness = [](const ReleaseRequest& request) {
        return request.selects && request.sums.size() == 10;
      };
      EXPECT_EQ(std::count_if(runs.first.begin(), runs.first.end(), selects_steepness),
                apart > 0.1 ? 1 : 0);
      const Spent spent = RunTwice("auto", table, more, options, /*seed=*/3);
      EXPECT_GT(spent.largest_part, 0.7) << "noise is for more than a row can do";
      EXPECT_EQ(spent.picos > 0, has_delta);
      ExpectSpendsAll(spent, options);
    }
  }
}

// A mostly categorical table whose colours decide the labels in part; one row in `rare` is of the
// last class.
Table Colours(uint32_t classes, size_t rows, uint32_t rare) {
  std::vector<std::string> names;
  for (uint32_t c = 0; c < classes; ++c)
    names.push_back(std::string(1, static_cast<char>('a' + c)));
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("colour", {"red", "green", "blue"}),
                       Categorical("size", {"s", "m", "l"}), Numeric("x", 0, 1)},
                      "label", names));
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const uint32_t label = i % rare == 0 ? classes - 1 : static_cast<uint32_t>(i % (classes - 1));
    table.Append({static_cast<double>((label + i / 7) % 4), static_cast<double>(i % 3),
                  static_cast<double>(i % 17) / 17},
                 label);
  }
  return table;
}

struct AutoMode {
  const char* name;
  uint32_t classes;
  size_t rows;
  uint32_t rare;
  bool delta, concentrated;
};

class ReplayedAutoTest : public ::testing::TestWithParam<AutoMode> {};

// The smallest tables buy a second number of rows only, and lean; with several classes they end
// there. Others have odds, parts, a start at the odds, and with a delta passes.
INSTANTIATE_TEST_SUITE_P(Modes, ReplayedAutoTest,
                         ::testing::Values(AutoMode{"Tilted", 2, 40, 2, false, false},
                                           AutoMode{"Parts", 2, 3000, 2, false, false},
                                           AutoMode{"Rare", 2, 9000, 40, false, false},
                                           AutoMode{"Passes", 2, 9000, 3, true, false},
                                           AutoMode{"PassesOfRare", 2, 9000, 40, true, false},
                                           AutoMode{"PassesInRho", 2, 9000, 3, true, true},
                                           AutoMode{"PassesOfThree", 3, 9000, 3, true, false},
                                           AutoMode{"End", 3, 4, 2, false, false},
                                           AutoMode{"EndInRho", 3, 4, 2, true, true}),
                         [](const auto& mode) { return mode.param.name; });

TEST_P(ReplayedAutoTest, CostsNoMoreThanWasAskedFor) {
  const AutoMode& mode = GetParam();
  const trainers::TrainOptions options{.epsilon = *Budget::Parse("1"),
                                       .delta_atto = mode.delta ? kDelta : 0,
                                       .concentrated = mode.concentrated,
                                       .settings = {}};
  const Table table = Colours(mode.classes, mode.rows, mode.rare);
  double largest = 0;
  bool in_rho = false;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const Spent spent =
        RunTwice("auto", table, WithARow(table, seed % mode.classes, seed % 2 == 0), options, seed);
    largest = std::max(largest, spent.largest_part);
    in_rho = in_rho || spent.picos > 0;
    ExpectSpendsAll(spent, options);
  }
  EXPECT_EQ(in_rho, mode.delta);
  EXPECT_GT(largest, 0.8) << "noise is for more than a row can do";
}

// Columns of more categories than can be split into all of them are visited once each.
TEST_P(ReplayedTrainerTest, AutoCostsNoMoreThanEpsilonWithVisits) {
  std::vector<std::string> codes;
  for (int v = 0; v < 80; ++v) codes.push_back(StrCat("v", v));
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("code", codes), Categorical("place", codes), Numeric("x", 0, 1)},
                      "label", {names.begin(), names.begin() + GetParam()}));
  for (const trainers::TrainOptions& options : WithAndWithoutDelta("2", kDelta)) {
    const Table table = RandomTable(schema, {.rows = 4000, .unlabelled = 0.1}, 3);
    const Spent spent =
        RunTwice("auto", table, WithARow(table, 1, options.delta_atto > 0), options, 5);
    EXPECT_GT(spent.largest_part, 0.9) << "noise is for more than a row can do";
    ExpectSpendsAll(spent, options);
  }
}

// A level's released sums decide how residuals of the next are weighted, where nearly all rows are
// certain. If the exact sums decided, every row of the neighbour would have other residuals.
TEST(ReplayedWeightsTest, OnlyReleasedSumsDecideWeights) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("colour", {"red", "green", "blue"}), Numeric("x", 0, 1)},
                      "label", {"no", "yes"}));
  for (const uint64_t delta : {uint64_t{0}, kDelta}) {
    const trainers::TrainOptions options{
        .epsilon = *Budget::Parse("4"), .delta_atto = delta, .settings = {}};
    double largest = 0;
    for (const uint64_t seed : {1u, 2u, 3u}) {
      Table table(schema);
      for (size_t i = 0; i < 9000; ++i) {
        const bool is_odd = i % 11 == 0;  // one row in eleven says the opposite of its colour
        table.Append({static_cast<double>(i % 2), static_cast<double>(i % 17) / 17},
                     static_cast<uint32_t>(is_odd ? 1 - i % 2 : i % 2));
      }
      const Spent spent =
          RunTwice("auto", table, WithARow(table, seed % 2, seed == 2), options, seed);
      EXPECT_GT(spent.releases, 10u);
      largest = std::max(largest, spent.largest_part);
    }
    EXPECT_GT(largest, 0.8) << "noise is for more than a row can do";
  }
}

// Each round in rho is one selection by the exponential mechanism, which costs epsilon^2 / 8; all
// votes of a round's leaves cost one selection, because a row's mass is spread over them.
TEST_P(ReplayedTrainerTest, LazyBbCostsNoMoreThanItsRho) {
  const auto schema = MixedClasses(GetParam());
  const trainers::TrainOptions options{
      .epsilon = *Budget::Parse("1"), .delta_atto = kDelta, .settings = {}};
  for (const size_t splits : {0u, 3u}) {  // 0: one rule
    trainers::TrainOptions more = options;
    more.settings = {{"rounds", "41"}};
    if (splits > 0) {
      more.settings["learner"] = "top_down";
      more.settings["splits"] = std::to_string(splits);
    }
    double rho = 0, largest = 0;
    for (const uint64_t rows : {0u, 30u, 800u}) {
      const Table table = RandomTable(schema, {.rows = rows, .unlabelled = 0.1}, rows);
      const TwoRuns runs = AskTwice("lazybb", table, WithARow(table, 1, rows > 50), more, rows);
      rho = 0;
      const size_t of_round = splits == 0 ? 1 : 2 * splits + 1;
      ASSERT_EQ(runs.first.size() % of_round, 0u);
      for (size_t i = 0; i < runs.first.size(); i += of_round) {
        double of_leaves = 0;
        for (size_t j = i; j < i + of_round; ++j) {
          const ReleaseRequest& asked = runs.first[j];
          EXPECT_TRUE(asked.exponential);
          const bool is_leaf = splits > 0 && j >= i + splits;
          const double part = PartOfSensitivity(asked, runs.second[j]);
          EXPECT_LE(part, 1);
          largest = std::max(largest, part);
          of_leaves += is_leaf ? part : 0;
          if (is_leaf && j > i + splits) continue;
          const double epsilon = static_cast<double>(asked.amount) / 1e9;
          rho += epsilon * epsilon / 8;
        }
        EXPECT_LE(of_leaves, 1);
      }
      const double whole =
          static_cast<double>(Rho::Implying(*options.epsilon, options.delta_atto)->picos()) / 1e12;
      EXPECT_LE(rho, whole);
      EXPECT_GT(rho, 0.999 * whole) << "wasted";
    }
    EXPECT_GT(largest, 0.3);
  }
}

}  // namespace
}  // namespace coppice
