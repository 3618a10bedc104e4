// The intervals of private evaluations hold the truth as often as they say, over 300 simulated
// runs: rows drawn anew, noise drawn anew.
//
// Of 300 intervals that each hold it with chance .95, fewer than 261 do with a chance of 2.1e-8;
// there are 20 such checks. Rows and noise are seeded, so that a failure can be repeated.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "server/trainers/evaluation/private_evaluation.h"
#include "tests/server/trainers/evaluation/staircase.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr int kRuns = 300;
constexpr int kFewest = 261;

struct Tally {
  const char* what;
  double truth;
  int held = 0;
  double width = 0;

  void Add(const Estimate& estimate) {
    held += estimate.interval.low <= truth && truth <= estimate.interval.high ? 1 : 0;
    width += estimate.interval.high - estimate.interval.low;
  }
  void Check() const {
    std::printf("%s: %d of %d hold %.4f, half width %.4f\n", what, held, kRuns, truth,
                width / kRuns / 2);
    EXPECT_GE(held, kFewest) << what;
  }
};

const std::vector<double> kStairs = {0.02, 0.05, 0.1, 0.3, 0.6, 0.9};

double TrueAccuracy() {
  double sum = 0;
  for (const double p : kStairs) sum += std::max(p, 1 - p);
  return sum / static_cast<double>(kStairs.size());
}

double TrueRecallOfYes() {
  double found = 0, all = 0;
  for (const double p : kStairs) {
    all += p;
    if (p > 0.5) found += p;
  }
  return found / all;
}

double TrueArea() {
  double pairs = 0, above = 0;
  for (const double p : kStairs) {
    for (const double q : kStairs) {
      pairs += p * (1 - q);
      above += p * (1 - q) * (p > q ? 1 : p == q ? 0.5 : 0);
    }
  }
  return above / pairs;
}

struct Setting {
  double epsilon;
  size_t rows;
};

class EvaluationCoverageTest : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(All, EvaluationCoverageTest,
                         ::testing::Values(Setting{0.05, 3000}, Setting{0.5, 3000}, Setting{8, 200},
                                           Setting{1, 60}));

TEST_P(EvaluationCoverageTest, OfClasses) {
  const auto schema = ClassesSchema();
  const Model model = TwoClassStairs(*schema, kStairs);
  ASSERT_OK_AND_ASSIGN(
      const EvaluationPlan plan,
      PlanEvaluation(*schema, {.epsilon_nanos = static_cast<uint64_t>(GetParam().epsilon * 1e9)}));
  Tally accuracy{"accuracy", TrueAccuracy()}, recall{"recall", TrueRecallOfYes()};
  Tally area{"area", TrueArea()};
  std::mt19937_64 engine(7);
  for (int run = 0; run < kRuns; ++run) {
    const Table rows = CalibratedRows(schema, kStairs, GetParam().rows, engine);
    SeededRandom random(1000 + static_cast<uint64_t>(run));
    PrivateReleaser releaser(random);
    ASSERT_OK_AND_ASSIGN(const EvaluationSums sums,
                         EvaluatePrivately(BlocksOfTable(rows), model, plan, releaser));
    const GroupScores scores = ScoresOf(plan, sums).all;
    accuracy.Add(scores.accuracy);
    recall.Add(scores.recall[1]);
    area.Add(*scores.auc);
  }
  for (const Tally& tally : {accuracy, recall, area}) tally.Check();
}

TEST_P(EvaluationCoverageTest, OfNumbers) {
  const auto schema = NumbersSchema();
  const Model model = Staircase(*schema, {{0.7, 0.3}, {0.4, 0.6}});  // 3 and 6
  ASSERT_OK_AND_ASSIGN(
      const EvaluationPlan plan,
      PlanEvaluation(
          *schema, {.epsilon_nanos = static_cast<uint64_t>(GetParam().epsilon * 1e9), .reach = 4}));
  // Errors are 0, 1, 2 or 3, equally often; a tenth of them is 8, which counts as 4.
  const double mae = 0.9 * 1.5 + 0.1 * 4, mse = 0.9 * 3.5 + 0.1 * 16;
  Tally absolute{"mae", mae}, squared{"rmse", std::sqrt(mse)};
  std::mt19937_64 engine(7);
  for (int run = 0; run < kRuns; ++run) {
    Table rows(schema);
    for (size_t i = 0; i < GetParam().rows; ++i) {
      const bool first = engine() % 2 == 0;
      const auto error = static_cast<double>(engine() % 10 == 0 ? 4 : engine() % 4);
      rows.AppendTarget({first ? 0.2 : 0.8, 0}, first ? 3 + error : 6 - error);
    }
    SeededRandom random(1000 + static_cast<uint64_t>(run));
    PrivateReleaser releaser(random);
    ASSERT_OK_AND_ASSIGN(const EvaluationSums sums,
                         EvaluatePrivately(BlocksOfTable(rows), model, plan, releaser));
    const GroupScores scores = ScoresOf(plan, sums).all;
    absolute.Add(scores.mae);
    squared.Add(scores.rmse);
  }
  absolute.Check();
  squared.Check();
}

}  // namespace
}  // namespace coppice::trainers
