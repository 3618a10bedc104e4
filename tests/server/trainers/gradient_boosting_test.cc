// The reference without privacy: what it learns, when it stops, and that nothing in it is drawn.

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/trainers/boosting/boosting.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::HasSubstr;

Status Continue(double) { return OkStatus(); }

Model Boosted(const Table& table, const Trainer& trainer = GradientBoosting(), uint64_t seed = 1) {
  SeededRandom random(seed);
  return *trainer.Train(table, {.epsilon = std::nullopt}, random, Continue);
}

uint32_t RoundsOf(const Model& model) {
  return static_cast<uint32_t>(std::stoul(model.certificate().diagnosis));
}

std::shared_ptr<const Schema> SquareSchema(uint32_t classes) {
  std::vector<std::string> names;
  for (uint32_t c = 0; c < classes; ++c) names.push_back(StrCat("c", c));
  return std::make_shared<const Schema>(*Schema::Create(NumericFeatures(2), "label", names));
}

// Class (i + j) % classes in a checkerboard of 4 x 4 fields; a share of the labels is any.
Table Checkerboard(uint32_t classes, size_t rows, double noise, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  Table table(SquareSchema(classes));
  for (size_t r = 0; r < rows; ++r) {
    const double x = unit(engine), y = unit(engine);
    const auto field = static_cast<uint32_t>(4 * x) + static_cast<uint32_t>(4 * y);
    const auto any = static_cast<uint32_t>(unit(engine) * classes);
    table.Append({x, y}, (unit(engine) < noise ? any : field) % classes);
  }
  return table;
}

double AccuracyOf(const Model& model, const Table& test) {
  double right = 0;
  for (size_t r = 0; r < test.num_rows(); ++r) {
    right += model.Predict(test.row(r)).label == test.label(r) ? 1 : 0;
  }
  return right / static_cast<double>(test.num_rows());
}

TEST(GradientBoostingTest, LearnsACheckerboardOfTwoOfFiveAndOfTwentyClasses) {
  for (const uint32_t classes : {2u, 5u, 20u}) {
    const Model model = Boosted(Checkerboard(classes, 3000, 0, 1));
    EXPECT_GT(AccuracyOf(model, Checkerboard(classes, 1000, 0, 2)), 0.95) << classes;
    EXPECT_LE(model.forest().size(), 1024u) << "or its file could not be read";
  }
}

TEST(GradientBoostingTest, StopsWhereLabelsAreChance) {
  const Model model = Boosted(Checkerboard(2, 3000, 1, 3));
  EXPECT_LT(RoundsOf(model), 20u);
  const Table table = Checkerboard(2, 200, 1, 4);
  double loss = 0;
  for (size_t r = 0; r < 200; ++r) {
    loss -= std::log(model.Predict(table.row(r)).probabilities[table.label(r)]);
  }
  EXPECT_LT(loss / 200, 0.75) << "a coin's is .69; that of every tree there is, above 1";
}

// Right of the middle three labels of four are 1, left of it one of four.
TEST(GradientBoostingTest, ProbabilitiesFollowNoisyLabels) {
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> unit(0, 1);
  Table table(SquareSchema(2));
  for (int r = 0; r < 8000; ++r) {
    const double x = unit(engine);
    table.Append({x, unit(engine)}, (x > 0.5) == (unit(engine) < 0.75) ? 1 : 0);
  }
  const Model model = Boosted(table);
  for (const double x : {0.1, 0.4, 0.6, 0.9}) {
    double mean = 0;
    for (int i = 0; i < 20; ++i) mean += model.Predict({x, i / 20.0}).probabilities[1] / 20;
    EXPECT_NEAR(mean, x > 0.5 ? 0.75 : 0.25, 0.06) << x;
  }
}

TEST(GradientBoostingTest, LearnsNumbersBesideAStep) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression(NumericFeatures(2), "y", {.min = -10, .max = 10}));
  std::mt19937_64 engine(7);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto sample = [&](size_t rows) {
    Table table(schema);
    for (size_t r = 0; r < rows; ++r) {
      const double x = unit(engine), y = unit(engine);
      table.AppendTarget({x, y}, 6 * std::sin(6 * x) + (y > 0.5 ? 2 : -2));
    }
    return table;
  };
  const Model model = Boosted(sample(3000));
  const Table test = sample(500);
  double squares = 0;
  for (size_t r = 0; r < 500; ++r) {
    squares += std::pow(model.Predict(test.row(r)).value - test.target(r), 2) / 500;
  }
  EXPECT_LT(std::sqrt(squares), 0.5) << "of a deviation of 4";
}

TEST(GradientBoostingTest, AskingWhatIsMissingSeparatesRows) {
  Table table(SquareSchema(2));
  std::mt19937_64 engine(8);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int r = 0; r < 1000; ++r) {
    const bool missing = r % 3 == 0;
    table.Append({missing ? kMissingValue : unit(engine), unit(engine)}, missing ? 1 : 0);
  }
  const Model model = Boosted(table);
  EXPECT_EQ(model.Predict({kMissingValue, 0.5}).label, 1u);
  EXPECT_EQ(model.Predict({0.5, 0.5}).label, 0u);
}

TEST(GradientBoostingTest, TwentyRowsCanBeToldApart) {
  Table table(SquareSchema(2));
  for (int r = 0; r < 20; ++r) table.Append({(r + 0.5) / 20, 0.5}, r < 10 ? 0 : 1);
  const Model model = Boosted(table);
  EXPECT_EQ(model.Predict({0.2, 0.5}).label, 0u);
  EXPECT_EQ(model.Predict({0.8, 0.5}).label, 1u);
}

TEST(GradientBoostingTest, NothingIsDrawn) {
  const Table table = RandomTable(MixedClasses(), {.rows = 400, .unlabelled = 0.1}, 9);
  EXPECT_EQ(Boosted(table, GradientBoosting(), 1), Boosted(table, GradientBoosting(), 2));
}

TEST(GradientBoostingTest, RowsWithoutALabelDecideNothing) {
  const Table labelled = Checkerboard(3, 500, 0.2, 10);
  Table more(labelled.shared_schema());
  for (size_t r = 0; r < 500; ++r) {
    more.Append(labelled.row(r), labelled.label(r));
    if (r % 5 == 0) more.Append(labelled.row(0), kUnlabelled);
  }
  EXPECT_EQ(Boosted(labelled), Boosted(more));
}

TEST(GradientBoostingTest, AutoWithoutEpsilonIsThisModelAndItsCertificateSaysSo) {
  const Table table = Checkerboard(2, 600, 0.2, 11);
  const Model model = Boosted(table, Auto());
  EXPECT_EQ(model, Boosted(table));
  EXPECT_EQ(model.certificate().mechanism, "gradient_boosting");
  EXPECT_THAT(model.certificate().neighbouring, HasSubstr("without privacy"));
  EXPECT_THAT(model.certificate().diagnosis, HasSubstr("rounds"));
}

TEST(GradientBoostingTest, ACancelledJobEndsWithItsError) {
  SeededRandom random(1);
  int calls = 0;
  const auto cancel = [&](double done) {
    EXPECT_LE(done, 1);
    return ++calls == 5 ? CancelledError("enough") : OkStatus();
  };
  EXPECT_THAT(GradientBoosting().Train(Checkerboard(2, 600, 0.2, 12), {}, random, cancel),
              StatusIs(StatusCode::kCancelled, "enough"));
}

}  // namespace
}  // namespace coppice::trainers
