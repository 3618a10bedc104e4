#include "server/trainers/curves/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coppice::curves {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Four splits; a point scores the baseline plus its gain and a little noise.
CurveScores Gaining(double gain, double noise = 0.001) {
  CurveScores scores;
  const std::vector<double> baseline = {0.88, 0.89, 0.885, 0.885};
  for (size_t r = 0; r < baseline.size(); ++r) {
    scores.measure.push_back(baseline[r] + gain + (r % 2 == 0 ? noise : -noise));
  }
  return scores;
}

Curve BankCurve(const std::vector<CurvePoint>& points, std::optional<CurveScores> non_private) {
  return {
      .label = "subscribed",
      .rows = 4521,
      .test_rows = 905,
      .majority_class = "no",
      .baseline = {0.88, 0.89, 0.885, 0.885},
      .series = {{.algorithm = "auto", .points = points, .non_private = std::move(non_private)}}};
}

TEST(CurveTest, SaysWhatEachStepBuys) {
  const Curve curve = BankCurve({{0.1, Gaining(-0.02)},
                                 {0.5, Gaining(0.031)},
                                 {1, Gaining(0.0315)},
                                 {2, Gaining(0.035)},
                                 {4, Gaining(0.0352)}},
                                Gaining(0.047));
  EXPECT_THAT(CurveSentences(curve),
              ElementsAre("auto: ε = 0.1 is 0.020 worse than always answering no; ε = 0.5 buys "
                          "0.031 over it; ε = 2 buys 0.004 more; without privacy 0.012 more.",
                          "auto: above ε = 2 no further gain can be told from chance."));
}

TEST(CurveTest, NoGainIsSaidAsSuch) {
  EXPECT_THAT(CurveSentences(BankCurve({{1, Gaining(0.0001)}}, Gaining(0.02))),
              ElementsAre("auto: no ε here gains anything over always answering no; without "
                          "privacy 0.020 over it."));
  EXPECT_THAT(CurveSentences(BankCurve({{1, Gaining(-0.1)}}, Gaining(-0.01))),
              ElementsAre("auto: ε = 1 is 0.100 worse than always answering no; none gains "
                          "anything over it; nor would doing without privacy."));
  EXPECT_THAT(CurveSentences(BankCurve({{1, Gaining(0)}}, std::nullopt)),
              ElementsAre("auto: no ε here gains anything over always answering no."));
}

// Chance alone could also gain 0.01.
TEST(CurveTest, WhatNoiseCouldHaveMadeIsNoGain) {
  EXPECT_THAT(CurveSentences(BankCurve({{1, Gaining(0.01, 0.05)}}, std::nullopt))[0],
              HasSubstr("no ε here gains anything"));
  EXPECT_THAT(CurveSentences(BankCurve({{1, Gaining(0.01, 0.002)}}, std::nullopt))[0],
              HasSubstr("ε = 1 buys 0.010 over"));
}

// Scoring on the same rows again does not make them more rows.
TEST(CurveTest, FewTestRowsProveNoGainOverTheBaseline) {
  Curve curve =
      BankCurve({{1, Gaining(0.01)}, {2, Gaining(0.05)}, {4, Gaining(0.055)}}, std::nullopt);
  for (CurvePoint& point : curve.series[0].points) point.scores.row_error = 0.01;
  EXPECT_EQ(CurveSentences(curve)[0],
            "auto: ε = 2 buys 0.050 over always answering no; ε = 4 buys 0.005 more.");
}

// Scores vary between splits by more than the gain, which is the same within each split.
TEST(CurveTest, DifferencesAreTakenWithinSplits) {
  Curve curve = BankCurve({{1, {}}}, std::nullopt);
  curve.baseline = {0.5, 0.9, 0.6, 0.8};
  curve.series[0].points[0].scores.measure = {0.51, 0.911, 0.61, 0.811};
  EXPECT_THAT(CurveSentences(curve)[0], HasSubstr("ε = 1 buys 0.0"));
  curve.series[0].points[0].scores.measure = {0.911, 0.51, 0.811, 0.61};
  EXPECT_THAT(CurveSentences(curve)[0], HasSubstr("no ε here"));
}

TEST(CurveTest, AModelAtItsMajorityMayStillRank) {
  Curve curve = BankCurve({{1, Gaining(0)}}, std::nullopt);
  curve.series[0].points[0].scores.auc = {0.8, 0.82, 0.81, 0.81};
  const std::vector<std::string> sentences = CurveSentences(curve);
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_THAT(sentences[1], HasSubstr("up to ε = 1, an AUC of 0.810; a threshold of your own"));
  curve.series[0].points[0].scores.auc = {0.5, 0.52, 0.48, 0.5};
  EXPECT_EQ(CurveSentences(curve).size(), 1u);
}

TEST(CurveTest, TheOrderOfRowsMayGainWhereAnswersDoNot) {
  Curve curve =
      BankCurve({{1, Gaining(0.02)}, {2, Gaining(0.02)}, {4, Gaining(0.02)}}, std::nullopt);
  curve.series[0].points[0].scores.auc = {0.7, 0.72, 0.71, 0.71};
  curve.series[0].points[1].scores.auc = {0.8, 0.82, 0.81, 0.81};
  curve.series[0].points[2].scores.auc = {0.8, 0.82, 0.81, 0.81};
  EXPECT_THAT(
      CurveSentences(curve),
      ElementsAre("auto: ε = 1 buys 0.020 over always answering no.",
                  "auto: above ε = 1 no further gain can be told from chance.",
                  "auto: the order of its probabilities gains up to ε = 2, an AUC of 0.810."));
  curve.series[0].points[1].scores.auc = curve.series[0].points[2].scores.auc =
      curve.series[0].points[0].scores.auc;
  EXPECT_EQ(CurveSentences(curve).size(), 2u);
}

TEST(CurveTest, LessIsBetterOfErrors) {
  Curve curve = BankCurve({{1, {}}}, std::nullopt);
  curve.numbers = true;
  curve.baseline = {3.2, 3.3, 3.1, 3.2};
  curve.series[0].points[0].scores.measure = {2.2, 2.3, 2.1, 2.3};
  EXPECT_THAT(CurveSentences(curve)[0],
              HasSubstr("ε = 1 buys 0.975 over always answering the mean"));
  curve.series[0].points[0].scores.measure = {4.2, 4.3, 4.1, 4.3};
  EXPECT_THAT(CurveSentences(curve)[0], HasSubstr("worse than always answering the mean"));
  EXPECT_EQ(CurveLines(curve)[0].count("rmse"), 1u);
  EXPECT_EQ(CurveLines(curve)[0].count("accuracy"), 0u);
  EXPECT_DOUBLE_EQ(CurveLines(curve)[0]["mean"].get<double>(), 3.2);
}

TEST(CurveTest, OneSplitIsNoEvidence) {
  Curve curve = BankCurve({{1, {}}}, std::nullopt);
  curve.baseline = {0.8};
  curve.series[0].points[0].scores.measure = {0.9};
  EXPECT_THAT(CurveSentences(curve).back(), HasSubstr("One split cannot tell"));
}

TEST(CurveTest, ALineForEachSeriesAndEpsilon) {
  Curve curve = BankCurve({{0.5, Gaining(0)}, {1, Gaining(0.01)}}, Gaining(0.02));
  curve.series.push_back({.algorithm = "local", .devices = 1000, .points = {{1, Gaining(0)}}});
  const auto lines = CurveLines(curve);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["epsilon"], 1.0);
  EXPECT_NEAR(lines[1]["accuracy"]["mean"].get<double>(), 0.895, 1e-9);
  EXPECT_EQ(lines[1]["accuracy"]["n"], 4);
  EXPECT_NEAR(lines[1]["majority"].get<double>(), 0.885, 1e-9);
  EXPECT_NEAR(lines[1]["non_private"].get<double>(), 0.905, 1e-9);
  EXPECT_EQ(lines[2]["devices"], 1000);
  EXPECT_TRUE(lines[2]["non_private"].is_null());
  EXPECT_EQ(CurveJson(curve)["series"][1]["name"], "local, 1000 devices");
}

TEST(CurveTest, TheTableHasARowForEachEpsilonAndMarksTheOthers) {
  Curve curve = BankCurve({{0.5, Gaining(0, 0)}, {1, Gaining(0.01, 0)}}, Gaining(0.02, 0));
  curve.series.push_back({.algorithm = "logistic", .points = {{1, Gaining(0, 0)}}});
  EXPECT_EQ(CurveTable(curve),
            "Accuracy on 905 rows, mean ± standard error of 4 splits\n\n"
            "   epsilon  auto           logistic\n"
            "       0.5  0.885 ± 0.002  -\n"
            "         1  0.895 ± 0.002  0.885 ± 0.002\n"
            "no privacy  0.905 ± 0.002  -\n"
            "always answering no: 0.885 ± 0.002\n");
  EXPECT_THAT(CurveTable(curve), Not(HasSubstr("AUC")));
}

}  // namespace
}  // namespace coppice::curves
