// auto with public rows: what it refuses, what it asks private rows, and that it learns from both.

#include "server/trainers/boosting/public/public_boost.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "common/base/text.h"
#include "common/table/rows_digest.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/boosting/step_prior.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/cut_rows.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMillionthOfDelta = 1'000'000'000'000;  // in 1e-18

Status Continue(double) { return OkStatus(); }

TrainOptions Options(const char* epsilon, const Table& public_rows, uint64_t delta_atto = 0) {
  TrainOptions options{.epsilon = *Budget::Parse(epsilon), .delta_atto = delta_atto};
  options.public_rows = std::make_shared<const Table>(public_rows);
  return options;
}

StatusOr<Model> Train(const Table& rows, const TrainOptions& options) {
  SeededRandom random(1);
  return Auto().Train(rows, options, random, Continue);
}

// A label follows the sum of the first two features and a colour; every tenth is the next class
// instead.
Table Sloping(size_t rows, uint32_t classes, uint64_t seed, uint32_t shift = 0) {
  std::vector<Feature> features = NumericFeatures(4);
  features.push_back(Categorical("colour", {"red", "green", "blue"}));
  std::vector<std::string> names;
  for (uint32_t c = 0; c < classes; ++c) names.push_back(StrCat("class", c));
  const auto schema = std::make_shared<const Schema>(*Schema::Create(features, "label", names));
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const double colour = std::floor(3 * draw(engine));
    const Row row = {draw(engine), draw(engine), draw(engine), draw(engine), colour};
    const double place = (row[0] + row[1] + colour / 4) / 2.5;
    auto label = std::min(static_cast<uint32_t>(place * classes), classes - 1);
    if (draw(engine) < 0.1) ++label;
    table.Append(row, (label + shift) % classes);
  }
  return table;
}

// A number follows the sum of two features.
Table SlopingNumbers(size_t rows, uint64_t seed, bool reversed = false) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression(NumericFeatures(3), "y", {.min = -10, .max = 30}));
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const Row row = {draw(engine), draw(engine), draw(engine)};
    const double y = 5 * (row[0] + row[1]) + draw(engine);
    table.AppendTarget(row, reversed ? 11 - y : y);
  }
  return table;
}

double Accuracy(const Model& model, const Table& table) {
  size_t right = 0;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    right += model.Predict(table.row(row)).label == table.label(row) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(table.num_rows());
}
double RootOfSquares(const Model& model, const Table& table) {
  double sum = 0;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    const double error = model.Predict(table.row(row)).value - table.target(row);
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(table.num_rows()));
}

TEST(PublicRowsTest, AreRefusedWhereTheyCannotHelp) {
  const Table rows = Sloping(100, 2, 1);
  const auto invalid = [](const char* text) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(Train(rows, Options("1", Sloping(19, 2, 2))), invalid("give at least 20"));
  EXPECT_THAT(Train(rows, Options("1", Sloping(100, 3, 2))), invalid("another schema"));
  Table one_class(rows.shared_schema()), unlabelled(rows.shared_schema());
  for (size_t row = 0; row < 50; ++row) one_class.Append(rows.row(row), 1);
  for (size_t row = 0; row < 50; ++row) {
    unlabelled.Append(rows.row(row), row < 19 ? rows.label(row) : kUnlabelled);
  }
  EXPECT_THAT(Train(rows, Options("1", one_class)), invalid("one class only"));
  EXPECT_THAT(Train(rows, Options("1", unlabelled)), invalid("19 have a label"));
  TrainOptions without = Options("1", rows);
  without.epsilon.reset();
  EXPECT_THAT(Train(rows, without), invalid("without an epsilon"));
  EXPECT_THAT(Train(rows, Options("0.000000001", rows)), invalid("too small"));
}

TEST(PublicRowsTest, AreTakenByAutoAlone) {
  const Table rows = Sloping(100, 2, 1);
  for (const Trainer* trainer : AllTrainers()) {
    if (trainer->info().public_rows) continue;
    TrainOptions options = Options("1", rows);
    if (!trainer->info().is_private) options.epsilon.reset();
    const StatusOr<std::vector<Release>> plan = trainer->Plan(rows.schema(), options);
    EXPECT_THAT(plan, StatusIs(StatusCode::kInvalidArgument, ::testing::_)) << trainer->info().name;
  }
}

TEST(PublicRowsTest, TheCertificateNamesThemAndListsThePlan) {
  const Table rows = Sloping(500, 2, 1);
  for (const bool concentrated : {false, true}) {
    TrainOptions options = Options("1", Sloping(60, 2, 2), concentrated ? kMillionthOfDelta : 0);
    options.concentrated = concentrated;
    ASSERT_OK_AND_ASSIGN(const std::vector<Release> plan, Auto().Plan(rows.schema(), options));
    ASSERT_OK_AND_ASSIGN(const Model model, Train(rows, options));
    EXPECT_EQ(model.certificate().releases, plan);
    EXPECT_EQ(model.certificate().public_rows, 60u);
    const std::string digest = RowsDigest(*options.public_rows);
    EXPECT_EQ(model.certificate().public_rows_sha256, digest);
    EXPECT_THAT(model.certificate().public_inputs,
                Contains(StrCat("public rows: 60, sha256 ", digest,
                                ", not protected: the model may contain them")));
    EXPECT_THAT(plan.back().what, HasSubstr("private rows bear out"));
  }
}

TEST(PublicRowsTest, FewPrivateRowsAddLittleNoise) {
  const Table test = Sloping(4000, 2, 3);
  ASSERT_OK_AND_ASSIGN(const Model alone,
                       Train(Table(test.shared_schema()), Options("0.01", Sloping(200, 2, 2))));
  ASSERT_OK_AND_ASSIGN(const Model few,
                       Train(Sloping(30, 2, 4), Options("0.1", Sloping(200, 2, 2))));
  EXPECT_GT(Accuracy(alone, test), 0.78);
  EXPECT_GT(Accuracy(few, test), 0.78);
}

TEST(PublicRowsTest, ManyPrivateRowsMendThem) {
  for (const uint32_t classes : {2u, 4u}) {
    const Table test = Sloping(3000, classes, 3), few = Sloping(60, classes, 2);
    ASSERT_OK_AND_ASSIGN(const Model alone,
                         Train(Table(test.shared_schema()), Options("0.01", few)));
    for (const uint64_t delta : {uint64_t{0}, kMillionthOfDelta}) {
      ASSERT_OK_AND_ASSIGN(const Model both,
                           Train(Sloping(8000, classes, 4), Options("2", few, delta)));
      EXPECT_GT(Accuracy(both, test), Accuracy(alone, test) + 0.03) << classes;
      EXPECT_THAT(both.certificate().diagnosis, HasSubstr("lines, then"));
    }
  }
}

TEST(PublicRowsTest, ManyPrivateNumbersMendThem) {
  const Table test = SlopingNumbers(4000, 3), few = SlopingNumbers(60, 2);
  ASSERT_OK_AND_ASSIGN(const Model alone, Train(Table(test.shared_schema()), Options("0.01", few)));
  ASSERT_OK_AND_ASSIGN(const Model both, Train(SlopingNumbers(20'000, 4), Options("2", few)));
  EXPECT_GT(RootOfSquares(alone, test), 0.4);
  // No model is nearer than the deviation of the numbers' noise, .29.
  EXPECT_LT(RootOfSquares(both, test), 0.34);
}

TEST(PublicRowsTest, WrongOnesAreNotBelieved) {
  const Table test = Sloping(4000, 2, 3);
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Train(Sloping(20'000, 2, 4), Options("1", Sloping(200, 2, 2, /*shift=*/1))));
  EXPECT_THAT(model.certificate().diagnosis, HasSubstr("nothing of the public rows' scores"));
  EXPECT_GT(Accuracy(model, test), 0.8);
  const Table numbers = SlopingNumbers(20'000, 4);
  ASSERT_OK_AND_ASSIGN(const Model of_numbers,
                       Train(numbers, Options("1", SlopingNumbers(200, 2, /*reversed=*/true))));
  EXPECT_THAT(of_numbers.certificate().diagnosis, HasSubstr("do not fit and are left out"));
  EXPECT_LT(RootOfSquares(of_numbers, numbers), 1.5);
  EXPECT_EQ(of_numbers.certificate().public_rows, 200u) << "they were used to decide";
}

// A model is a sum of trees, so what lines and factors add must be in it: at no noise to speak of
// its scores are those that the residuals were computed from, and training goes on to fit.
TEST(PublicRowsTest, TheModelAnswersAsTrainingDid) {
  const Table rows = Sloping(3000, 3, 4);
  ASSERT_OK_AND_ASSIGN(const Model model, Train(rows, Options("1000", Sloping(200, 3, 2))));
  EXPECT_GT(Accuracy(model, rows), 0.87);
}

class PublicTermsTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Schemas, PublicTermsTest, ::testing::Bool());

// Rows may hold anything: values far outside of what public rows have, missing ones, other
// categories, and any score.
TEST_P(PublicTermsTest, NoRowMovesAGradientByMoreThanItsBound) {
  const auto schema = GetParam() ? MixedRegression() : MixedClasses(4);
  ASSERT_OK_AND_ASSIGN(const PublicStart start,
                       PublicStart::Create(RandomTable(schema, {.rows = 150}, 1), CancelCheck()));
  ASSERT_OK_AND_ASSIGN(const std::optional<PublicTerms> terms, PublicTerms::Create(start));
  ASSERT_TRUE(terms);
  const Table rows = RandomTable(schema, {.rows = 2000, .missing = 0.2}, 2);
  ASSERT_OK_AND_ASSIGN(OutputScores scores, start.ScoresOf(CutRows(rows, 300)));
  scores[0][0] = 1e9;
  scores[0][1] = -1e9;
  double most = 0;
  for (const bool is_concentrated : {false, true}) {
    for (size_t row = 0; row < rows.num_rows(); ++row) {
      ASSERT_OK_AND_ASSIGN(const BinnedRows one,
                           BinnedRows::Create(rows.Select({row}), terms->bins()));
      OutputScores of_row;
      for (const std::vector<double>& of_output : scores) of_row.push_back({of_output[row]});
      const Residuals residuals(start.outputs(), std::vector<int32_t>{row % 2 == 0 ? 3 : -5});
      uint64_t l1 = 0, l2_squared = 0;
      for (const int64_t sum : terms->SumGradient(one, of_row, residuals, is_concentrated)) {
        l1 += static_cast<uint64_t>(std::abs(sum));
        l2_squared += static_cast<uint64_t>(sum * sum);
      }
      const uint64_t residual = row % 2 == 0 ? 3 : 5;
      const Sensitivity bound = terms->GradientSensitivity(
          {.l1 = residual * start.outputs(), .l2_squared = residual * residual * start.outputs()});
      ASSERT_LE(is_concentrated ? l2_squared : l1, is_concentrated ? bound.l2_squared : bound.l1);
      most =
          std::max(most, is_concentrated ? std::sqrt(static_cast<double>(l2_squared) /
                                                     static_cast<double>(bound.l2_squared))
                                         : static_cast<double>(l1) / static_cast<double>(bound.l1));
    }
  }
  EXPECT_GT(most, 0.98) << "noise is for more than a row can do";
}

// What a step adds to rows is what its trees and its factor of the public scores add.
TEST_P(PublicTermsTest, StepsAreWhatTheirTreesAdd) {
  const auto schema = GetParam() ? MixedRegression() : MixedClasses(3);
  ASSERT_OK_AND_ASSIGN(const PublicStart start,
                       PublicStart::Create(RandomTable(schema, {.rows = 150}, 1), CancelCheck()));
  ASSERT_OK_AND_ASSIGN(const std::optional<PublicTerms> terms, PublicTerms::Create(start));
  ASSERT_TRUE(terms);
  const Table rows = RandomTable(schema, {.rows = 200, .missing = 0.2}, 2);
  ASSERT_OK_AND_ASSIGN(const BinnedRows binned, BinnedRows::Create(rows, terms->bins()));
  ASSERT_OK_AND_ASSIGN(const OutputScores scores, start.ScoresOf(BlocksOfTable(rows)));
  std::vector<double> slopes;
  for (size_t i = 0; i < start.outputs() * terms->count(); ++i) {
    slopes.push_back(std::sin(static_cast<double>(i)));
  }
  const OutputScores along = terms->Along(binned, scores, slopes);
  const PublicTerms::AsTrees trees = terms->ToTrees(slopes);
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    for (size_t output = 0; output < start.outputs(); ++output) {
      double sum = trees.constant[output];
      for (size_t c = 0; c < start.outputs(); ++c) {
        sum += trees.factor[output * start.outputs() + c] * scores[c][row];
      }
      for (size_t i = 0; i < trees.columns.size(); ++i) {
        sum += trees.of_columns[i].weights[binned.column(trees.columns[i])[row]][output];
      }
      EXPECT_NEAR(along[output][row], sum, 1e-9);
    }
  }
}

TEST(PublicStartTest, TreesHoldTheScores) {
  for (const uint32_t classes : {2u, 3u}) {
    ASSERT_OK_AND_ASSIGN(const PublicStart start,
                         PublicStart::Create(Sloping(80, classes, 1), CancelCheck()));
    const Table rows = Sloping(50, classes, 2);
    ASSERT_OK_AND_ASSIGN(const OutputScores scores, start.ScoresOf(BlocksOfTable(rows)));
    const std::unique_ptr<BoostTask> task = ClassTask(rows.labels(), classes);
    std::vector<double> factor(start.outputs() * start.outputs());
    for (size_t o = 0; o < start.outputs(); ++o) factor[o * start.outputs() + o] = 2;
    const std::vector<TrainedTree> trees =
        start.Trees(factor, std::vector<double>(start.outputs(), 0.5), *task);
    for (size_t row = 0; row < rows.num_rows(); ++row) {
      std::vector<double> wanted;
      for (const std::vector<double>& of_output : scores) {
        wanted.push_back(2 * of_output[row] + 0.5);
      }
      const std::vector<double> outputs = task->Outputs(wanted);
      for (uint32_t k = 0; k < classes; ++k) {
        double sum = 0;
        for (const TrainedTree& tree : trees) {
          sum += tree.leaves[tree.tree.FindLeaf(rows.row(row))].probabilities[k];
        }
        EXPECT_NEAR(sum, outputs[k], 1e-9);
      }
    }
  }
}

TEST(AnswerQualityTest, IsFromNothingToOneUnitARow) {
  const Table rows = Sloping(3, 2, 1);
  const BinnedRows binned = *BinnedRows::Create(rows, *PublicBins(rows.schema(), 1));
  const AnswerQuality quality(binned, 1);
  OutputScores right(1), nothing(1, std::vector<double>(3));
  for (const uint32_t label : binned.labels()) right[0].push_back(label == 1 ? 1 : -1);
  EXPECT_EQ(quality.SumOf(nothing, 100, right), 3 * kQualityUnit);
  EXPECT_EQ(quality.SumOf(nothing, -100, right), 0);
  EXPECT_EQ(quality.SumOf(nothing, 0, right), 3 * kQualityUnit * 3 / 4);
  right[0][1] = std::nan("");
  EXPECT_EQ(quality.SumOf(nothing, 100, right), 2 * kQualityUnit);
}

// Where sums are noise, hardly anything is added; where they are not, steps are those that make
// residuals cancel.
TEST(StepPriorTest, StepsFollowSumsAsFarAsTheyAreSure) {
  const ResidualKind kind{.outputs = 1};
  constexpr int64_t kRowsOfCell = 1000;
  const auto level = [](double scale, std::vector<int64_t> sums) {
    for (int64_t& sum : sums) sum *= kResidualUnit;
    return Measurement{.sums = std::move(sums), .scale = scale * kResidualUnit};
  };
  StepPrior sure(kind, kResidualUnit), noisy(kind, kResidualUnit);
  const Measurement few = level(0.1, {3 * kRowsOfCell, kRowsOfCell, kRowsOfCell, 3 * kRowsOfCell});
  sure.Observe(few);
  const std::vector<double> steps = sure.Steps(few);
  EXPECT_NEAR(steps[0], 1, 0.05);  // 2000 / (half of 4000)
  EXPECT_NEAR(steps[1], -1, 0.05);
  const Measurement much =
      level(kRowsOfCell, {3 * kRowsOfCell, kRowsOfCell, kRowsOfCell, 3 * kRowsOfCell});
  noisy.Observe(much);
  EXPECT_LT(std::abs(noisy.Steps(much)[0]), 0.3);
}

}  // namespace
}  // namespace coppice::trainers
