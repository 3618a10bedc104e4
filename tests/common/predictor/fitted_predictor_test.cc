#include "common/predictor/fitted_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/predictor/stack.h"
#include "tests/common/predictor/rows.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::ClassTable;
using ::coppice::testing::MixedFeatures;
using ::coppice::testing::MixedRows;
using ::coppice::testing::NumberTable;
using ::coppice::testing::Numeric;
using ::coppice::testing::RandomLabels;
using ::coppice::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;

// A class that depends on two features together, and in one of ten rows on nothing.
Table Diagonal(size_t rows, uint64_t seed) {
  PublicRandom random(seed);
  std::vector<Row> values;
  std::vector<uint32_t> labels;
  for (size_t i = 0; i < rows; ++i) {
    values.push_back({random.Unit(), random.Unit(), random.Unit()});
    const bool above = values.back()[0] > values.back()[1];
    labels.push_back(random.Below(10) == 0 ? static_cast<uint32_t>(random.Below(2)) : above);
  }
  return ClassTable({Numeric("x", 0, 1), Numeric("y", 0, 1), Numeric("z", 0, 1)}, 2, values,
                    labels);
}

Table Slope(size_t rows, uint64_t seed) {
  PublicRandom random(seed);
  std::vector<Row> values;
  std::vector<double> numbers;
  for (size_t i = 0; i < rows; ++i) {
    values.push_back({random.Unit(), random.Unit()});
    numbers.push_back(1e6 + 1000 * values.back()[0] + 100 * random.Unit());
  }
  return NumberTable({Numeric("x", 0, 1), Numeric("y", 0, 1)}, {.min = 0, .max = 1e7}, values,
                     numbers);
}

double AccuracyOf(const std::vector<double>& scores, const Table& table) {
  const size_t columns = table.schema().num_classes();
  double right = 0;
  for (size_t i = 0; i < table.num_rows(); ++i) {
    const double* of_row = &scores[i * columns];
    right += std::max_element(of_row, of_row + columns) - of_row == table.label(i) ? 1 : 0;
  }
  return right / static_cast<double>(table.num_rows());
}

FittedPredictor FitOrDie(const Table& rows, const PredictorOptions& options = {}) {
  StatusOr<FittedPredictor> fitted = FitPredictor(rows, options);
  EXPECT_TRUE(fitted.ok()) << fitted.status();
  return *std::move(fitted);
}

void ExpectFinite(const FittedPredictor& fitted, const Table& rows) {
  const size_t scores = rows.num_rows() * ScoreColumns(rows.schema());
  EXPECT_EQ(fitted.held_out.size(), scores);
  for (const double score : fitted.held_out) EXPECT_TRUE(std::isfinite(score));
  for (const double score : fitted.predictor.ScoresOf(rows)) EXPECT_TRUE(std::isfinite(score));
  EXPECT_TRUE(std::isfinite(fitted.held_out_loss));
  EXPECT_TRUE(fitted.predictor.ToModel({}).ok());
}

TEST(FitPredictorTest, PredictsRowsThatItHasNotSeen) {
  const FittedPredictor fitted = FitOrDie(Diagonal(200, 1));
  const Table test = Diagonal(2000, 2);
  const std::vector<double> scores = fitted.predictor.ScoresOf(test);
  EXPECT_GT(AccuracyOf(scores, test), 0.88);  // at most .95
  EXPECT_LT(MeanLogLoss(scores, test.labels(), 2), 0.35);
  EXPECT_NEAR(fitted.held_out_loss, MeanLogLoss(scores, test.labels(), 2), 0.07);
}

TEST(FitPredictorTest, PredictsNumbersInTheTargetsUnit) {
  const FittedPredictor fitted = FitOrDie(Slope(200, 1));
  const Table test = Slope(1000, 2);
  const double error = std::sqrt(MeanSquaredError(fitted.predictor.ScoresOf(test), test.targets()));
  EXPECT_LT(error, 50) << "of a deviation of 290; the noise alone is 29";
  EXPECT_NEAR(std::sqrt(fitted.held_out_loss), error, 10);
  EXPECT_NEAR(std::sqrt(MeanSquaredError(fitted.held_out, Slope(200, 1).targets())),
              std::sqrt(fitted.held_out_loss), 1e-6);
}

TEST(FitPredictorTest, HeldOutScoresDoNotKnowTheLabelsOfTheirRows) {
  // Labels that nothing predicts: the served predictor repeats them, held-out scores cannot.
  PublicRandom random(3);
  std::vector<Row> rows;
  for (int i = 0; i < 300; ++i) rows.push_back({random.Unit(), random.Unit()});
  const Table table =
      ClassTable({Numeric("x", 0, 1), Numeric("y", 0, 1)}, 2, rows, RandomLabels(300, 2, 4));
  const FittedPredictor fitted = FitOrDie(table);
  EXPECT_LT(AccuracyOf(fitted.held_out, table), 0.6);
  EXPECT_GT(fitted.held_out_loss, std::log(2) - 0.02);
}

TEST(FitPredictorTest, FoldsHaveTheirShareOfEveryClass) {
  const Table table = Diagonal(203, 6);
  const FittedPredictor fitted = FitOrDie(table);
  std::vector<std::vector<int>> counts(5, std::vector<int>(2));
  for (size_t i = 0; i < table.num_rows(); ++i) ++counts[fitted.fold_of_row[i]][table.label(i)];
  for (uint32_t k = 0; k < 2; ++k) {
    int least = 1000, most = 0;
    for (const std::vector<int>& fold : counts) {
      least = std::min(least, fold[k]);
      most = std::max(most, fold[k]);
    }
    EXPECT_LE(most - least, 1);
  }
}

TEST(FitPredictorTest, ThreadsChangeNothing) {
  for (const Table& table : {Diagonal(80, 7), Slope(80, 7)}) {
    const FittedPredictor one = FitOrDie(table, {.seed = 9});
    for (const uint32_t threads : {2u, 7u}) {
      const FittedPredictor several = FitOrDie(table, {.seed = 9, .threads = threads});
      EXPECT_EQ(one.held_out, several.held_out);
      EXPECT_EQ(one.fold_of_row, several.fold_of_row);
      EXPECT_EQ(*one.predictor.ToModel({}), *several.predictor.ToModel({}));
    }
  }
}

TEST(FitPredictorTest, AnotherSeedGivesAnotherPredictor) {
  const Table table = Diagonal(80, 7);
  EXPECT_NE(FitOrDie(table, {.seed = 1}).held_out, FitOrDie(table, {.seed = 2}).held_out);
}

TEST(FitPredictorTest, SaysWhatEveryLearnerIsWorth) {
  const FittedPredictor fitted = FitOrDie(Diagonal(200, 1));
  ASSERT_EQ(fitted.learners.size(), 7u);
  double weights = 0;
  for (const LearnerReport& learner : fitted.learners) {
    EXPECT_GE(learner.weight, 0);
    EXPECT_EQ(learner.weight > 0, learner.trees > 0) << learner.name;
    EXPECT_GE(learner.leaves, learner.trees);
    EXPECT_GT(learner.held_out_loss, 0);
    weights += learner.weight;
  }
  EXPECT_NEAR(weights, 1, 0.3);
  EXPECT_EQ(fitted.held_out_loss, fitted.unbounded_held_out_loss);
}

TEST(FitPredictorTest, ASmallerModelLosesLittle) {
  const Table table = Diagonal(200, 1);
  const FittedPredictor whole = FitOrDie(table, {.max_model_bytes = 100'000'000});
  for (const size_t bytes : {100'000, 30'000, 10'000}) {
    const FittedPredictor bounded = FitOrDie(table, {.max_model_bytes = bytes});
    EXPECT_LE(bounded.predictor.model_bytes(), bytes);
    EXPECT_LT(bounded.held_out_loss, whole.held_out_loss + 0.05);
  }
}

TEST(FitPredictorTest, OneClassInAllRowsIsPredictedWithoutCertainty) {
  for (const uint32_t classes : {2u, 3u}) {
    const Table table =
        ClassTable(MixedFeatures(), classes, MixedRows(50, 1), std::vector<uint32_t>(50, 1));
    const FittedPredictor fitted = FitOrDie(table);
    ExpectFinite(fitted, table);
    std::vector<double> p = fitted.predictor.ScoresOf(table);
    Softmax(absl::MakeSpan(p).first(classes));
    EXPECT_GT(p[1], 1.0 / classes);
    EXPECT_LT(p[1], 0.99);
    EXPECT_EQ(fitted.predictor.trees().size(), 0u) << "no learner tells rows apart";
  }
}

TEST(FitPredictorTest, AClassWithoutRowsIsTheLeastLikely) {
  const Table table = ClassTable(MixedFeatures(), 4, MixedRows(90, 2), RandomLabels(90, 3, 3));
  const FittedPredictor fitted = FitOrDie(table);
  ExpectFinite(fitted, table);
  const std::vector<double> scores = fitted.predictor.ScoresOf(table);
  double with_rows = 0, without = 0;
  for (size_t i = 0; i < 90; ++i) {
    with_rows += (scores[4 * i] + scores[4 * i + 1] + scores[4 * i + 2]) / 3;
    without += scores[4 * i + 3];
  }
  EXPECT_LT(without, with_rows);
}

TEST(FitPredictorTest, EqualNumbersArePredicted) {
  const Table table = NumberTable(MixedFeatures(), {.min = 0, .max = 100}, MixedRows(30, 4),
                                  std::vector<double>(30, 0.1 + 0.2));
  const FittedPredictor fitted = FitOrDie(table);
  ExpectFinite(fitted, table);
  for (const double number : fitted.predictor.ScoresOf(table)) EXPECT_NEAR(number, 0.3, 1e-9);
}

TEST(FitPredictorTest, AFewRowsAreHeldOutOneByOne) {
  for (const size_t rows : {1, 2, 3, 5, 19}) {
    const Table classes =
        ClassTable(MixedFeatures(), 3, MixedRows(rows, 5), RandomLabels(rows, 3, 6));
    const FittedPredictor fitted = FitOrDie(classes);
    ExpectFinite(fitted, classes);
    const std::set<uint32_t> folds(fitted.fold_of_row.begin(), fitted.fold_of_row.end());
    EXPECT_EQ(folds.size(), rows);
    const Table numbers = Slope(rows, 7);
    ExpectFinite(FitOrDie(numbers), numbers);
  }
}

TEST(FitPredictorTest, RowsWithoutAnyValueGetTheClassesOdds) {
  const std::vector<Row> rows(60, Row(3, kMissingValue));
  const Table table = ClassTable(MixedFeatures(), 2, rows, RandomLabels(60, 2, 8));
  const FittedPredictor fitted = FitOrDie(table);
  ExpectFinite(fitted, table);
}

TEST(FitPredictorTest, ManyCategoriesAndManyClassesAreLearned) {
  std::vector<std::string> values;
  for (int i = 0; i < 500; ++i) values.push_back(std::to_string(i));
  PublicRandom random(9);
  std::vector<Row> rows;
  std::vector<uint32_t> labels;
  for (int i = 0; i < 200; ++i) {
    rows.push_back({static_cast<double>(random.Below(501))});
    labels.push_back(rows.back()[0] < 20 ? 1 : 0);
  }
  const Table categories = ClassTable({Categorical("c", values)}, 2, rows, labels);
  ExpectFinite(FitOrDie(categories), categories);
  const Table classes = ClassTable({Categorical("c", values)}, 90, rows, RandomLabels(200, 90, 1));
  const FittedPredictor fitted = FitOrDie(classes);
  ExpectFinite(fitted, classes);
  EXPECT_EQ(fitted.learners.size(), 4u) << "forests only";
}

TEST(FitPredictorTest, HugeNumbersStayFinite) {
  std::vector<Row> rows;
  std::vector<double> numbers;
  for (int i = 0; i < 40; ++i) {
    rows.push_back({i % 2 == 0 ? -1e300 : 1e300});
    numbers.push_back(i % 2 == 0 ? -1e100 : 1e100);
  }
  const Table table =
      NumberTable({Numeric("x", -1e300, 1e300)}, {.min = -1e101, .max = 1e101}, rows, numbers);
  const FittedPredictor fitted = FitOrDie(table);
  ExpectFinite(fitted, table);
  EXPECT_GT(fitted.predictor.ScoresOf(table)[1], 0.8e100);
}

TEST(FitPredictorTest, RefusesWhatItCannotLearnFrom) {
  const Table none = ClassTable(MixedFeatures(), 2, {}, {});
  EXPECT_THAT(FitPredictor(none, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no public row")));
  const Table unlabelled = ClassTable(MixedFeatures(), 2, MixedRows(3, 1), {0, kUnlabelled, 1});
  EXPECT_THAT(FitPredictor(unlabelled, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("public row 2 has no label")));
  Table many(std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 1)}, "label", [] {
    std::vector<std::string> names;
    for (size_t k = 0; k < kMaxClasses; ++k) names.push_back(std::to_string(k));
    return names;
  }())));
  for (size_t i = 0; i <= kMaxHeldOutScores / kMaxClasses; ++i) many.Append(Row{0}, 0);
  EXPECT_THAT(FitPredictor(many, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("give at most 1024 rows")));
}

TEST(FitPredictorTest, StopsWhenCancelled) {
  const CancelCheck cancel([] { return Status(StatusCode::kCancelled, "nobody waits"); });
  for (const uint32_t threads : {1u, 3u}) {
    EXPECT_THAT(FitPredictor(Diagonal(50, 1), {.threads = threads}, cancel),
                StatusIs(StatusCode::kCancelled, HasSubstr("nobody waits")));
  }
}

}  // namespace
}  // namespace coppice
