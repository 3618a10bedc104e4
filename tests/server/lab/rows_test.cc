#include "server/lab/rows.h"

#include <array>
#include <set>
#include <vector>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::lab {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// `rows` distinct rows, x1 = 0, 1/rows, ...
std::shared_ptr<const Table> Distinct(size_t rows) {
  Table table(SyntheticSchema());
  for (size_t i = 0; i < rows; ++i) {
    table.Append(std::array<double, 2>{static_cast<double>(i) / static_cast<double>(rows), 0.5},
                 i % 2);
  }
  return std::make_shared<const Table>(std::move(table));
}

std::vector<double> FirstColumn(const Table& table) {
  return {table.column(0).begin(), table.column(0).end()};
}

TEST(HoldOutTest, SplitsEveryRowIntoExactlyOneSide) {
  ASSERT_OK_AND_ASSIGN(const RowSource source, HoldOut(Distinct(3), Distinct(101), 0.2));
  const LabRows rows = source(1);
  EXPECT_EQ(rows.test_rows->num_rows(), 21u);  // rounded up
  EXPECT_EQ(rows.private_rows->num_rows(), 80u);
  EXPECT_EQ(rows.public_rows->num_rows(), 3u);
  std::set<double> seen;
  for (const Table* side : {rows.test_rows.get(), rows.private_rows.get()}) {
    for (const double x : FirstColumn(*side)) EXPECT_TRUE(seen.insert(x).second);
  }
  EXPECT_EQ(seen.size(), 101u);
}

TEST(HoldOutTest, SeedFixesTheSplit) {
  ASSERT_OK_AND_ASSIGN(const RowSource source, HoldOut(Distinct(3), Distinct(101), 0.2));
  EXPECT_EQ(FirstColumn(*source(5).test_rows), FirstColumn(*source(5).test_rows));
  EXPECT_NE(FirstColumn(*source(5).test_rows), FirstColumn(*source(6).test_rows));
}

TEST(HoldOutTest, EachRowIsHeldOutEquallyOften) {
  ASSERT_OK_AND_ASSIGN(const RowSource source, HoldOut(Distinct(1), Distinct(10), 0.3));
  std::array<int, 10> times{};
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    for (const double x : FirstColumn(*source(seed).test_rows)) {
      ++times[static_cast<size_t>(x * 10 + 0.5)];
    }
  }
  // 3000 of each are expected; 300 is 6.5 standard deviations.
  for (const int count : times) EXPECT_NEAR(count, 3000, 300);
}

TEST(HoldOutTest, RefusesToTakeNothingOrEverything) {
  for (const double share : {0.0, 1.0}) {
    EXPECT_THAT(HoldOut(Distinct(1), Distinct(10), share),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("the holdout must be")));
  }
}

TEST(PublicShareTest, EveryTrainingRowIsPublicOrPrivate) {
  ASSERT_OK_AND_ASSIGN(RowSource held_out, HoldOut(nullptr, Distinct(101), 0.2));
  ASSERT_OK_AND_ASSIGN(const RowSource source, WithPublicShare(held_out, 0.24));
  const LabRows rows = source(1);
  EXPECT_EQ(rows.public_rows->num_rows(), 20u);  // rounded up
  EXPECT_EQ(rows.private_rows->num_rows(), 60u);
  std::set<double> seen;
  for (const Table* part :
       {rows.test_rows.get(), rows.private_rows.get(), rows.public_rows.get()}) {
    for (const double x : FirstColumn(*part)) EXPECT_TRUE(seen.insert(x).second);
  }
  EXPECT_EQ(seen.size(), 101u);
  EXPECT_NE(FirstColumn(*source(2).public_rows), FirstColumn(*rows.public_rows));
  ASSERT_OK_AND_ASSIGN(const RowSource counted, WithPublicRows(held_out, 20));
  EXPECT_EQ(FirstColumn(*counted(1).public_rows), FirstColumn(*rows.public_rows));
  EXPECT_THAT(WithPublicRows(held_out, 80),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be divided")));
  EXPECT_THAT(WithPublicShare(held_out, 0.999),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be divided")));
}

TEST(SplitRowsTest, EveryRowIsPublicPrivateOrTest) {
  ASSERT_OK_AND_ASSIGN(const RowSource source, SplitRows(Distinct(101), {.public_rows = 10}));
  const LabRows rows = source(1);
  EXPECT_EQ(rows.public_rows->num_rows(), 10u);
  EXPECT_EQ(rows.test_rows->num_rows(), 21u);
  EXPECT_EQ(rows.private_rows->num_rows(), 70u);
  std::set<double> seen;
  for (const Table* side :
       {rows.public_rows.get(), rows.test_rows.get(), rows.private_rows.get()}) {
    for (const double x : FirstColumn(*side)) EXPECT_TRUE(seen.insert(x).second);
  }
  EXPECT_NE(FirstColumn(*rows.public_rows), FirstColumn(*source(2).public_rows));
}

TEST(SplitRowsTest, TestRowsOfTheirOwnAreNotHeldOut) {
  const auto test = Distinct(7);
  ASSERT_OK_AND_ASSIGN(
      const RowSource source,
      SplitRows(Distinct(50), {.public_rows = 10, .private_rows = 15, .test_rows = test}));
  const LabRows rows = source(1);
  EXPECT_EQ(rows.test_rows, test);
  EXPECT_EQ(rows.private_rows->num_rows(), 15u);
}

TEST(SplitRowsTest, RefusesMoreThanThereIs) {
  for (const SplitOptions& options :
       {SplitOptions{.public_rows = 0}, SplitOptions{.public_rows = 8},
        SplitOptions{.public_rows = 2, .private_rows = 7}}) {
    EXPECT_THAT(SplitRows(Distinct(10), options),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("too few")));
  }
}

TEST(PublicLabelsTest, AreFlippedOrShuffledAndNothingElse) {
  ASSERT_OK_AND_ASSIGN(const RowSource source, SplitRows(Distinct(200), {.public_rows = 100}));
  const LabRows given = source(1);
  const LabRows flipped = WithPublicLabels(source, PublicLabels::kFlipped)(1);
  const LabRows random = WithPublicLabels(source, PublicLabels::kRandom)(1);
  int same = 0, ones_given = 0, ones_random = 0;
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(flipped.public_rows->label(i), 1 - given.public_rows->label(i));
    same += random.public_rows->label(i) == given.public_rows->label(i) ? 1 : 0;
    ones_given += static_cast<int>(given.public_rows->label(i));
    ones_random += static_cast<int>(random.public_rows->label(i));
  }
  EXPECT_EQ(ones_random, ones_given);
  EXPECT_NEAR(same, 50, 25);
  for (const LabRows* rows : {&flipped, &random}) {
    EXPECT_EQ(FirstColumn(*rows->public_rows), FirstColumn(*given.public_rows));
    EXPECT_EQ(FirstColumn(*rows->private_rows), FirstColumn(*given.private_rows));
  }
}

TEST(ShiftedRowsTest, TheUpperHalfComesFourTimesAsOften) {
  ASSERT_OK_AND_ASSIGN(const RowSource source, SplitRows(Distinct(3000), {.public_rows = 2000}));
  const LabRows given = source(1), shifted = WithShiftedPublicRows(source)(1);
  ASSERT_EQ(shifted.public_rows->num_rows(), 2000u);
  int upper = 0;
  for (const double x : FirstColumn(*shifted.public_rows)) upper += x >= 0.5 ? 1 : 0;
  EXPECT_NEAR(upper, 1600, 100);  // 5 standard deviations
  EXPECT_EQ(FirstColumn(*shifted.private_rows), FirstColumn(*given.private_rows));
}

TEST(SyntheticRowsTest, DrawsFreshRowsForEachSeed) {
  const RowSource source =
      SyntheticRows({.gamma = 5, .private_rows = 30, .public_rows = 20, .test_rows = 10});
  const LabRows rows = source(1);
  EXPECT_EQ(rows.private_rows->num_rows(), 30u);
  EXPECT_EQ(rows.public_rows->num_rows(), 20u);
  EXPECT_EQ(rows.test_rows->num_rows(), 10u);
  EXPECT_EQ(FirstColumn(*rows.private_rows), FirstColumn(*source(1).private_rows));
  EXPECT_NE(FirstColumn(*rows.private_rows), FirstColumn(*source(2).private_rows));
}

}  // namespace
}  // namespace coppice::lab
