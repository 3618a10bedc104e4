#include "client/cli/models/predict.h"

#include <fstream>
#include <limits>

#include "tests/client/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::SampleTerms;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

// A file of so many rows, without the column of the label.
std::string FileOf(const TempDir& folder, size_t rows) {
  const std::string path = folder.path() + "/rows.csv";
  std::ofstream file(path);
  file << SampleTerms().schema->features()[0].name << "\n";
  for (size_t i = 0; i < rows; ++i) file << "5\n";
  return path;
}

// Answers class 1 for every row.
absl::Status Ones(const v1::StreamPredictionsRequest& request,
                  v1::StreamPredictionsResponse& response) {
  for (int i = 0; i < request.rows_size(); ++i) {
    v1::Prediction& prediction = *response.add_predictions();
    prediction.set_label(1);
    prediction.add_probabilities(0.25);
    prediction.add_probabilities(0.75);
  }
  return absl::OkStatus();
}

absl::StatusOr<ReadNotes> PredictRows(size_t rows, const PredictBlock& call,
                                      const OnPrediction& done) {
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
  const auto gone = [](const auto&, auto&) { return absl::NotFoundError("there is no model m1"); };
  const auto ignore = [](size_t, const Table&, size_t, const v1::Prediction&) {};
  for (const size_t rows : {2, 10'001}) {
    EXPECT_EQ(PredictRows(rows, gone, ignore).status(),
              absl::NotFoundError("there is no model m1"));
  }
}

TEST(PredictTest, AnswerThatDoesNotFitIsDataLoss) {
  const auto ignore = [](size_t, const Table&, size_t, const v1::Prediction&) {};
  const auto too_few = [](const auto&, auto&) { return absl::OkStatus(); };
  EXPECT_THAT(PredictRows(2, too_few, ignore).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("0 rows where 2")));
  const auto strange = [](const v1::StreamPredictionsRequest& request,
                          v1::StreamPredictionsResponse& response) {
    Ones(request, response).IgnoreError();
    response.mutable_predictions(0)->set_label(2);
    return absl::OkStatus();
  };
  EXPECT_THAT(PredictRows(2, strange, ignore).status(),
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
}  // namespace coppice::cli
