// What is special to dpboost: what each scheme costs, which rows a tree may see, and what it
// predicts. trainers_test.cc has what holds for every algorithm.

#include <cmath>

#include "common/base/status.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Trainer& DpBoost() { return **FindTrainer("dpboost"); }

TrainOptions Options(const char* epsilon, const Settings& settings = {}) {
  TrainOptions options{.epsilon = std::nullopt, .settings = settings};
  if (epsilon != nullptr) options.epsilon = *Budget::Parse(epsilon);
  return options;
}

StatusOr<Model> Train(const Table& table, const TrainOptions& options) {
  SeededRandom random(1);
  return DpBoost().Train(table, options, random, [](double) { return OkStatus(); });
}

std::vector<Release> PlanOf(const Settings& settings) {
  return *DpBoost().Plan(*MixedClasses(), Options("12", settings));
}

TEST(DpBoostTest, TreesOfAnEnsembleCostWhatOneDoesAndEnsemblesAddUp) {
  const auto plan = PlanOf({{"trees", "20"}, {"ensembles", "4"}, {"depth", "3"}});
  ASSERT_THAT(plan, SizeIs(2));
  EXPECT_EQ(plan[0].epsilon_nanos, 500'000'000u);  // of 12: a quarter, half of it, three levels
  EXPECT_EQ(plan[0].times, 12u);
  EXPECT_EQ(plan[1].epsilon_nanos, 1'500'000'000u);
  EXPECT_EQ(plan[1].times, 4u);
  EXPECT_EQ(plan[0].part, "each of 5 groups of the rows, drawn anew for each ensemble");
  EXPECT_EQ(PlanOf({{"trees", "20"}, {"scheme", "para"}})[1].times, 1u);
}

TEST(DpBoostTest, TreesThatSeeAllRowsAddUp) {
  const auto plan = PlanOf({{"trees", "20"}, {"scheme", "seq"}, {"depth", "0"}});
  ASSERT_THAT(plan, SizeIs(1));
  EXPECT_EQ(plan[0].epsilon_nanos, 600'000'000u);
  EXPECT_EQ(plan[0].times, 20u);
  EXPECT_THAT(plan[0].part, IsEmpty());
}

TEST(DpBoostTest, SettingsThatDoNotGoTogetherAreRefused) {
  const auto refused = [](const Schema& schema, const Settings& settings, const char* why) {
    EXPECT_THAT(DpBoost().Plan(schema, Options("1", settings)).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  const auto classes = MixedClasses(), numbers = MixedRegression();
  refused(*classes, {{"loss", "square"}}, "use logistic");
  refused(*numbers, {{"loss", "logistic"}}, "use square");
  refused(*classes, {{"trees", "3"}, {"ensembles", "4"}}, "at most as many as there are trees, 3");
  refused(*classes, {{"ensembles", "2"}, {"scheme", "seq"}}, "with scheme=seq there are none");
  refused(*classes, {{"filtering", "none"}}, "use clamp or drop");
  EXPECT_OK(DpBoost().Plan(*MixedClasses(2), Options("1", {{"loss", "square"}})));
}

TEST(DpBoostTest, TreesThatShareEpsilonAreWarnedOfEarlier) {
  const auto warnings = [](const Settings& settings) {
    return *DpBoost().Warnings(*MixedClasses(), Options("1", settings));
  };
  EXPECT_THAT(warnings({}), IsEmpty());
  EXPECT_THAT(warnings({{"scheme", "seq"}, {"trees", "1000"}}), SizeIs(1));
  EXPECT_THAT(warnings({{"trees", "1000"}, {"ensembles", "1000"}}), SizeIs(1));
}

// Each way to divide rows and epsilon learns what is plain, without noise and with little.
TEST(DpBoostTest, EverySchemeLearnsWhatIsPlain) {
  for (const uint32_t classes : {2u, 3u}) {
    const auto schema = std::make_shared<const Schema>(
        *Schema::Create(NumericFeatures(2), "label", std::vector<std::string>{"a", "b", "c"}));
    Table table(schema);
    SeededRandom random(2);
    for (int i = 0; i < 3000; ++i) {
      const double x = static_cast<double>(*random.UniformBelow(1000)) / 1000;
      const double z = static_cast<double>(*random.UniformBelow(1000)) / 1000;
      table.Append({x, z}, x < 0.5 ? 0 : z < 0.5 || classes == 2 ? 1 : 2);
    }
    for (const char* scheme : {"dpboost", "seq", "para"}) {
      for (const char* filtering : {"drop", "clamp"}) {
        for (const char* epsilon : {static_cast<const char*>(nullptr), "200"}) {
          Settings settings = {{"scheme", scheme},
                               {"filtering", filtering},
                               {"trees", "10"},
                               {"depth", "3"},
                               {"lambda", "1"}};
          if (std::string(scheme) == "dpboost") settings["ensembles"] = "3";
          ASSERT_OK_AND_ASSIGN(const Model model, Train(table, Options(epsilon, settings)));
          int right = 0;
          for (size_t row = 0; row < table.num_rows(); ++row) {
            right += model.Predict(table.row(row)).label == table.label(row) ? 1 : 0;
          }
          EXPECT_GT(right, 2700) << scheme << " " << filtering << " " << classes;
        }
      }
    }
  }
}

TEST(DpBoostTest, NumbersStartInTheMiddleOfTheirRangeAndGoWhereTheyAre) {
  const auto schema = MixedRegression();  // from -2 to 6
  Row row(schema->num_features(), kMissingValue);
  ASSERT_OK_AND_ASSIGN(const Model of_none,
                       Train(Table(schema), Options(nullptr, {{"trees", "4"}})));
  EXPECT_NEAR(of_none.Predict(row).value, 2, 1e-9);
  Table table(schema);
  for (int i = 0; i < 1000; ++i) table.AppendTarget(row, 5);
  const Settings settings = {{"trees", "30"}, {"scheme", "seq"}, {"lambda", "0"}};
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, Options(nullptr, settings)));
  EXPECT_NEAR(model.Predict(row).value, 5, 1e-3);
}

// Half of what rows ask for is added, and the next tree sees the rest.
TEST(DpBoostTest, EveryTreeAddsItsShareOfWhatIsLeft) {
  const auto schema = MixedRegression();
  const Row row(schema->num_features(), kMissingValue);
  Table table(schema);
  for (int i = 0; i < 10; ++i) table.AppendTarget(row, 4);
  const Settings settings = {
      {"trees", "3"}, {"scheme", "seq"}, {"lambda", "0"}, {"depth", "0"}, {"learning_rate", "0.5"}};
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, Options(nullptr, settings)));
  const double added[] = {0.5 + 0.125, 0.0625, 0.03125};
  for (size_t tree = 0; tree < 3; ++tree) {
    EXPECT_NEAR(model.leaves()[tree][0].probabilities[1], added[tree], 1e-6);
  }
}

// Without privacy and bounds this is ordinary gradient boosting, which ends at the least loss: at
// the classes' frequencies. With residuals held to g* the rarer class asks for too little.
TEST(DpBoostTest, WithoutBoundsProbabilitiesGoToTheFrequencies) {
  for (const uint32_t classes : {2u, 3u}) {
    const auto schema = MixedClasses(classes);
    const Row row(schema->num_features(), kMissingValue);
    Table table(schema);
    for (int i = 0; i < 20; ++i) table.Append(row, i < 18 ? 0 : i % 2 == 0 ? classes - 1 : 1);
    const auto of_first = [&](const char* filtering) {
      const StatusOr<Model> model = Train(table, Options(nullptr, {{"filtering", filtering},
                                                                   {"scheme", "seq"},
                                                                   {"trees", "400"},
                                                                   {"depth", "0"},
                                                                   {"lambda", "0"}}));
      EXPECT_OK(model);
      return model->Predict(row).probabilities[0];
    };
    EXPECT_NEAR(of_first("none"), 0.9, 1e-3) << classes;
    EXPECT_GT(of_first("clamp"), 0.92) << classes;
  }
}

// Later values are clipped to a public schedule, whatever the noise.
TEST(DpBoostTest, LeafValuesFollowTheGeometricSchedule) {
  const Table table = RandomTable(MixedClasses(2), {.rows = 300}, 3);
  const auto largest = [&](const Settings& more, size_t tree) {
    Settings settings = {{"trees", "6"}, {"learning_rate", "0.3"}, {"depth", "2"}};
    settings.insert(more.begin(), more.end());
    const StatusOr<Model> model = Train(table, Options("0.01", settings));
    double most = 0;
    for (const LeafPrediction& leaf : model->leaves()[tree]) {
      most = std::max(most, std::abs(leaf.probabilities[1]));
    }
    return most;
  };
  for (size_t tree = 0; tree < 6; ++tree) {
    // At first half of a log-odds of 0.3 * 2 at most, then less and less.
    const double schedule = 0.3 * std::pow(0.7, tree);
    EXPECT_NEAR(largest({}, tree), schedule, 1e-9);
    EXPECT_NEAR(largest({{"clipping", "none"}}, tree), 0.3, 1e-9);
    EXPECT_NEAR(largest({{"ensembles", "3"}}, tree), tree % 2 == 0 ? 0.3 : 0.21, 1e-9);
  }
}

}  // namespace
}  // namespace coppice::trainers
