#include "client/cli/models/predict.h"

#include <fstream>
#include <limits>

#include "common/base/status.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::SampleTerms;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

// Writes a file of this many rows, without the label's column.
std::string FileOf(const TempDir& folder, size_t rows) {
  const std::string path = folder.path() + "/rows.csv";
  std::ofstream file(path);
  file << SampleTerms().schema->features()[0].name << "\n";
  for (size_t i = 0; i < rows; ++i) file << "5\n";
  return path;
}

// Answers class 1 for every row.
Status Ones(const v1::StreamPredictionsRequest& request, v1::StreamPredictionsResponse& response) {
  for (int i = 0; i < request.rows_size(); ++i) {
    v1::Prediction& prediction = *response.add_predictions();
    prediction.set_label(1);
    prediction.add_probabilities(0.25);
    prediction.add_probabilities(0.75);
  }
  return OkStatus();
}

StatusOr<ReadNotes> PredictRows(size_t rows, const PredictBlock& call, const OnPrediction& done) {
  const TempDir folder;
  return PredictFile(FileOf(folder, rows), {.ignore_labels = true}, "models/m1",
                     SampleTerms().schema, call, done);
}

TEST(PredictTest, CallsStayWithinTheServersLimits) {
  EXPECT_EQ(RowsPerCall(1), 10'000);
  EXPECT_LE(RowsPerCall(1000) * 8000, 3 << 20);
  EXPECT_EQ(RowsPerCall(10'000'000), 1);
}

TEST(PredictTest, EveryRowIsAnsweredOnceAndInOrderWithoutALabel) {
  int calls = 0;
  size_t next = 0;
  ASSERT_OK(PredictRows(
                10'001,
                [&](const v1::StreamPredictionsRequest& request,
                    v1::StreamPredictionsResponse& response) {
                  ++calls;
                  EXPECT_EQ(request.name(), "models/m1");
                  return Ones(request, response);
                },
                [&](size_t row, const Table& block, size_t in_block, const v1::Prediction&) {
                  EXPECT_EQ(row, next++);
                  EXPECT_EQ(block.value(in_block, 0), 5);
                })
                .status());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(next, 10'001);
}

TEST(PredictTest, AnErrorOfTheCuratorIsPassedOnAsItIs) {
  const auto gone = [](const auto&, auto&) { return NotFoundError("there is no model m1"); };
  const auto ignore = [](size_t, const Table&, size_t, const v1::Prediction&) {};
  for (const size_t rows : {2, 10'001}) {
    EXPECT_EQ(PredictRows(rows, gone, ignore).status(), NotFoundError("there is no model m1"));
  }
}

TEST(PredictTest, AnswerThatDoesNotFitIsDataLoss) {
  const auto ignore = [](size_t, const Table&, size_t, const v1::Prediction&) {};
  const auto too_few = [](const auto&, auto&) { return OkStatus(); };
  EXPECT_THAT(PredictRows(2, too_few, ignore).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("0 rows where 2")));
  const auto strange = [](const v1::StreamPredictionsRequest& request,
                          v1::StreamPredictionsResponse& response) {
    Ones(request, response).IgnoreError();
    response.mutable_predictions(0)->set_label(2);
    return OkStatus();
  };
  EXPECT_THAT(PredictRows(2, strange, ignore).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("classes")));
}

TEST(PredictTest, PredictionIsDescribedInTheSchemasWords) {
  v1::Prediction prediction;
  prediction.set_label(1);
  prediction.add_probabilities(0.25);
  prediction.add_probabilities(0.75);
  prediction.set_standard_error(std::numeric_limits<double>::infinity());
  prediction.set_confidence(0.5);
  prediction.set_low(-std::numeric_limits<double>::infinity());
  prediction.set_high(std::numeric_limits<double>::infinity());
  const Schema schema = *SampleTerms().schema;
  EXPECT_EQ(JsonLine(DescribePrediction(0, prediction, schema, 0.5)),
            R"({"row":1,"label":"yes","probability":0.75,"low":0.0,"high":1.0,)"
            R"("standard_error":null,"confidence":0.5})");
  prediction.set_standard_error(0.05);
  prediction.set_low(0.652);
  prediction.set_high(0.848);
  const Json known = DescribePrediction(0, prediction, schema, 0.5);
  EXPECT_NEAR(known["low"].get<double>(), 0.652, 1e-9);
  EXPECT_NEAR(known["high"].get<double>(), 0.848, 1e-9);
}

TEST(PredictTest, NoLabelBelowTheConfidenceAskedFor) {
  v1::Prediction prediction;
  prediction.add_probabilities(0.6);
  prediction.add_probabilities(0.4);
  prediction.set_confidence(0.8);
  const Schema schema = *SampleTerms().schema;
  EXPECT_EQ(DescribePrediction(0, prediction, schema, 0.8)["label"], "no");
  EXPECT_TRUE(DescribePrediction(0, prediction, schema, 0.81)["label"].is_null());
}

// An abstention is an empty field, as "unknown" may be the name of a class.
TEST(PredictTest, PeopleSeeNoWordWhereThereIsNoLabel) {
  v1::Prediction prediction;
  prediction.add_probabilities(0.6);
  prediction.add_probabilities(0.4);
  prediction.set_confidence(0.8);
  Json row = DescribePrediction(0, prediction, *SampleTerms().schema, 0.9);
  EmptyMissingLabel(row);
  EXPECT_THAT(AsTable({row}), HasSubstr("\n1           0.6 "));
  EXPECT_THAT(AsTable({row}), Not(HasSubstr("unknown")));
}

TEST(PredictTest, ProbabilitiesOfAllClasses) {
  v1::Prediction prediction;
  prediction.add_probabilities(0.6);
  prediction.add_probabilities(0.4);
  const Schema schema = *SampleTerms().schema;
  Json for_scripts, for_people;
  AddProbabilities(prediction, schema, /*json=*/true, for_scripts);
  EXPECT_EQ(JsonLine(for_scripts), R"({"probabilities":{"no":0.6,"yes":0.4}})");
  AddProbabilities(prediction, schema, /*json=*/false, for_people);
  EXPECT_EQ(AsTable({for_people}), "p(no)  p(yes)\n0.6    0.4\n");
}

// 1000 rows of which 888 are "no", like a bank's campaign.
ClassScores BankScores() {
  ClassEvaluation evaluation(2);
  const auto add = [&](int rows, uint32_t label, uint32_t predicted) {
    const double p = predicted == 1 ? 0.75 : 0.12;
    for (int i = 0; i < rows; ++i) evaluation.Add(predicted, {1 - p, p}, label);
  };
  add(880, 0, 0);
  add(8, 0, 1);
  add(100, 1, 0);
  add(12, 1, 1);
  evaluation.AddAbstained();
  return evaluation.Scores();
}

TEST(EvaluateTest, TextBeginsWithTheVerdictAndIsATable) {
  EXPECT_EQ(ScoresText(BankScores(), *SampleTerms().schema),
            R"(No better than always answering no, which is right on 0.888 of these rows.
Gain +0.004 (-0.005 to +0.013, 95 %) on 1000 rows; abstained on 1 more.

          this model              always no
accuracy  0.892 (0.871 to 0.910)  0.888
AUC       0.549                   0.500
log loss  0.339                   0.351

true class  predicted no  predicted yes  recall  precision
no          880           8              0.991   0.898
yes         100           12             0.107   0.600

Calibration of the probability of yes (off by 0.021 on average):
probability  rows  predicted  observed
0.1 to 0.2   980   0.120      0.102
0.7 to 0.8   20    0.750      0.600
)");
}

TEST(EvaluateTest, JsonHasTheSameForScripts) {
  const Json json = DescribeScores("m", BankScores(), *SampleTerms().schema);
  EXPECT_EQ(json["model"], "m");
  EXPECT_EQ(json["rows"], 1000);
  EXPECT_EQ(json["abstained"], 1);
  EXPECT_EQ(json["correct"], 892);
  EXPECT_EQ(json["majority_class"], "no");
  EXPECT_EQ(json["verdict"],
            "No better than always answering no, which is right on 0.888 of these rows.");
  EXPECT_LT(json["gain_interval"][0], 0);
  EXPECT_EQ(JsonLine(json["confusion"]), "[[880,8],[100,12]]");
  EXPECT_EQ(json["calibration"].size(), 10u);
  EXPECT_TRUE(json["calibration"][5]["observed"].is_null()) << "no row is in this bin";
  EXPECT_EQ(json["calibration"][7]["observed"], 0.6);
}

TEST(EvaluateTest, NumbersStandBesideTheirMean) {
  NumberEvaluation evaluation(0, 10);
  for (int i = 0; i < 100; ++i) {
    const double target = i % 10;
    evaluation.Add(target + (i % 2 == 0 ? 0.5 : -0.5), target);
  }
  const NumberScores scores = evaluation.Scores();
  const Json json = DescribeScores("m", scores);
  EXPECT_NEAR(json["rmse"], 0.5, 1e-12);
  EXPECT_NEAR(json["mean_value"], 4.5, 1e-12);
  EXPECT_NEAR(json["mean"], 2.8723, 1e-4);
  EXPECT_NEAR(json["r2"], 1 - 0.25 / 8.25, 1e-9);
  const std::string text = ScoresText(scores);
  EXPECT_EQ(text.substr(0, text.find(" by")), "Better than always answering the mean (RMSE 2.872)");
  EXPECT_THAT(text, HasSubstr("always 4.5, the mean\n"));
}

// Only scripts get the matrix of many classes.
TEST(EvaluateTest, ManyClassesAreALineEach) {
  std::vector<std::string> names;
  for (int k = 0; k < 20; ++k) names.push_back("c" + std::to_string(k));
  const Schema schema = *Schema::Create(SampleTerms().schema->features(), "label", names);
  ClassEvaluation evaluation(20);
  evaluation.Add(3, std::vector<double>(20, 0.05), 3);
  const std::string text = ScoresText(evaluation.Scores(), schema);
  EXPECT_THAT(text, HasSubstr("true class  recall  precision\n"));
  EXPECT_THAT(text, HasSubstr("Calibration of the answer's probability"));
}

}  // namespace
}  // namespace coppice::cli
