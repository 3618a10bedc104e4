#include "client/cli/predict.h"

#include <limits>

#include "tests/client/sample_study.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::SampleTerms;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

Table TableOf(size_t rows) {
  Table table(SampleTerms().schema);
  for (size_t i = 0; i < rows; ++i) table.Append(Row{5}, 0);
  return table;
}

// Answers class 1 for every row.
absl::Status Ones(const v1::PredictRequest& request, v1::PredictResponse& response) {
  for (int i = 0; i < request.rows_size(); ++i) {
    v1::Prediction& prediction = *response.add_predictions();
    prediction.set_label(1);
    prediction.add_probabilities(0.25);
    prediction.add_probabilities(0.75);
  }
  return absl::OkStatus();
}

TEST(PredictTest, CallsStayWithinTheServersLimits) {
  EXPECT_EQ(RowsPerCall(1), 10'000);
  EXPECT_LE(RowsPerCall(1000) * 8000, 3 << 20);
  EXPECT_EQ(RowsPerCall(10'000'000), 1);
}

TEST(PredictTest, EveryRowIsAnsweredOnceAndInOrder) {
  int calls = 0;
  size_t next = 0;
  ASSERT_OK(PredictRows(
      "m1", TableOf(10'001),
      [&](const v1::PredictRequest& request, v1::PredictResponse& response) {
        ++calls;
        EXPECT_EQ(request.name(), "models/m1");
        return Ones(request, response);
      },
      [&](size_t row, const v1::Prediction&) { EXPECT_EQ(row, next++); }));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(next, 10'001);
}

TEST(PredictTest, AnswerThatDoesNotFitIsDataLoss) {
  const auto ignore = [](size_t, const v1::Prediction&) {};
  const auto too_few = [](const v1::PredictRequest&, v1::PredictResponse&) {
    return absl::OkStatus();
  };
  EXPECT_THAT(PredictRows("m1", TableOf(2), too_few, ignore),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("0 rows where 2")));
  const auto strange = [](const v1::PredictRequest& request, v1::PredictResponse& response) {
    Ones(request, response).IgnoreError();
    response.mutable_predictions(0)->set_label(2);
    return absl::OkStatus();
  };
  EXPECT_THAT(PredictRows("m1", TableOf(2), strange, ignore),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("classes")));
}

TEST(PredictTest, PredictionIsDescribedInTheSchemasWords) {
  v1::Prediction prediction;
  prediction.set_label(1);
  prediction.add_probabilities(0.25);
  prediction.add_probabilities(0.75);
  prediction.set_standard_error(std::numeric_limits<double>::infinity());
  prediction.set_confidence(0.5);
  const Schema schema = *SampleTerms().schema;
  EXPECT_EQ(JsonLine(DescribePrediction(0, prediction, schema, 0.5)),
            R"({"row":1,"label":"yes","probability":0.75,"low":0.0,"high":1.0,)"
            R"("standard_error":null,"confidence":0.5})");
  prediction.set_standard_error(0.05);
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

TEST(ScoreTest, AccuracyOfNothingIsZero) {
  EXPECT_EQ(Score().accuracy(), 0);
  EXPECT_EQ((Score{.rows = 4, .correct = 3}.accuracy()), 0.75);
}

}  // namespace
}  // namespace coppice
