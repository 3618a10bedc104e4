#include "server/trainers/boosting/line_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "server/trainers/boosting/boost_task.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;

constexpr uint32_t kFineCuts = 1023;  // so fine that the outer bins are at the bounds

Schema TwoLines(uint32_t classes) {
  std::vector<std::string> names = {"no", "yes", "perhaps"};
  names.resize(classes);
  return *Schema::Create({Numeric("x", 0, 1), Categorical("colour", {"red"}), Numeric("z", -2, 2)},
                         "label", names);
}

struct Norms {
  uint64_t l1 = 0, l2_squared = 0;
};
Norms NormsOf(const std::vector<int64_t>& sums) {
  Norms norms;
  for (const int64_t sum : sums) {
    const auto size = static_cast<uint64_t>(std::abs(sum));
    norms.l1 += size;
    norms.l2_squared += size * size;
  }
  return norms;
}

// Tables of one row, one for each pair of some bins of the two columns.
std::vector<Table> OneRowTables(const std::shared_ptr<const Schema>& schema, uint32_t label) {
  std::vector<double> xs, zs;
  for (int i = 0; i <= 40; ++i) {
    xs.push_back(i / 40.0);
    zs.push_back(i / 10.0 - 2);
  }
  for (std::vector<double>* values : {&xs, &zs}) values->push_back(kMissingValue);
  std::vector<Table> tables;
  for (const double x : xs) {
    for (const double z : zs) {
      tables.emplace_back(schema);
      tables.back().Append(Row{x, 0, z}, label);
    }
  }
  return tables;
}

TEST(LineFitTest, PlacesAreTheMiddlesOfBinsAndMissingIsInTheMiddle) {
  const Schema schema = TwoLines(2);
  const auto bins = *PublicBins(schema, 3);
  const std::vector<Line> lines = PublicLines(schema, bins);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].column, 2u);
  EXPECT_THAT(lines[1].places, ElementsAre(-96, -32, 32, 96, 0));
}

TEST(LineFitTest, NoRowMovesMomentsByMoreThanTheirSensitivityAndSomeDoByAll) {
  const auto schema = std::make_shared<const Schema>(TwoLines(2));
  const std::vector<Line> lines = PublicLines(*schema, *PublicBins(*schema, kFineCuts));
  const Sensitivity bound = MomentSensitivity(3);
  Norms most;
  for (const Table& table : OneRowTables(schema, 1)) {
    const Norms norms = NormsOf(SumMoments(Binned(table, kFineCuts), lines));
    most = {std::max(most.l1, norms.l1), std::max(most.l2_squared, norms.l2_squared)};
  }
  EXPECT_EQ(most.l1, bound.l1);
  EXPECT_EQ(most.l2_squared, bound.l2_squared);
}

TEST(LineFitTest, NoRowMovesGradientsByMoreThanTheirSensitivityAndSomeDoByAll) {
  for (const uint32_t classes : {2u, 3u}) {
    const auto schema = std::make_shared<const Schema>(TwoLines(classes));
    const std::vector<Line> lines = PublicLines(*schema, *PublicBins(*schema, kFineCuts));
    Norms most;
    Sensitivity bound;
    for (const Table& table : OneRowTables(schema, 1)) {
      const BinnedRows rows = Binned(table, kFineCuts);
      // Scores of all sizes; the last is sure of another class.
      for (const double score : {0.0, 0.3, 5.0, -5.0, 50.0}) {
        const auto task = ClassTask(rows.labels(), classes);
        const uint32_t outputs = task->kind().outputs;
        std::vector<double> scores(outputs);
        scores[0] = outputs == 1 ? -score : score;
        ASSERT_OK(task->Add(std::vector<uint32_t>{0}, {scores}));
        Residuals residuals(outputs, std::vector<int32_t>(1));
        task->Fill(residuals);
        const Norms norms = NormsOf(SumAlongLines(rows, lines, residuals));
        most = {std::max(most.l1, norms.l1), std::max(most.l2_squared, norms.l2_squared)};
        bound = LineSensitivity(task->kind().sensitivity, 3);
      }
    }
    EXPECT_LE(most.l1, bound.l1);
    EXPECT_LE(most.l2_squared, bound.l2_squared);
    EXPECT_GT(static_cast<double>(most.l1), 0.999 * static_cast<double>(bound.l1)) << classes;
  }
}

TEST(LineFitTest, NoNumberMovesMomentsOrGradientsByMoreThanTheirSensitivityAndSomeDoByAll) {
  const auto schema = std::make_shared<const Schema>(*Schema::CreateRegression(
      {Numeric("x", 0, 1), Numeric("z", -2, 2)}, "price", {.min = 0, .max = 1}));
  const std::vector<Line> lines = PublicLines(*schema, *PublicBins(*schema, kFineCuts));
  const Sensitivity moments = MomentSensitivity(3);
  Norms most_of_moments, most;
  Sensitivity bound;
  for (const double x : {0.0, 0.3, 1.0, kMissingValue}) {
    for (const double z : {-2.0, 0.1, 2.0, kMissingValue}) {
      for (const double price : {0.0, 0.4, 0.5, 1.0}) {
        Table table(schema);
        table.AppendTarget({x, z}, price);
        const BinnedRows rows = Binned(table, kFineCuts);
        const Norms of_moments = NormsOf(SumMoments(rows, lines));
        const auto task = NumberTask(rows.targets(), kTargetSteps / 2.0, kTargetSteps / 8.0);
        Residuals residuals(1, std::vector<int32_t>(1));
        task->Fill(residuals);
        const Norms norms = NormsOf(SumAlongLines(rows, lines, residuals));
        bound = LineSensitivity(task->kind().sensitivity, 3);
        most = {std::max(most.l1, norms.l1), std::max(most.l2_squared, norms.l2_squared)};
        most_of_moments = {std::max(most_of_moments.l1, of_moments.l1),
                           std::max(most_of_moments.l2_squared, of_moments.l2_squared)};
      }
    }
  }
  EXPECT_EQ(most.l1, bound.l1);
  EXPECT_EQ(most.l2_squared, bound.l2_squared);
  EXPECT_EQ(most_of_moments.l1, moments.l1);
  EXPECT_EQ(most_of_moments.l2_squared, moments.l2_squared);
}

// Rows whose number is a line of two columns, all within the reach: one step finds it but for the
// ridge, and the following ones the rest.
TEST(LineFitTest, NumbersOnALineAreFoundWithoutNoise) {
  const auto schema = std::make_shared<const Schema>(*Schema::CreateRegression(
      {Numeric("x", 0, 1), Numeric("z", -2, 2)}, "price", {.min = 0, .max = 1}));
  Table table(schema);
  for (int i = 0; i < 2000; ++i) {
    const double x = i % 40 / 39.0, z = i % 50 / 49.0 * 4 - 2;
    table.AppendTarget({x, z}, 0.5 + 0.2 * (x - 0.5) - 0.05 * z);
  }
  const BinnedRows rows = Binned(table, 127);
  const std::vector<Line> lines = PublicLines(*schema, rows.bins());
  const auto task = NumberTask(rows.targets(), kTargetSteps / 2.0, kTargetSteps / 4.0);
  SeededRandom random(1);
  PrivateReleaser releaser(random);
  const BudgetShare none = BudgetShare::WithoutPrivacy();
  ASSERT_OK_AND_ASSIGN(const FittedLines fitted,
                       FitLines(rows, lines, {.moments = none, .step = none, .steps = 8},
                                kResidualUnit, *task, releaser));
  EXPECT_NEAR(fitted.constant.weights[0][0], 0, 0.01);
  // From the middle to the end x moves the number by .1 and z by .1, which are .4 of the reach.
  EXPECT_NEAR(fitted.lines[0].weights[0][0], -0.4, 0.02);
  EXPECT_NEAR(fitted.lines[1].weights[0][0], 0.4, 0.02);
  Residuals residuals(1, std::vector<int32_t>(table.num_rows()));
  task->Fill(residuals);
  for (const int32_t residual : residuals[0]) EXPECT_LT(std::abs(residual), kResidualUnit / 10);
}

TEST(LineFitTest, RowsWithoutALabelCountNothing) {
  const auto schema = std::make_shared<const Schema>(TwoLines(2));
  const std::vector<Line> lines = PublicLines(*schema, *PublicBins(*schema, 7));
  Table table(schema);
  table.Append(Row{0.1, 0, 1}, kUnlabelled);
  EXPECT_THAT(SumMoments(Binned(table, 7), lines), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(LineFitTest, SlopesTakeTheSumsAwayThatTheyWereSolvedFor) {
  // Moments of 1000 rows whose line alternates between -64 and 64: 1000 and 250 rows.
  const int64_t unit = int64_t{kLineUnit} * kLineUnit;
  const Curvature curvature({.sums = {1000 * unit, 0, 250 * unit}, .scale = 0}, 2);
  const std::vector<double> slopes = curvature.Solve({100, -50});
  EXPECT_NEAR(slopes[0], 0.1, 0.001);
  EXPECT_NEAR(slopes[1], -0.2, 0.001);
}

TEST(LineFitTest, MomentsThatNoiseMadeImpossibleAreMadePossible) {
  const int64_t unit = int64_t{kLineUnit} * kLineUnit;
  const Curvature curvature({.sums = {-1000 * unit, 70 * unit, -20 * unit}, .scale = 10}, 2);
  for (const double slope : curvature.Solve({1, 1})) EXPECT_TRUE(std::isfinite(slope));
}

// Moments whose triangular factor has ones on its diagonal and `below` under it, except for the
// ridge, which is 1 without noise. Solutions grow by that factor from term to term.
Measurement SteepMoments(size_t terms, int64_t below) {
  Measurement moments;
  for (size_t i = 0; i < terms; ++i) {
    for (size_t j = i; j < terms; ++j) {
      const auto shared = static_cast<int64_t>(i) * below * below;
      const int64_t moment = i == j ? shared : shared + below;
      moments.sums.push_back(moment * kLineUnit * kLineUnit);
    }
  }
  return moments;
}

TEST(LineFitTest, SlopesAreClampedHoweverNoisyTheMoments) {
  constexpr size_t kTerms = kMaxLines + 1;
  const Curvature curvature(SteepMoments(kTerms, 1 << 20), kTerms);
  std::vector<double> sums(kTerms, -1e12);
  sums[0] = 1e12;
  double steepest = 0;
  for (const double slope : curvature.Solve(sums)) {
    EXPECT_LE(std::abs(slope), kMaxSlope);  // false for a slope that is not a number
    steepest = std::max(steepest, std::abs(slope));
  }
  EXPECT_EQ(steepest, kMaxSlope);
}

}  // namespace
}  // namespace coppice::trainers
