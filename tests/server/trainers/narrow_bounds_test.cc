// Narrower bounds are found where rows are, cost what was said, and leave columns that fit their
// rows as they are.

#include "server/trainers/boosting/narrow_bounds.h"

#include <cmath>
#include <random>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/trainers/boosting/boost_columns.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/cut_rows.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

// Rows that are even between `low` and `high` in every numeric column.
Table Between(std::vector<Feature> features, size_t rows, double low, double high) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(std::move(features), "label", {"no", "yes"}));
  Table table(schema);
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<> value(low, high);
  for (size_t i = 0; i < rows; ++i) {
    Row row;
    for (const Feature& feature : schema->features()) {
      const double drawn = value(engine);
      row.push_back(feature.type == FeatureType::kCategorical ? 0
                    : feature.integer                         ? std::round(drawn)
                                                              : drawn);
    }
    table.Append(row, i % 2);
  }
  return table;
}

NarrowedBounds Narrowed(const Table& table, const BudgetShare& share, uint64_t seed = 1) {
  SeededRandom random(seed);
  PrivateReleaser releaser(random);
  StatusOr<NarrowedBounds> narrowed =
      NarrowBounds(CutRows(table, 7), static_cast<double>(table.num_rows()), share, releaser);
  EXPECT_OK(narrowed);
  return *std::move(narrowed);
}

BudgetShare InEpsilon(const char* epsilon) { return BudgetShare(*Budget::Parse(epsilon)); }
BudgetShare InRho(double rho) {
  return BudgetShare(*Rho::FromPicos(static_cast<uint64_t>(rho * Rho::kPicosPerRho)));
}

// "None" is ahead of every window by some 15 nats and more, in 280 windows: an alarm in any of 200
// fits would be a chance below 200 * 280 * exp(-15) = .02, with fixed seeds.
TEST(NarrowBoundsTest, ColumnsThatFitTheirRowsKeepTheirBoundsForOneSelection) {
  const Table table = Between({Numeric("x", 0, 1), Numeric("y", 0, 1)}, 2000, 0, 1);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const NarrowedBounds narrowed = Narrowed(table, InEpsilon("1"), seed);
    EXPECT_EQ(narrowed.columns, 0u);
    EXPECT_EQ(narrowed.schema, table.schema());
    EXPECT_EQ(narrowed.left.amount(), 987'500'000u) << "25 / 2000 of epsilon";
  }
}

TEST(NarrowBoundsTest, RowsInATenThousandthOfTheBoundsAreFoundWhereverTheyAre) {
  for (const BudgetShare& share : {InEpsilon("1"), InRho(0.02)}) {
    for (const double at : {0.0, 4e6, 163e6, 999e6}) {
      const Table table =
          Between({Numeric("time", 0, 1e9), Numeric("x", 0, 2e9)}, 4000, at, at + 1e5);
      const NarrowedBounds narrowed = Narrowed(table, share);
      EXPECT_EQ(narrowed.columns, 2u);
      EXPECT_LT(narrowed.left.amount(), share.amount());
      EXPECT_GE(narrowed.left.amount(), (1 - kMaxNarrowingShare) * share.amount());
      for (const Feature& found : narrowed.schema.features()) {
        EXPECT_LE(found.max - found.min, 16 * 1e5) << at;
        EXPECT_LE(found.min, at + 0.3e5);
        EXPECT_GE(found.max, at + 0.7e5);
      }
    }
  }
}

TEST(NarrowBoundsTest, BoundsOfWholeNumbersStayWhole) {
  const Table table = Between({Whole("count", -1'000'001, 1'000'003)}, 3000, 11, 90);
  const NarrowedBounds narrowed = Narrowed(table, InEpsilon("1"));
  const Feature& found = narrowed.schema.features()[0];
  EXPECT_EQ(narrowed.columns, 1u);
  EXPECT_EQ(found.min, std::floor(found.min));
  EXPECT_EQ(found.max, std::ceil(found.max));
  EXPECT_LT(found.max - found.min, 2000);
  EXPECT_LE(found.min, 30);
  EXPECT_GE(found.max, 70);
}

// Nine rows in ten are 0, the others fill the bounds.
TEST(NarrowBoundsTest, AValueThatMostRowsHaveIsNoReasonForNarrowBounds) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("gain", 0, 1e5)}, "label", {"no", "yes"}));
  Table table(schema);
  for (size_t i = 0; i < 5000; ++i) table.Append({i % 10 == 0 ? i * 20.0 : 0.0}, i % 2);
  EXPECT_EQ(Narrowed(table, InEpsilon("1")).columns, 0u);
}

TEST(NarrowBoundsTest, NothingIsAskedOfFewRowsNorWithoutNumbers) {
  const Table few = Between({Numeric("x", 0, 1e9)}, 900, 0, 1);
  EXPECT_EQ(Narrowed(few, InEpsilon("1")).left.amount(), InEpsilon("1").amount());
  const Table colours = Between({Categorical("colour", {"red"}), Numeric("one", 1, 1)}, 5000, 1, 1);
  EXPECT_EQ(Narrowed(colours, InEpsilon("1")).left.amount(), InEpsilon("1").amount());
}

TEST(NarrowBoundsTest, NeverCostsMoreThanAQuarter) {
  std::vector<Feature> features;
  for (int f = 0; f < 40; ++f) features.push_back(Numeric(StrCat("x", f), 0, 1e9));
  const Table table = Between(std::move(features), 1500, 0, 1);
  for (const BudgetShare& share : {InEpsilon("1"), InRho(0.125)}) {
    const NarrowedBounds narrowed = Narrowed(table, share);
    EXPECT_GT(narrowed.columns, 5u);
    EXPECT_GE(narrowed.left.amount(), (1 - kMaxNarrowingShare) * share.amount());
  }
}

// The proof's claim, on random tables and rows: every score moves by 0 or 1, in one direction.
TEST(WindowSearchTest, ARowMoreMovesEveryScoreByOneAtMostAndNeverDown) {
  const auto schema = MixedClasses();
  std::mt19937_64 engine(5);
  bool moves = false;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Table table = RandomTable(schema, {.rows = seed * 3}, seed);
    Table more = table;
    Row row;
    for (const Feature& feature : schema->features()) {
      row.push_back(RandomValue(feature, 0.1, engine));
    }
    more.Append(row, 0);
    const BlocksOfTable fewer(table), more_rows(more);
    ASSERT_OK_AND_ASSIGN(WindowSearch one, WindowSearch::Create(fewer, 100));
    ASSERT_OK_AND_ASSIGN(WindowSearch other, WindowSearch::Create(more_rows, 100));
    for (int narrowing = 0; narrowing < 4; ++narrowing) {
      const std::vector<int64_t> before = one.Scores(), after = other.Scores();
      ASSERT_EQ(before.size(), after.size());
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_GE(after[i] - before[i], 0);
        EXPECT_LE(after[i] - before[i], 1);
        moves = moves || after[i] != before[i];
      }
      EXPECT_EQ(after[0], before[0]) << "a public number";
      const size_t candidate = 1 + engine() % (before.size() - 1);
      ASSERT_OK(one.Narrow(candidate));
      ASSERT_OK(other.Narrow(candidate));
      EXPECT_EQ(one.Features(), other.Features());
    }
  }
  EXPECT_TRUE(moves);
}

TEST(NarrowedColumnsTest, CutsAreWhereTheBoundsWereFoundAndWhereTheyWereDeclared) {
  const Schema schema =
      *Schema::Create({Numeric("x", 0, 1e9), Numeric("y", 0, 1)}, "label", {"no", "yes"});
  std::vector<Feature> features = schema.features();
  features[0].min = 5e8;
  features[0].max = 5e8 + 1e4;
  const Schema narrowed = *Schema::Create(features, "label", {"no", "yes"});
  const BoostColumns columns = *PublicBoostColumns(schema, kAllInformation, narrowed);
  const BoostColumns declared = *PublicBoostColumns(schema, kAllInformation);
  const auto inside = [&](double cut) { return cut > 5e8 && cut < 5e8 + 1e4; };
  const std::vector<double>& cuts = columns.bins[0].cuts;
  EXPECT_GE(std::count_if(cuts.begin(), cuts.end(), inside), 511);
  EXPECT_GE(std::count_if(cuts.begin(), cuts.end(), std::not_fn(inside)), 31);
  EXPECT_EQ(columns.bins[1].cuts, declared.bins[1].cuts);
  EXPECT_EQ(columns.derived, declared.derived);
  // x + y is between .5 and 1.5 + 1e-5, x - y between -.5 and .5 + 1e-5.
  ASSERT_EQ(columns.derived.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const double low = columns.derived[i][1].minus ? -0.5 : 0.5;
    EXPECT_NEAR(columns.bins[2 + i].cuts.front(), low + 1.0 / 64, 1e-4);
    EXPECT_NEAR(columns.bins[2 + i].cuts.back(), low + 63.0 / 64, 1e-4);
  }
  const std::vector<FeatureBins> most = MostBoostBins(schema, declared);
  for (size_t c = 0; c < most.size(); ++c) EXPECT_GE(most[c].size(), columns.bins[c].size());
}

}  // namespace
}  // namespace coppice::trainers
