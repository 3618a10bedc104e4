#include "server/trainers/dpboost/assignment.h"

#include <cmath>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;

TEST(GeometricOddsTest, FallByTheRatioAndNeverToZero) {
  const std::vector<uint64_t> odds = GeometricOdds(60, 0.5);
  for (size_t part = 0; part < 40; ++part) EXPECT_EQ(odds[part], uint64_t{1} << (40 - part));
  for (size_t part = 40; part < 60; ++part) EXPECT_EQ(odds[part], 1u);
  EXPECT_THAT(GeometricOdds(3, 1), ElementsAre(1ull << 40, 1ull << 40, 1ull << 40));
  EXPECT_THAT(GeometricOdds(2, 0), ElementsAre(1ull << 40, 1));
}

std::string PartsOf(const Assignment& assignment) {
  std::string parts;
  for (size_t part = 0; part + 1 < assignment.begin.size(); ++part) {
    StrAppend(&parts, StrJoin(assignment.Part(part), ","), "|");
  }
  return parts;
}

Law<std::string> LawOf(size_t rows, const std::vector<uint64_t>& odds) {
  return WalkAllBranches<std::string>(
      {.cut_off = 1e-15}, [&](PrivateRandom& random) -> StatusOr<std::string> {
        PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
        const StatusOr<Assignment> assignment = AssignRows(rows, odds, releaser);
        if (!assignment.ok()) return assignment.status();
        return PartsOf(*assignment);
      });
}

TEST(AssignRowsTest, ARowIsInAPartWithExactlyItsOdds) {
  const std::vector<uint64_t> odds = {5, 1, 3, 0, 7};
  const Law<std::string> law = LawOf(1, odds);
  double total = 0;
  for (const auto& [parts, probability] : law.probability) {
    EXPECT_NEAR(probability, static_cast<double>(odds[parts.find('0')]) / 16, 1e-12) << parts;
    total += probability;
  }
  EXPECT_NEAR(total, 1, 1e-12);
}

// The proof needs that rows' parts are independent: the law of two is the product of both.
TEST(AssignRowsTest, RowsAreDrawnIndependently) {
  const std::vector<uint64_t> odds = {2, 1, 1};
  const Law<std::string> law = LawOf(2, odds);
  EXPECT_EQ(law.probability.size(), 9u);
  EXPECT_NEAR(law.probability.at("0,1|||"), 0.25, 1e-12);
  EXPECT_NEAR(law.probability.at("0|1||"), 0.125, 1e-12);
  EXPECT_NEAR(law.probability.at("1|0||"), 0.125, 1e-12);
  EXPECT_NEAR(law.probability.at("|0|1|"), 0.0625, 1e-12);
}

TEST(AssignRowsTest, EveryRowIsInOnePartAndLaterPartsFollow) {
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  ASSERT_OK_AND_ASSIGN(const Assignment assignment,
                       AssignRows(10'000, GeometricOdds(7, 0.7), releaser));
  std::vector<int> seen(10'000);
  for (size_t part = 0; part < 7; ++part) {
    const auto rows = assignment.Part(part);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    for (const uint32_t row : rows) ++seen[row];
    EXPECT_EQ(assignment.After(part).size(), 10'000 - assignment.begin[part + 1]);
    const double expected = 10'000 * 0.3 * std::pow(0.7, part) / (1 - std::pow(0.7, 7));
    EXPECT_NEAR(static_cast<double>(rows.size()), expected, 6 * std::sqrt(expected));
  }
  EXPECT_EQ(seen, std::vector<int>(10'000, 1));
}

TEST(AssignRowsTest, AFailingSourceIsPassedOn) {
  ScriptedRandom random({});
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  EXPECT_THAT(AssignRows(1, {1, 1}, releaser).status(),
              StatusIs(StatusCode::kUnavailable, ::testing::_));
}

}  // namespace
}  // namespace coppice::trainers
