// Boosting of scores on randomized labels, and the choice among the rules that do so.

#include "server/curator/estimation/labels/label_boosting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "server/curator/estimation/labels/smooth_labels.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<const Schema> SquareSchema(uint32_t classes) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k) names.push_back(std::to_string(k));
  return std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", names));
}

// Rows on the unit square whose class is that of x's strip.
Table DrawStrips(size_t count, uint32_t classes, uint64_t seed) {
  Table table(SquareSchema(classes));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    table.Append(row, static_cast<uint32_t>(row[0] * classes));
  }
  return table;
}

// The margins of labels that are replaced by one of all classes with probability `noise`.
RowColumns MarginsOf(const Table& rows, double noise, uint64_t seed) {
  const uint32_t classes = rows.schema().num_classes();
  const double scale = MarginScale(rows.schema());
  PublicRandom random(seed);
  RowColumns margins(MarginColumns(classes));
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    const uint32_t said =
        random.Unit() < noise ? static_cast<uint32_t>(random.Below(classes)) : rows.label(i);
    for (size_t k = 0; k < margins.size(); ++k) {
      const uint32_t of_class = margins.size() == 1 ? 1 : static_cast<uint32_t>(k);
      margins[k].push_back(scale * ((said == of_class ? 1.0 : 0.0) - 1.0 / classes) / (1 - noise));
    }
  }
  return margins;
}

// Scores that step by `size` for the class of x's strip of `classes`.
PublicPredictor StepAt(double x, double size) {
  const auto schema = SquareSchema(2);
  Node root{.kind = SplitKind::kNumeric, .feature = 0, .threshold = x, .left = 1, .right = 2};
  ScoreTree tree{.tree = *Tree::Create({root, Node(), Node()}, *schema),
                 .values = {size, -size, -size, size}};
  return *PublicPredictor::Create(schema, {0, 0}, {std::move(tree)});
}

PublicPredictor NoScores(uint32_t classes) {
  return *PublicPredictor::Create(SquareSchema(classes), std::vector<double>(classes), {});
}

double HitsOf(const Table& rows, const std::function<uint32_t(const Row&)>& answer) {
  double hits = 0;
  for (size_t i = 0; i < rows.num_rows(); ++i) hits += answer(rows.row(i)) == rows.label(i) ? 1 : 0;
  return hits / static_cast<double>(rows.num_rows());
}

double HitsOf(const PublicPredictor& start, const LabelBoost& boost, const Table& rows) {
  const PublicPredictor all = *start.Corrected(1, {}, boost.trees);
  return HitsOf(rows, [&](const Row& row) {
    std::vector<double> scores(all.columns());
    all.Score(row, absl::MakeSpan(scores));
    return static_cast<uint32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  });
}

TEST(LabelBoostingTest, LearnsClassesFromNoisyLabels) {
  for (const uint32_t classes : {2u, 3u}) {
    const Table rows = DrawStrips(3000, classes, 1);
    const LabelReports reports{.rows = &rows, .margins = MarginsOf(rows, 0.5, 2)};
    const LabelBoost boost = *BoostOnLabels({NoScores(classes)}, reports);
    EXPECT_GT(HitsOf(NoScores(classes), boost, DrawStrips(1000, classes, 3)), 0.93) << classes;
    EXPECT_GT(boost.share, 0);
    EXPECT_EQ(boost.trees.size(), 3 * boost.rounds);
  }
}

TEST(LabelBoostingTest, KeepsWhatTheStartKnows) {
  const Table rows = DrawStrips(300, 2, 1);
  const LabelReports reports{.rows = &rows, .margins = MarginsOf(rows, 0.9, 2)};
  const PublicPredictor start = StepAt(0.5, 2);
  EXPECT_GT(HitsOf(start, *BoostOnLabels({start}, reports), DrawStrips(1000, 2, 3)), 0.97);
}

// Labels that say nothing: of whatever was boosted on them, held-out ones rarely confirm anything.
// The seeds are fixed, so the test is not left to chance.
TEST(LabelBoostingTest, TakesNothingFromNoise) {
  size_t taken = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Table rows = DrawStrips(200, 2, seed);
    RowColumns margins(1);
    PublicRandom random(seed, 5);
    for (size_t i = 0; i < 200; ++i) margins[0].push_back(random.Below(2) == 0 ? -4 : 4);
    const LabelReports reports{.rows = &rows, .margins = margins};
    taken += BoostOnLabels({NoScores(2)}, reports)->trees.empty() ? 0 : 1;
  }
  EXPECT_LE(taken, 4u);
}

TEST(LabelBoostingTest, HeldOutScoresComeFromOtherReports) {
  const Table rows = DrawStrips(600, 2, 1);
  LabelReports reports{.rows = &rows, .margins = MarginsOf(rows, 0.3, 2)};
  const LabelBoost boost = *BoostOnLabels({NoScores(2)}, reports);
  ASSERT_GT(boost.rounds, 0u);
  // The answer, which was boosted on the reports, fits them better than what was held out.
  const PublicPredictor all = *NoScores(2).Corrected(1, {}, boost.trees);
  const std::vector<double> scores = all.ScoresOf(rows);
  RowColumns fitted(1);
  for (size_t i = 0; i < 600; ++i) fitted[0].push_back(scores[2 * i + 1]);
  EXPECT_GT(GainInErrors(SquaredErrors(reports, AnswersOfScores(reports, boost.held_out)),
                         SquaredErrors(reports, AnswersOfScores(reports, fitted))),
            0);
  for (const double variance : boost.variance[0]) EXPECT_GE(variance, 0);
}

TEST(LabelBoostingTest, GainsAreInStandardErrors) {
  EXPECT_EQ(GainInErrors({1, 1}, {1, 1}), 0);
  EXPECT_NEAR(GainInErrors({3, 1, 2}, {1, 1, 1}), 3 / std::sqrt(5.0 - 3), 1e-12);
}

TEST(LabelBoostingTest, RefusesWhatDoesNotFit) {
  const Table rows = DrawStrips(10, 2, 1), none(SquareSchema(2));
  const auto refused = StatusIs(StatusCode::kInvalidArgument, ::testing::_);
  EXPECT_THAT(
      BoostOnLabels({NoScores(3)}, {.rows = &rows, .margins = MarginsOf(rows, 0, 1)}).status(),
      refused);
  EXPECT_THAT(BoostOnLabels({NoScores(2)}, {.rows = &rows, .margins = {}}).status(), refused);
  EXPECT_THAT(BoostOnLabels({NoScores(2)}, {.rows = &none, .margins = {{}}}).status(), refused);
}

double HitsOf(const LabelsFit& fit, const Table& rows) {
  const Model model = *Model::Create(rows.schema(), fit.forest, fit.leaves, {}, fit.kind);
  return HitsOf(rows, [&](const Row& row) { return model.Predict(row).label; });
}

TEST(SmoothLabelsTest, AnswersAreBoostedScoresWithAnError) {
  const Table rows = DrawStrips(2000, 2, 1);
  const LabelReports reports{.rows = &rows, .margins = MarginsOf(rows, 0.5, 2)};
  const LabelsFit fit = *EstimateSmoothLabels(StepAt(0.6, 1), NoOffset(2), reports);
  EXPECT_EQ(fit.kind, LeafKind::kScores);
  EXPECT_GT(HitsOf(fit, DrawStrips(1000, 2, 3)), 0.95);
  EXPECT_THAT(fit.diagnosis, HasSubstr("rounds of trees"));
  const Model model = *Model::Create(rows.schema(), fit.forest, fit.leaves, {}, fit.kind);
  EXPECT_LT(model.Predict(Row{0.55, 0.5}).standard_error, 0.5);
}

TEST(SmoothLabelsTest, LeavesOutLabelsThatMislead) {
  const Table rows = DrawStrips(3000, 2, 1);
  const LabelReports reports{.rows = &rows, .margins = MarginsOf(rows, 0.2, 2)};
  const LabelsFit fit = *EstimateSmoothLabels(StepAt(0.5, -6), NoOffset(2), reports);
  EXPECT_GT(HitsOf(fit, DrawStrips(1000, 2, 3)), 0.95);
}

TEST(SmoothLabelsTest, WithoutReportsThePredictorAnswers) {
  const Table none(SquareSchema(2));
  const LabelsFit fit =
      *EstimateSmoothLabels(StepAt(0.5, 1), NoOffset(2), {.rows = &none, .margins = {{}}});
  EXPECT_THAT(fit.diagnosis, IsEmpty());
  EXPECT_EQ(HitsOf(fit, DrawStrips(100, 2, 3)), 1);
}

// A tree that cuts x at eighths.
Tree Eighths(const Schema& schema) {
  std::vector<Node> nodes;
  for (uint32_t i = 0; i < 7; ++i) {
    const double level = i == 0 ? 0 : i < 3 ? 1 : 2, first = std::exp2(level) - 1;
    nodes.push_back({.kind = SplitKind::kNumeric,
                     .feature = 0,
                     .threshold = (i - first + 0.5) / std::exp2(level),
                     .left = 2 * i + 1,
                     .right = 2 * i + 2});
  }
  nodes.resize(15);
  return *Tree::Create(std::move(nodes), schema);
}

// Classes alternate eight times, which few reports cannot show: only the offset of the margins
// knows it.
TEST(SmoothLabelsTest, TakesBoostedMarginsWhereHeldOutReportsPreferThem) {
  Table rows(SquareSchema(2));
  PublicRandom random(1);
  for (size_t i = 0; i < 400; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    rows.Append(row, static_cast<uint32_t>(row[0] * 8) % 2);
  }
  const LabelReports reports{.rows = &rows, .margins = MarginsOf(rows, 0.5, 2)};
  AdditiveForest offset{.forest = {Eighths(rows.schema())}, .leaves = {{}}};
  for (uint32_t leaf = 0; leaf < 8; ++leaf) {
    const double p = leaf % 2 == 0 ? 0 : 1;
    offset.leaves[0].push_back({.probabilities = {1 - p, p},
                                .label = leaf % 2,
                                .source_node = offset.forest[0].leaf_node(leaf)});
  }
  const LabelsFit fit = *EstimateSmoothLabels(StepAt(0.5, 0.1), std::move(offset), reports);
  EXPECT_EQ(fit.kind, LeafKind::kAdditive);
  EXPECT_THAT(fit.diagnosis, HasSubstr("margins"));
  EXPECT_GT(HitsOf(fit, rows), 0.95);
}

// Rows on the unit square whose number is 4 x and, where `tail`, has a long tail above.
Table DrawNumbers(size_t count, bool tail, uint64_t seed) {
  Table table(std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 1)}, "number", Target{.min = -20, .max = 40})));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit()};
    const double above = tail ? 2 * (-std::log(1 - random.Unit()) - 1) : random.Unit() - 0.5;
    table.AppendTarget(row, 4 * row[0] + above);
  }
  return table;
}

// A predictor that says `low` below x = .5, and `high` from there on.
PublicPredictor NumberStep(const Table& rows, double low, double high) {
  const Schema& schema = rows.schema();
  Node root{.kind = SplitKind::kNumeric, .feature = 0, .threshold = 0.5, .left = 1, .right = 2};
  ScoreTree tree{.tree = *Tree::Create({root, Node(), Node()}, schema), .values = {low, high}};
  return *PublicPredictor::Create(rows.shared_schema(), {0}, {std::move(tree)});
}

// The numbers' margins, cut to the range, with noise that is as likely above as below.
LabelReports NumberReports(const Table& rows, const NumberRange& range, double noise,
                           uint64_t seed) {
  LabelReports reports{.rows = &rows, .margins = {{}}, .range = range};
  PublicRandom random(seed);
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    const double cut = std::clamp(rows.target(i), range.low, range.high);
    reports.margins[0].push_back(MarginOf(cut, range) + (random.Below(2) == 0 ? -noise : noise));
  }
  return reports;
}

double NumberError(const LabelsFit& fit, const Table& rows) {
  const Model model = *Model::Create(rows.schema(), fit.forest, fit.leaves, {}, fit.kind);
  double squares = 0;
  for (int i = 0; i < 100; ++i) {
    const double x = (i + 0.5) / 100;
    squares += std::pow(model.Predict(Row{x}).value - 4 * x, 2) / 100;
  }
  return std::sqrt(squares);
}

TEST(SmoothLabelsTest, NumbersAreBoostedFromThePredictor) {
  const Table public_rows = DrawNumbers(200, false, 1), rows = DrawNumbers(5000, false, 2);
  const PublicPredictor start = NumberStep(rows, 1, 3);
  const NumberResiduals residuals(public_rows, start.ScoresOf(public_rows));
  const LabelReports reports = NumberReports(rows, {.low = -1, .high = 5}, 2, 3);
  const LabelsFit fit = *EstimateSmoothNumbers(start, residuals, reports);
  EXPECT_THAT(fit.diagnosis, HasSubstr("rounds of trees"));
  EXPECT_LT(NumberError(fit, rows), 0.3) << "two steps err by .58";
  const Model model = *Model::Create(rows.schema(), fit.forest, fit.leaves, {}, fit.kind);
  EXPECT_GT(model.Predict(Row{0.2}).standard_error, 0);
}

// Of twenty studies whose reports are noise about what the predictor knows already, few take
// anything. The seeds are fixed, so the test is not left to chance.
TEST(SmoothLabelsTest, NumbersKeepAPredictorThatIsRight) {
  size_t taken = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Table public_rows(DrawNumbers(0, true, 1).shared_schema()), rows(public_rows.shared_schema());
    PublicRandom random(seed);
    for (int i = 0; i < 600; ++i) {
      const Row row = {random.Unit()};
      const double tail = 2 * (-std::log(1 - random.Unit()) - 1);
      (i < 200 ? public_rows : rows).AppendTarget(row, (row[0] < 0.5 ? 1 : 3) + tail);
    }
    const PublicPredictor start = NumberStep(rows, 1, 3);
    const NumberResiduals residuals(public_rows, start.ScoresOf(public_rows));
    const LabelsFit fit = *EstimateSmoothNumbers(
        start, residuals, NumberReports(rows, {.low = 0, .high = 4}, 1, seed));
    taken += fit.diagnosis.find("confirm nothing") == std::string::npos ? 1 : 0;
  }
  EXPECT_LE(taken, 4u);
}

// A range cuts most of a long tail. That must not pull a predictor of the means that is right.
TEST(SmoothLabelsTest, CutTailsDoNotPullNumbers) {
  const Table public_rows = DrawNumbers(400, true, 1), rows = DrawNumbers(20'000, true, 2);
  const PublicPredictor start = NumberStep(rows, 1, 3);
  const NumberResiduals residuals(public_rows, start.ScoresOf(public_rows));
  const LabelReports reports = NumberReports(rows, {.low = 0, .high = 4}, 0.1, 3);
  EXPECT_LT(NumberError(*EstimateSmoothNumbers(start, residuals, reports), rows), 0.58);
  // The range takes that much from numbers on average.
  double below = 0;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    below += (rows.target(i) - std::clamp(rows.target(i), 0.0, 4.0)) / 20'000;
  }
  EXPECT_GT(below, 0.15);
}

TEST(SmoothLabelsTest, NumbersNeedARange) {
  const Table rows = DrawNumbers(10, false, 1);
  LabelReports reports = NumberReports(rows, {.low = 0, .high = 4}, 0, 1);
  reports.range.reset();
  EXPECT_THAT(BoostOnLabels({NumberStep(rows, 1, 3)}, reports).status(),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
}

}  // namespace
}  // namespace coppice::curator
