// What lazybb does beyond what holds for every trainer (trainers_test.cc).

#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/votes.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/lazybb/composition.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::HasSubstr;

constexpr uint64_t kMillionth = 1'000'000'000'000;  // of delta, in 1e-18

StatusOr<Model> Train(const Table& table, const char* epsilon, const Settings& settings,
                      uint64_t seed = 1, uint64_t delta_atto = 0) {
  TrainOptions options{.epsilon = {}, .delta_atto = delta_atto, .settings = settings};
  if (epsilon != nullptr) options.epsilon = *Budget::Parse(epsilon);
  SeededRandom random(seed);
  return (*FindTrainer("lazybb"))->Train(table, options, random, [](double) { return OkStatus(); });
}

TEST(LazyBbTest, AVoteIsOneOrMinusOneAndTheModelIsATableOfVotes) {
  const Table table = RandomTable(MixedClasses(2), {.rows = 300}, 1);
  for (const char* literals : {"cuts", "bins"}) {
    ASSERT_OK_AND_ASSIGN(const Model model,
                         Train(table, "2", {{"rounds", "31"}, {"literals", literals}}));
    EXPECT_EQ(model.forest().size(), 31u);
    for (const auto& leaves : model.leaves()) {
      for (const LeafPrediction& leaf : leaves) {
        EXPECT_EQ(std::abs(leaf.probabilities[1]), 1);
        EXPECT_EQ(leaf.probabilities[0], -leaf.probabilities[1]);
        EXPECT_EQ(leaf.label, leaf.probabilities[1] > 0 ? 1u : 0u);
      }
    }
    ASSERT_OK_AND_ASSIGN(const auto votes, VotesOf(model));
    EXPECT_FALSE(votes.empty());
    EXPECT_LE(votes.size(), 31u);
  }
}

std::shared_ptr<const Schema> ManyClasses(uint32_t classes) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k) names.push_back(StrCat("class ", k));
  return std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 1)}, "y", names));
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Processor time of the best of three runs.
template <typename Work>
double LeastSeconds(const Work& work) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double begin = ProcessorSeconds();
    work();
    least = std::min(least, ProcessorSeconds() - begin);
  }
  return least;
}

// Plans are made on threads that all owners share. A round of each of 4,096 classes was a share of
// its own, four million in all, and took thousands of times as long.
TEST(LazyBbTest, APlanForThousandsOfClassesTakesAboutTheTimeOfOneForThree) {
  const auto seconds = [](uint32_t classes) {
    const std::shared_ptr<const Schema> schema = ManyClasses(classes);
    const TrainOptions options{.epsilon = *Budget::FromEpsilon(1000),
                               .delta_atto = kMillionth,
                               .settings = {{"rounds", "999"}}};
    return LeastSeconds([&] {
      EXPECT_OK((*FindTrainer("lazybb"))->Plan(*schema, options));
      EXPECT_OK((*FindTrainer("lazybb"))->Warnings(*schema, options));
    });
  };
  EXPECT_LT(seconds(4096), 50 * seconds(3));
}

TEST(LazyBbTest, APlanWithManyCutsTakesAboutTheTimeOfOneWithFew) {
  std::vector<Feature> features;
  for (int f = 0; f < 2000; ++f) features.push_back(Numeric(StrCat("f", f), 0, 1));
  const Schema schema = *Schema::Create(features, "y", {"no", "yes"});
  for (const char* learner : {"one_rule", "top_down"}) {
    const auto seconds = [&](const char* cuts) {
      const TrainOptions options{.epsilon = *Budget::FromEpsilon(1),
                                 .settings = {{"cuts", cuts}, {"learner", learner}}};
      return LeastSeconds([&] {
        EXPECT_OK((*FindTrainer("lazybb"))->Plan(schema, options));
        EXPECT_OK((*FindTrainer("lazybb"))->Warnings(schema, options));
      });
    };
    EXPECT_LT(seconds("4096"), 20 * seconds("2")) << learner;
  }
}

TEST(LazyBbTest, ItAsksForEachClassOfARoundWhetherToGoOn) {
  const Table table = RandomTable(ManyClasses(20), {.rows = 200}, 1);
  int asked = 0;
  SeededRandom random(1);
  const TrainOptions options{.epsilon = *Budget::FromEpsilon(100), .settings = {{"rounds", "3"}}};
  EXPECT_OK((*FindTrainer("lazybb"))->Train(table, options, random, [&](double done) {
    EXPECT_NEAR(done, asked++ / 60.0, 1e-9);
    return OkStatus();
  }));
  EXPECT_EQ(asked, 60);
}

// With three classes each class has its own votes.
TEST(LazyBbTest, SeveralClassesAreEachVotedOnAgainstTheRest) {
  const Table table = RandomTable(MixedClasses(3), {.rows = 2000, .missing = 0}, 1);
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, nullptr, {{"rounds", "5"}}));
  EXPECT_EQ(model.forest().size(), 15u);
  ASSERT_OK_AND_ASSIGN(const auto votes, VotesOf(model));
  std::set<uint32_t> about;
  for (const Vote& vote : votes) about.insert(vote.about);
  EXPECT_EQ(about.size(), 3u);
  ASSERT_OK_AND_ASSIGN(const Model shared, Train(table, "3", {{"rounds", "5"}}));
  EXPECT_EQ(shared.certificate().epsilon_nanos, 3'000'000'000u);
}

// Four features are each right for about four fifths of rows, independently; their vote is better.
TEST(LazyBbTest, BoostingIsBetterThanOneRule) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(5), "label", {"no", "yes"}));
  std::mt19937_64 engine(1);
  Table table(schema);
  for (int i = 0; i < 4000; ++i) {
    const uint32_t label = engine() % 2;
    Row row;
    for (int f = 0; f < 5; ++f) row.push_back((engine() % 5 == 0) == (label == 1) ? 0.2 : 0.8);
    table.Append(row, label);
  }
  const auto accuracy = [&](const Model& model) {
    double right = 0;
    for (size_t row = 0; row < table.num_rows(); ++row) {
      right += model.Predict(table.row(row)).label == table.label(row) ? 1 : 0;
    }
    return right / static_cast<double>(table.num_rows());
  };
  for (const char* learner : {"one_rule", "top_down"}) {
    for (const char* epsilon : {static_cast<const char*>(nullptr), "2"}) {
      ASSERT_OK_AND_ASSIGN(const Model one,
                           Train(table, epsilon, {{"rounds", "1"}, {"splits", "1"}}));
      ASSERT_OK_AND_ASSIGN(const Model many, Train(table, epsilon, {{"learner", learner}}));
      EXPECT_NEAR(accuracy(one), 0.8, 0.02);
      EXPECT_GT(accuracy(many), 0.88) << learner;
    }
  }
}

// The number of rounds follows from the noisy number of rows, and is odd.
TEST(LazyBbTest, MoreRowsAndMoreEpsilonMakeMoreRounds) {
  const Table few = RandomTable(MixedClasses(2), {.rows = 50}, 1);
  const Table many = RandomTable(MixedClasses(2), {.rows = 5000}, 1);
  const auto rounds = [](const Table& table, const char* epsilon) {
    const StatusOr<Model> model = Train(table, epsilon, {});
    EXPECT_OK(model);
    EXPECT_EQ(model->forest().size() % 2, 1u);
    return model->forest().size();
  };
  EXPECT_EQ(rounds(few, "1"), 3u);
  EXPECT_NEAR(static_cast<double>(rounds(many, "1")), std::sqrt(5000) / 6.5, 1.5);
  EXPECT_NEAR(static_cast<double>(rounds(many, "4")), std::sqrt(20000) / 6.5, 1.5);
  EXPECT_EQ(rounds(many, nullptr), 99u);
}

TEST(LazyBbTest, WhereThereIsLittleKappaIsLarger) {
  const auto same = [](const Table& table, const char* kappa) {
    const StatusOr<Model> chosen = Train(table, "1", {}),
                          set = Train(table, "1", {{"kappa", kappa}});
    return chosen->forest() == set->forest() && chosen->leaves() == set->leaves();
  };
  const Table few = RandomTable(MixedClasses(2), {.rows = 300}, 1);
  const Table many = RandomTable(MixedClasses(2), {.rows = 3000}, 1);
  EXPECT_TRUE(same(few, "0.5"));
  EXPECT_FALSE(same(few, "0.35"));
  EXPECT_TRUE(same(many, "0.35"));
  EXPECT_FALSE(same(many, "0.5"));
}

TEST(LazyBbTest, SetRoundsCostNoNumberOfRows) {
  const Trainer& lazybb = **FindTrainer("lazybb");
  const auto plan = [&](const Settings& settings) {
    return *lazybb.Plan(*MixedClasses(2), {.epsilon = *Budget::Parse("1"), .settings = settings});
  };
  ASSERT_EQ(plan({}).size(), 2u);
  EXPECT_EQ(plan({})[0].epsilon_nanos, 10'000'000u);
  ASSERT_EQ(plan({{"rounds", "9"}}).size(), 1u);
  EXPECT_THAT(plan({{"rounds", "9"}})[0].what, HasSubstr("9 rounds"));
}

TEST(LazyBbTest, TheCertificateHasTheRoundsThatThereWere) {
  const Table table = RandomTable(MixedClasses(2), {.rows = 3000}, 1);
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, "1", {}));
  EXPECT_THAT(model.certificate().releases[1].what,
              HasSubstr(std::to_string(model.forest().size()) + " rounds"));
}

// A delta means less noise over many rounds, so there are more of them; a few stay as they are.
TEST(LazyBbTest, ADeltaMakesMoreRoundsWhereThereAreMany) {
  const auto rounds = [](const Table& table, uint64_t delta_atto, const char* learner) {
    const StatusOr<Model> model =
        Train(table, "1", {{"learner", learner}, {"splits", "3"}}, 1, delta_atto);
    EXPECT_OK(model);
    return static_cast<double>(model->forest().size());
  };
  const Table few = RandomTable(MixedClasses(2), {.rows = 50}, 1);
  const Table many = RandomTable(MixedClasses(2), {.rows = 20'000}, 1);
  EXPECT_EQ(rounds(few, kMillionth, "one_rule"), rounds(few, 0, "one_rule"));
  const double of_rho = std::sqrt(8 * 0.0239) / kWorthOfPermuteAndFlip;
  EXPECT_NEAR(rounds(many, 0, "one_rule"), std::sqrt(19'800) / 6.5, 1.5);
  EXPECT_NEAR(rounds(many, kMillionth, "one_rule"),
              std::pow(20'000 * of_rho / (6.5 * 6.5), 2.0 / 3), 1.5);
  EXPECT_NEAR(rounds(many, 0, "top_down"), std::sqrt(19'800) / 20, 1.5);
  EXPECT_NEAR(rounds(many, kMillionth, "top_down"),
              std::pow(20'000 * of_rho * 2 / (20 * 20), 2.0 / 3), 1.5);
}

TEST(LazyBbTest, AFewRoundsWithADeltaAreThoseWithoutOne) {
  const Table table = RandomTable(MixedClasses(2), {.rows = 300}, 1);
  ASSERT_OK_AND_ASSIGN(const Model with, Train(table, "1", {{"rounds", "1"}}, 1, 1));
  ASSERT_OK_AND_ASSIGN(const Model without, Train(table, "1", {{"rounds", "1"}}));
  EXPECT_EQ(with.forest(), without.forest());
  EXPECT_EQ(with.certificate().delta_atto, 1u);
  EXPECT_THAT(with.certificate().releases[0].mechanism, HasSubstr("exponential"));
  EXPECT_EQ(without.certificate().releases[0].mechanism, "permute_and_flip");
}

// A delta means less noise, so fewer rows are enough.
TEST(LazyBbTest, WarnsLessWithADelta) {
  const auto warnings = [](uint64_t delta_atto) {
    return (*FindTrainer("lazybb"))
        ->Warnings(*MixedClasses(2), {.epsilon = *Budget::Parse("1"),
                                      .delta_atto = delta_atto,
                                      .settings = {{"rounds", "49"}}})
        ->size();
  };
  EXPECT_EQ(warnings(0), 1u);
  EXPECT_EQ(warnings(kMillionth), 0u);
}

// Rows without a label count neither in the measure nor in a rule.
TEST(LazyBbTest, RowsWithoutALabelDoNotCount) {
  Table with = RandomTable(MixedClasses(2), {.rows = 200}, 1);
  Table without = with;
  for (size_t row = 0; row < 200; ++row) with.Append(without.row(row), kUnlabelled);
  ASSERT_OK_AND_ASSIGN(const Model a, Train(with, "2", {{"rounds", "9"}}));
  ASSERT_OK_AND_ASSIGN(const Model b, Train(without, "2", {{"rounds", "9"}}));
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace coppice::trainers
