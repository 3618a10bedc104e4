#include "common/predictor/learner_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/common/predictor/rows.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::ClassTable;
using ::coppice::testing::IsOk;
using ::coppice::testing::MixedFeatures;
using ::coppice::testing::MixedRows;
using ::coppice::testing::NumberTable;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr size_t kRows = 120;
constexpr uint32_t kTestFolds = 3;

// Labels and numbers that follow the second feature, with noise.
double SignalOf(const Row& row, PublicRandom& random) {
  return (IsMissing(row[1]) ? 2 : row[1]) + 3 * random.Unit();
}

class LearnerStackTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  LearnerStackTest() : table_(MakeTable()) {
    if (GetParam() > 0) {
      answers_ = {.labels = table_.labels(), .classes = GetParam()};
    } else {
      answers_ = {.numbers = table_.targets()};
    }
    const SortedFeatures features(table_);
    TreeGrower grower(features);
    for (uint32_t i = 0; i < kRows; ++i) fold_of_row_.push_back(i % kTestFolds);
    for (const LearnerOptions& options : StackedLearners(kRows, 3, GetParam(), kNoLeafLimit)) {
      LearnerFits& fits = fits_.emplace_back();
      for (uint32_t fold = 0; fold <= kTestFolds; ++fold) {
        std::vector<uint32_t> subset;
        for (uint32_t i = 0; i < kRows; ++i) {
          if (fold_of_row_[i] != fold) subset.push_back(i);
        }
        PublicRandom random(1, 10 * fits_.size() + fold);
        FittedLearner fitted = FitLearner(options, answers_, subset, grower, random);
        if (fold < kTestFolds) {
          fits.without_fold.push_back(std::move(fitted));
        } else {
          fits.to_all = std::move(fitted);
        }
      }
    }
  }

  static Table MakeTable() {
    PublicRandom random(7);
    const std::vector<Row> rows = MixedRows(kRows, 8);
    std::vector<uint32_t> labels;
    std::vector<double> numbers;
    for (const Row& row : rows) {
      const double signal = SignalOf(row, random);
      labels.push_back(static_cast<uint32_t>(signal) % std::max(GetParam(), 1u));
      numbers.push_back(signal / 3 - 1);
    }
    if (GetParam() == 0) {
      return NumberTable(MixedFeatures(), {.min = -10, .max = 10}, rows, numbers);
    }
    return ClassTable(MixedFeatures(), GetParam(), rows, labels);
  }

  LearnerStack MakeStack() const { return {table_, answers_, fold_of_row_, fits_}; }

  size_t columns() const { return answers_.columns(); }

  // Sum of weight * temperature * score over the learners, without levels, centred.
  std::vector<double> WeightedScores(const LearnerStack& stack, size_t row, bool held_out) const {
    std::vector<double> sum(columns()), scores(columns());
    for (size_t m = 0; m < fits_.size(); ++m) {
      if (stack.weight(m) == 0) continue;
      const FittedLearner& fitted =
          held_out ? fits_[m].without_fold[fold_of_row_[row]] : fits_[m].to_all;
      fitted.Score(table_.row(row), stack.size(m), absl::MakeSpan(scores));
      for (size_t k = 0; k < columns(); ++k) {
        sum[k] += stack.weight(m) * stack.temperature(m) * scores[k];
      }
    }
    if (columns() > 1) CentreScores(columns(), sum);
    return sum;
  }

  const Table table_;
  LearnerAnswers answers_;
  std::vector<uint32_t> fold_of_row_;
  std::vector<LearnerFits> fits_;
};

INSTANTIATE_TEST_SUITE_P(Answers, LearnerStackTest, ::testing::Values(0, 2, 3));

class NumberStackTest : public LearnerStackTest {};
INSTANTIATE_TEST_SUITE_P(Answers, NumberStackTest, ::testing::Values(0));

TEST_P(LearnerStackTest, ServesTheWeightedLearnersThatSawAllRows) {
  LearnerStack stack = MakeStack();
  for (const size_t bytes : {size_t{10'000'000}, size_t{20'000}}) {
    ASSERT_THAT(stack.ShrinkTo(bytes), IsOk());
    ASSERT_OK_AND_ASSIGN(const PublicPredictor served, stack.Served(0, 1));
    EXPECT_LE(served.model_bytes(), bytes);
    const std::vector<double> scores = served.ScoresOf(table_);
    const std::vector<double> first = WeightedScores(stack, 0, /*held_out=*/false);
    for (size_t row = 1; row < kRows; ++row) {
      const std::vector<double> expected = WeightedScores(stack, row, /*held_out=*/false);
      for (size_t k = 0; k < columns(); ++k) {
        EXPECT_NEAR(scores[row * columns() + k] - scores[k], expected[k] - first[k], 1e-9);
      }
    }
  }
}

TEST_P(LearnerStackTest, HeldOutScoresAreOfLearnersThatDidNotSeeTheRow) {
  LearnerStack stack = MakeStack();
  ASSERT_THAT(stack.ShrinkTo(20'000), IsOk());
  const std::vector<double> first = WeightedScores(stack, 0, /*held_out=*/true);
  for (size_t row = 1; row < kRows; ++row) {
    const std::vector<double> expected = WeightedScores(stack, row, /*held_out=*/true);
    for (size_t k = 0; k < columns(); ++k) {
      EXPECT_NEAR(stack.held_out()[row * columns() + k] - stack.held_out()[k],
                  expected[k] - first[k], 1e-9);
    }
  }
}

TEST_P(LearnerStackTest, TheServedLevelIsThatOfTheHeldOutScores) {
  // Served and held-out scores differ by what learners saw, not by their level: without trees both
  // are the same number for every row.
  LearnerStack stack = MakeStack();
  ASSERT_OK_AND_ASSIGN(const PublicPredictor served, stack.Served(0, 1));
  const std::vector<double> scores = served.ScoresOf(table_);
  for (size_t k = 0; k < columns(); ++k) {
    double served_mean = 0, held_out_mean = 0;
    for (size_t row = 0; row < kRows; ++row) {
      served_mean += scores[row * columns() + k] / kRows;
      held_out_mean += stack.held_out()[row * columns() + k] / kRows;
    }
    EXPECT_NEAR(served_mean, held_out_mean, 0.15);
  }
}

TEST_P(NumberStackTest, NumbersAreServedInTheUnitOfTheTarget) {
  LearnerStack stack = MakeStack();
  ASSERT_OK_AND_ASSIGN(const PublicPredictor standard, stack.Served(0, 1));
  ASSERT_OK_AND_ASSIGN(const PublicPredictor served, stack.Served(3, 0.5));
  const std::vector<double> scores = standard.ScoresOf(table_);
  const std::vector<double> in_unit = served.ScoresOf(table_);
  for (size_t i = 0; i < kRows; ++i) EXPECT_NEAR(in_unit[i], 3 + 0.5 * scores[i], 1e-12);
}

TEST_P(LearnerStackTest, ShrinksToAnySizeAndLosesLittleForHalf) {
  LearnerStack stack = MakeStack();
  ASSERT_OK_AND_ASSIGN(const PublicPredictor whole, stack.Served(0, 1));
  const double loss = stack.held_out_loss();
  ASSERT_THAT(stack.ShrinkTo(whole.model_bytes()), IsOk());
  EXPECT_EQ(stack.held_out_loss(), loss) << "nothing had to go";
  for (size_t bytes = whole.model_bytes() / 2; bytes > 1000; bytes /= 2) {
    ASSERT_THAT(stack.ShrinkTo(bytes), IsOk());
    ASSERT_OK_AND_ASSIGN(const PublicPredictor served, stack.Served(0, 1));
    EXPECT_LE(served.model_bytes(), bytes);
    if (bytes == whole.model_bytes() / 2) {
      EXPECT_LT(stack.held_out_loss(), 1.03 * loss);
    }
  }
}

TEST_P(LearnerStackTest, SaysWhatTheSmallestModelTakes) {
  LearnerStack stack = MakeStack();
  EXPECT_THAT(stack.ShrinkTo(10),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("raise the limit")));
}

}  // namespace
}  // namespace coppice
