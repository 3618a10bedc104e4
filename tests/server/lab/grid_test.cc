#include "server/lab/grid.h"

#include <cmath>
#include <cstdint>

#include "common/base/status.h"
#include "server/lab/report.h"
#include "tests/support/status_matchers.h"

namespace coppice::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

RunResult TwoCells() {
  RunResult result;
  result.cells.resize(2);
  for (GridCell& cell : result.cells) {
    cell.scores.Resize(4);
    cell.scores.majority = {0.5, 0.5, 0.5, 0.5};
  }
  result.cells[0].scores.accuracy = {0.9, 0.1, 0.8, 0.2};  // better on the even half
  result.cells[1].scores.accuracy = {0.5, 0.6, 0.4, 0.7};  // better on the odd half, and overall
  result.classes = {"no", "yes"};
  return result;
}

RunOptions SmallRun() {
  RunOptions options;
  options.grid = {.depths = {1, 3},
                  .min_leaves = {1, 5},
                  .estimators = {{.lambda = 0}, {.lambda = 1}, {.lambda = 10}}};
  options.repeats = 5;
  return options;
}

RowSource SmallRows() {
  return SyntheticRows({.gamma = 0.5, .private_rows = 400, .public_rows = 60, .test_rows = 100});
}

TEST(SummaryTest, IsMeanDeviationAndStandardError) {
  const curves::Summary summary = curves::Summarize({1, 2, 3, 6});
  EXPECT_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(summary.deviation, std::sqrt(14.0 / 3));
  EXPECT_DOUBLE_EQ(summary.standard_error(), std::sqrt(14.0 / 12));
  EXPECT_EQ(curves::Summarize({7}).deviation, 0);
}

// One repetition has the interval of its rows. Many that agree must not narrow it, and many that
// differ widen it.
TEST(MeanGainTest, RepetitionsDoNotHideWhatTheRowsLeaveOpen) {
  const ConfidenceInterval open = {.low = -0.01, .high = 0.03};
  const curves::MeanGain one = curves::MeanGainOf({0.01}, {open});
  EXPECT_NEAR(one.interval.low, -0.01, 1e-12);
  EXPECT_NEAR(one.interval.high, 0.03, 1e-12);
  const std::vector<ConfidenceInterval> four(4, open);
  EXPECT_NEAR(curves::MeanGainOf({0.01, 0.01, 0.01, 0.01}, four).interval.low, -0.01, 1e-12);
  const curves::MeanGain apart = curves::MeanGainOf({-0.01, 0.03, -0.01, 0.03}, four);
  EXPECT_NEAR(apart.gain, 0.01, 1e-12);
  const double spread = 1.96 * curves::Summarize({-0.01, 0.03, -0.01, 0.03}).standard_error();
  EXPECT_NEAR(apart.interval.high, 0.01 + std::hypot(0.02, spread), 1e-4);
}

TEST(GridTest, BestCellHasTheBestMean) {
  const RunResult result = TwoCells();
  EXPECT_EQ(&BestCell(result), &result.cells[1]);
}

TEST(GridTest, SplitHalfScoresEachHalfInTheOtherHalfsBestCell) {
  EXPECT_THAT(SplitHalfAccuracies(TwoCells()), ElementsAre(0.5, 0.1, 0.4, 0.2));
}

TEST(GridTest, RunsEveryCellInEveryRepetition) {
  ASSERT_OK_AND_ASSIGN(const RunResult result, RunGrid(SmallRows(), SmallRun(), [](uint32_t) {}));
  ASSERT_EQ(result.cells.size(), 12u);
  EXPECT_EQ(result.cells[5].depth, 1u);
  EXPECT_EQ(result.cells[5].min_leaf, 5u);
  EXPECT_EQ(result.cells[5].estimator.lambda, 10);
  for (const GridCell& cell : result.cells) {
    ASSERT_EQ(cell.scores.accuracy.size(), 5u);
    for (const double accuracy : cell.scores.accuracy) EXPECT_TRUE(accuracy > 0 && accuracy < 1);
    for (const double leaves : cell.leaves) EXPECT_LE(leaves, cell.depth == 1 ? 2 : 8);
  }
}

TEST(GridTest, ThreadsDoNotChangeTheRows) {
  RunOptions options = SmallRun();  // no epsilon: counts are exact, so the seed decides all
  options.threads = 1;
  ASSERT_OK_AND_ASSIGN(const RunResult one, RunGrid(SmallRows(), options, [](uint32_t) {}));
  options.threads = 4;
  ASSERT_OK_AND_ASSIGN(const RunResult four, RunGrid(SmallRows(), options, [](uint32_t) {}));
  for (size_t i = 0; i < one.cells.size(); ++i) {
    EXPECT_EQ(one.cells[i].scores.accuracy, four.cells[i].scores.accuracy);
    EXPECT_EQ(one.cells[i].scores.auc, four.cells[i].scores.auc);
    EXPECT_EQ(one.cells[i].scores.majority, four.cells[i].scores.majority);
  }
}

TEST(GridTest, ProgressCountsEveryRepetitionOnce) {
  std::vector<uint32_t> seen;
  ASSERT_OK(RunGrid(SmallRows(), SmallRun(), [&](uint32_t done) { seen.push_back(done); }));
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5));
}

TEST(GridTest, AnErrorOfOneRepetitionIsTheRunsError) {
  RunOptions options = SmallRun();
  options.grid.min_leaves = {0};
  EXPECT_THAT(RunGrid(SmallRows(), options, [](uint32_t) {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("min_leaf")));
  options.grid.min_leaves.clear();
  EXPECT_THAT(RunGrid(SmallRows(), options, [](uint32_t) {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least one cell")));
}

TEST(ReportTest, SaysFirstWhetherTheMajorityIsBeaten) {
  curves::RepeatedClassScores scores;
  scores.Resize(2);
  scores.majority = {0.888, 0.888};
  scores.gain = {0.001, 0.003};
  scores.gain_interval = {{-0.01, 0.012}, {-0.01, 0.012}};
  nlohmann::ordered_json report;
  AddClassScores(scores, {"no", "yes"}, report);
  EXPECT_EQ(report.begin().key(), "verdict");
  EXPECT_EQ(report["verdict"],
            "No better than always answering no, which is right on 0.888 of these rows.");
  EXPECT_EQ(report["majority"], 0.888);
  scores.majority_class = {0, 1};
  scores.gain_interval = {{0.01, 0.02}, {0.01, 0.02}};
  AddClassScores(scores, {"no", "yes"}, report);
  EXPECT_THAT(report["verdict"].get<std::string>(),
              HasSubstr("Better than always answering the most frequent class (0.888)"));
}

TEST(ReportTest, MarksAGridAsTunedAndWritesInfinityAsText) {
  RunResult result = TwoCells();
  for (GridCell& cell : result.cells) {
    cell.estimator.lambda = std::numeric_limits<double>::infinity();
    cell.leaves = cell.report_bytes = cell.fit_seconds = cell.fit_cpu_seconds = {1, 1, 1, 1};
  }
  RunOptions options;
  options.repeats = 4;
  const nlohmann::ordered_json tuned = LocalReport(options, result, true);
  EXPECT_EQ(tuned["tuned_on_test"], true);
  EXPECT_EQ(tuned["lambda"], "inf");
  EXPECT_EQ(tuned["epsilon"], "inf");
  EXPECT_EQ(tuned["accuracy"]["n"], 4);
  EXPECT_DOUBLE_EQ(tuned["accuracy"]["mean"].get<double>(), 0.55);
  EXPECT_DOUBLE_EQ(tuned["accuracy_split_half"]["mean"].get<double>(), 0.3);
  const nlohmann::ordered_json plain = LocalReport(options, result, false);
  EXPECT_FALSE(plain.contains("tuned_on_test"));
  EXPECT_THAT(ReportText(plain), HasSubstr("lambda"));
}

}  // namespace
}  // namespace coppice::lab
