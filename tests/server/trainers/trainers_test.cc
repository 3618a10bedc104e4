// What holds for every algorithm: what it costs, what it refuses, and that it works on any table.

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/cut_rows.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Releases without their text: a plan may say "at most" where a certificate has the number.
std::vector<Release> Priced(std::vector<Release> releases) {
  for (Release& release : releases) release.what.clear();
  return releases;
}

Status GoOn(double) { return OkStatus(); }

std::shared_ptr<const Schema> ManyCuts(uint32_t features = 4) {
  return std::make_shared<const Schema>(
      *Schema::Create(NumericFeatures(features), "label", {"no", "yes"}));
}

class TrainerTest : public ::testing::TestWithParam<const Trainer*> {
 protected:
  const Trainer& trainer() const { return *GetParam(); }
  const AlgorithmInfo& info() const { return GetParam()->info(); }

  bool Takes(const std::string& parameter) const {
    return std::any_of(info().parameters.begin(), info().parameters.end(),
                       [&](const Parameter& p) { return p.name == parameter; });
  }

  // Leaves out epsilon if the algorithm takes none, and settings that it does not have.
  TrainOptions Options(const char* epsilon, const Settings& settings = {}) const {
    TrainOptions options;
    if (info().is_private && epsilon != nullptr) options.epsilon = *Budget::Parse(epsilon);
    for (const auto& [name, value] : settings) {
      if (Takes(name)) options.settings[name] = value;
    }
    return options;
  }

  StatusOr<Model> Train(const Table& table, const TrainOptions& options, uint64_t seed = 1) const {
    SeededRandom random(seed);
    return trainer().Train(table, options, random, GoOn);
  }

  // Trains, and checks every row's prediction.
  void ExpectAModel(const Table& table, const TrainOptions& options) const {
    const StatusOr<Model> model = Train(table, options);
    ASSERT_OK(model);
    Row missing(table.schema().num_features(), kMissingValue);
    ExpectAPrediction(*model, missing);
    for (size_t r = 0; r < table.num_rows(); ++r) ExpectAPrediction(*model, table.row(r));
  }

 private:
  static void ExpectAPrediction(const Model& model, RowView row) {
    const Prediction prediction = model.Predict(row);
    double total = 0;
    for (const double p : prediction.probabilities) {
      EXPECT_GE(p, 0);
      total += p;
    }
    EXPECT_NEAR(total, 1, 1e-9);
    EXPECT_FALSE(std::isnan(prediction.standard_error));
    if (model.schema().target()) {
      EXPECT_GE(prediction.value, model.schema().target()->min);
      EXPECT_LE(prediction.value, model.schema().target()->max);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, TrainerTest, ::testing::ValuesIn(AllTrainers()),
                         [](const auto& test) { return test.param->info().name; });

const Settings kSmall = {{"trees", "3"}, {"depth", "3"}, {"cuts", "15"}};

TEST_P(TrainerTest, IsFoundByItsNameAndSaysWhatItIs) {
  EXPECT_EQ(*FindTrainer(info().name), &trainer());
  EXPECT_FALSE(info().summary.empty());
  EXPECT_FALSE(info().source.empty());
  EXPECT_TRUE(info().classification || info().regression);
  for (const Parameter& parameter : info().parameters) {
    EXPECT_FALSE(parameter.description.empty()) << parameter.name;
    if (parameter.default_value.empty()) continue;
    EXPECT_OK(CheckedSettings::Create({parameter}, {{parameter.name, parameter.default_value}}));
  }
}

TEST_P(TrainerTest, PlansToSpendNearlyAllOfEpsilonAndNeverMore) {
  if (!info().is_private) GTEST_SKIP() << "can only be inf";
  for (const char* epsilon : {"0.01", "0.333333333", "1", "7.000000001", "1000"}) {
    for (const char* rows : {"groups", "all"}) {
      for (const char* trees : {"1", "7"}) {
        for (const char* depth : {"0", "1", "6"}) {
          const TrainOptions options =
              Options(epsilon, {{"rows", rows}, {"trees", trees}, {"depth", depth}});
          ASSERT_OK_AND_ASSIGN(const auto plan, trainer().Plan(*MixedClasses(), options));
          ASSERT_OK_AND_ASSIGN(const uint64_t cost, TotalCost(plan));
          EXPECT_LE(cost, options.epsilon->nanos());
          EXPECT_GT(cost + 1000, options.epsilon->nanos()) << "wasted";
          EXPECT_FALSE(plan.empty());
        }
      }
    }
  }
}

TEST_P(TrainerTest, TheCertificateListsThePlan) {
  for (const char* rows : {"groups", "all"}) {
    Settings settings = kSmall;
    settings["rows"] = rows;
    const TrainOptions options = Options("2", settings);
    const Table table = RandomTable(MixedClasses(), {.rows = 60}, 1);
    ASSERT_OK_AND_ASSIGN(const auto plan, trainer().Plan(table.schema(), options));
    ASSERT_OK_AND_ASSIGN(const Model model, Train(table, options));
    const Certificate& certificate = model.certificate();
    EXPECT_EQ(Priced(certificate.releases), Priced(plan));
    EXPECT_EQ(certificate.epsilon_nanos, *TotalCost(plan));
    EXPECT_EQ(certificate.mechanism, info().name);
    EXPECT_EQ(StrContains(certificate.neighbouring, "none"), !info().is_private);
    // Nothing else in the certificate may tell which rows there were.
    ASSERT_OK_AND_ASSIGN(const Model of_none, Train(Table(MixedClasses()), options));
    Certificate other = of_none.certificate();
    other.diagnosis = certificate.diagnosis;  // follows from released numbers
    EXPECT_EQ(other, certificate);
  }
}

TEST_P(TrainerTest, WithoutEpsilonNothingIsListedAndItIsSaid) {
  const Table table = RandomTable(MixedClasses(), {.rows = 60}, 1);
  const TrainOptions options = Options(nullptr, kSmall);
  ASSERT_OK_AND_ASSIGN(const auto plan, trainer().Plan(table.schema(), options));
  EXPECT_TRUE(plan.empty());
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, options));
  EXPECT_TRUE(model.certificate().releases.empty());
  EXPECT_EQ(model.certificate().epsilon_nanos, 0u);
  EXPECT_THAT(model.certificate().neighbouring, HasSubstr("without privacy"));
}

TEST_P(TrainerTest, AReferenceTakesNoEpsilon) {
  if (info().is_private) GTEST_SKIP() << "is private";
  const TrainOptions options{.epsilon = *Budget::Parse("1"), .settings = {}};
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("not private"));
  EXPECT_THAT(trainer().Plan(*MixedClasses(), options).status(), refused);
  EXPECT_THAT(Train(Table(MixedClasses()), options).status(), refused);
}

TEST_P(TrainerTest, NoTableBreaksIt) {
  std::vector<Table> tables;
  const auto schema = MixedClasses();
  tables.emplace_back(schema);                                                 // empty
  tables.push_back(RandomTable(schema, {.rows = 1}, 1));                       // one row
  tables.push_back(RandomTable(schema, {.rows = 200, .missing = 0.3}, 2));     // of all sorts
  tables.push_back(RandomTable(schema, {.rows = 50, .missing = 1}, 3));        // only missing
  tables.push_back(RandomTable(schema, {.rows = 50, .unlabelled = 1}, 4));     // no label
  tables.push_back(RandomTable(schema, {.rows = 100, .unlabelled = 0.5}, 5));  // some labels
  Table one_class(schema), one_point(schema);
  for (int i = 0; i < 50; ++i) {
    one_class.Append(tables[2].row(static_cast<size_t>(i)), 1);
    one_point.Append(tables[2].row(0), static_cast<uint32_t>(i % 3));
  }
  tables.push_back(std::move(one_class));
  tables.push_back(std::move(one_point));
  for (const Table& table : tables) {
    for (const char* rows : {"groups", "all"}) {
      for (const char* vote : {"pooled", "mean"}) {
        Settings settings = kSmall;
        settings["rows"] = rows;
        settings["vote"] = vote;
        ExpectAModel(table, Options("1", settings));
        ExpectAModel(table, Options(nullptr, settings));
      }
    }
  }
}

TEST_P(TrainerTest, DefaultsTrain) {
  ExpectAModel(RandomTable(MixedClasses(), {.rows = 150, .unlabelled = 0.2}, 6), Options("1"));
  if (info().regression) {
    ExpectAModel(RandomTable(MixedRegression(), {.rows = 150}, 6), Options("1"));
  }
}

// A curator refuses plans by this number, so no model may be larger than it says.
TEST_P(TrainerTest, NoModelIsLargerThanItsPlanSays) {
  if (!info().is_private) GTEST_SKIP() << "is not offered by a curator";
  const auto expect_held = [&](const Table& table, const TrainOptions& options) {
    ASSERT_OK_AND_ASSIGN(const uint64_t most, trainer().MostModelBytes(table.schema(), options));
    ASSERT_OK_AND_ASSIGN(const std::string advice, trainer().AdviceOnSize(table.schema(), options));
    EXPECT_FALSE(advice.empty());
    ASSERT_OK_AND_ASSIGN(const Model model, Train(table, options));
    EXPECT_LE(ToProto(model).ByteSizeLong(), most);
  };
  for (const char* epsilon : {"0.1", "1", "1000"}) {
    for (const char* depth : {"0", "3", "6"}) {
      const Settings settings = {{"trees", "4"}, {"depth", depth}, {"rounds", "9"}};
      expect_held(RandomTable(MixedClasses(), {.rows = 300}, 1), Options(epsilon, settings));
      expect_held(RandomTable(MixedClasses(2), {.rows = 300}, 1), Options(epsilon, settings));
      if (!info().regression) continue;
      expect_held(RandomTable(MixedRegression(), {.rows = 300}, 1), Options(epsilon, settings));
    }
    expect_held(RandomTable(MixedClasses(), {.rows = 300}, 2), Options(epsilon));
  }
}

TEST_P(TrainerTest, NoDefaultMakesAModelThatACuratorRefuses) {
  if (!info().is_private || !info().classification) GTEST_SKIP() << "is not offered for classes";
  constexpr uint64_t kMostOfACurator = uint64_t{63} << 20;
  for (const uint32_t classes : {2, 10, 26}) {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < classes; ++i) names.push_back(StrCat("class ", i));
    const Schema schema = *Schema::Create(NumericFeatures(64), "y", std::move(names));
    const StatusOr<uint64_t> most = trainer().MostModelBytes(schema, Options("1"));
    if (!most.ok()) continue;  // two classes alone
    EXPECT_LE(*most, kMostOfACurator) << classes << " classes";
  }
}

TEST_P(TrainerTest, ALargeModelIsWarnedOf) {
  const auto warns = [&](const Settings& settings) {
    const auto warnings = trainer().Warnings(*MixedClasses(), Options("1", settings));
    EXPECT_OK(warnings);
    return std::any_of(warnings->begin(), warnings->end(), [](const std::string& warning) {
      return StrContains(warning, "MiB as a file of text");
    });
  };
  if (!info().is_private || !Takes("depth")) GTEST_SKIP() << "has no depth";
  EXPECT_FALSE(warns({{"trees", "4"}, {"depth", "6"}}));
  EXPECT_TRUE(warns({{"trees", "64"}, {"depth", "16"}}));
}

TEST_P(TrainerTest, FeaturesWithoutAnySplitMakeALeaf) {
  if (!Takes("depth")) GTEST_SKIP() << "splits what is missing from what is there";
  const auto schema = std::make_shared<const Schema>(*Schema::Create(
      {Numeric("constant", 7, 7), Categorical("alone", {"only"})}, "label", {"no", "yes"}));
  const Table table = RandomTable(schema, {.rows = 30}, 7);
  ExpectAModel(table, Options("1", kSmall));
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, Options("1", kSmall)));
  for (const Tree& tree : model.forest()) EXPECT_EQ(tree.num_leaves(), 1u);
}

TEST_P(TrainerTest, TwoThousandColumnsAreFine) {
  const Table table = RandomTable(ManyCuts(2000), {.rows = 20}, 8);
  ExpectAModel(table, Options("1", kSmall));
}

TEST_P(TrainerTest, NumbersAreRefusedWhereClassesArePredicted) {
  const TrainOptions options = Options("1", kSmall);
  const Table table = RandomTable(MixedRegression(), {.rows = 100}, 9);
  if (info().regression) {
    ExpectAModel(table, options);
    ExpectAModel(table, Options(nullptr, kSmall));
    ExpectAModel(Table(MixedRegression()), options);
    return;
  }
  const auto refused =
      StatusIs(StatusCode::kInvalidArgument, HasSubstr(StrCat(info().name, " predicts classes")));
  EXPECT_THAT(trainer().Plan(*MixedRegression(), options).status(), refused);
  EXPECT_THAT(Train(table, options).status(), refused);
}

TEST_P(TrainerTest, NoLevelsAreOneLeafWhichGetsAllOfEpsilon) {
  if (!Takes("depth")) GTEST_SKIP() << "decides by itself how deep to go";
  const Table table = RandomTable(MixedClasses(), {.rows = 100}, 10);
  const TrainOptions options = Options("1", {{"trees", "3"}, {"depth", "0"}});
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, options));
  for (const Tree& tree : model.forest()) EXPECT_EQ(tree.num_leaves(), 1u);
  if (!info().is_private) return;
  uint64_t leaves = 0;
  for (const Release& release : model.certificate().releases) {
    EXPECT_EQ(release.mechanism, "discrete_laplace");
    leaves += release.epsilon_nanos * release.times;
  }
  EXPECT_GT(leaves + 10, options.epsilon->nanos());
}

TEST_P(TrainerTest, TooManyLevelsAreRefusedWithTheLimit) {
  if (!Takes("depth")) GTEST_SKIP() << "decides by itself how deep to go";
  const auto refused = StatusIs(StatusCode::kInvalidArgument,
                                HasSubstr("depth: must be a whole number from 0 to 16"));
  for (const char* depth : {"60", "17", "-1"}) {
    const TrainOptions options = Options("1", {{"depth", depth}});
    EXPECT_THAT(trainer().Plan(*MixedClasses(), options).status(), refused);
    EXPECT_THAT(Train(Table(MixedClasses()), options).status(), refused);
  }
}

TEST_P(TrainerTest, MoreLeavesThanMemoryHoldsAreRefusedBeforeAnythingIsCharged) {
  if (!Takes("depth")) GTEST_SKIP() << "decides by itself how deep to go";
  if (!info().is_private) GTEST_SKIP() << "not offered by the daemon";
  const auto plan = [&](const char* trees) {
    return trainer()
        .Plan(*ManyCuts(), Options("1000", {{"trees", trees}, {"depth", "16"}}))
        .status();
  };
  EXPECT_OK(plan("64"));
  EXPECT_THAT(plan("65"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("leaves")));
}

TEST_P(TrainerTest, AnEpsilonTooSmallForTheLeavesIsWarnedOfWithWhatToExpect) {
  if (!info().is_private) GTEST_SKIP() << "has no noise";
  const Settings shape = {{"depth", "8"}, {"trees", "10"}};
  ASSERT_OK_AND_ASSIGN(const auto none, trainer().Warnings(*ManyCuts(), Options("100", shape)));
  EXPECT_THAT(none, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto one, trainer().Warnings(*ManyCuts(), Options("0.01", shape)));
  EXPECT_THAT(one, ElementsAre(HasSubstr("most frequent answer")));
}

TEST_P(TrainerTest, SettingsItDoesNotHaveAreRefused) {
  TrainOptions options = Options("1");
  options.settings["leafs"] = "3";
  EXPECT_THAT(trainer().Plan(*MixedClasses(), options).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"leafs\"")));
}

TEST_P(TrainerTest, TheLeastEpsilonIsUsedOrRefusedCleanly) {
  for (const uint64_t nanos : {1, 2, 3, 100}) {
    for (const char* rows : {"groups", "all"}) {
      TrainOptions options = Options("1", {{"rows", rows}, {"trees", "2"}, {"depth", "2"}});
      if (info().is_private) options.epsilon = *Budget::FromNanos(nanos);
      const auto plan = trainer().Plan(*MixedClasses(), options);
      const auto model = Train(RandomTable(MixedClasses(), {.rows = 50}, 11), options);
      EXPECT_EQ(model.ok(), plan.ok());
      if (plan.ok()) continue;
      EXPECT_THAT(plan.status(),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon is too small")));
      EXPECT_EQ(model.status(), plan.status());
    }
  }
}

TEST_P(TrainerTest, AnErrorOfProgressEndsTheTraining) {
  const Table table = RandomTable(MixedClasses(), {.rows = 50}, 12);
  const TrainOptions options = Options("1", kSmall);
  int calls = 0;
  double last = 0;
  SeededRandom random(1);
  ASSERT_OK(trainer().Train(table, options, random, [&](double done) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, 1);
    last = done;
    ++calls;
    return OkStatus();
  }));
  ASSERT_GE(calls, Takes("trees") ? 3 : 1) << "once a tree";
  for (int end = 1; end <= calls; ++end) {
    int call = 0;
    EXPECT_THAT(trainer().Train(
                    table, options, random,
                    [&](double) { return ++call == end ? CancelledError("enough") : OkStatus(); }),
                StatusIs(StatusCode::kCancelled, "enough"));
    EXPECT_EQ(call, end);
  }
}

TEST_P(TrainerTest, AFailingSourceOfRandomnessIsPassedOn) {
  if (info().name == "gradient_boosting") GTEST_SKIP() << "draws nothing";
  ScriptedRandom random({});
  EXPECT_THAT(trainer().Train(RandomTable(MixedClasses(), {.rows = 50}, 13), Options("1", kSmall),
                              random, GoOn),
              StatusIs(StatusCode::kUnavailable, ::testing::_));
}

// With many cuts and few levels no cell runs out of splits, so a tree's depth is its whole shape.
// Any other shape would show its rows.
TEST_P(TrainerTest, TheShapeOfAPrivateTreeDoesNotDependOnRows) {
  if (!Takes("depth")) GTEST_SKIP() << "decides by itself how deep to go";
  if (!info().is_private || info().neighbours != Neighbours::kAddOrRemoveRow) {
    GTEST_SKIP() << "may look at features";
  }
  const auto schema = ManyCuts();
  Table one_class(schema), one_point(schema);
  const Table full = RandomTable(schema, {.rows = 300}, 14);
  for (size_t r = 0; r < full.num_rows(); ++r) {
    one_class.Append(full.row(r), 0);
    one_point.Append(full.row(0), static_cast<uint32_t>(r % 2));
  }
  const TrainOptions options =
      Options("50", {{"trees", "4"}, {"depth", "4"}, {"cuts", "255"}, {"features", "2"}});
  for (const Table& table : {Table(schema), full, one_class, one_point}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      ASSERT_OK_AND_ASSIGN(const Model model, Train(table, options, seed));
      ASSERT_EQ(model.forest().size(), 4u);
      for (const Tree& tree : model.forest()) EXPECT_EQ(tree.num_leaves(), 16u);
    }
  }
}

TEST_P(TrainerTest, ADeltaIsPlannedAndReleasedAndNeverMore) {
  if (!info().delta) GTEST_SKIP() << "is pure epsilon-DP";
  TrainOptions options = Options("2", kSmall);
  options.delta_atto = 1'000'000'000'000;
  const Table table = RandomTable(MixedClasses(), {.rows = 2000}, 15);
  ASSERT_OK_AND_ASSIGN(const auto plan, trainer().Plan(table.schema(), options));
  EXPECT_EQ(*TotalDelta(plan), options.delta_atto);
  EXPECT_LE(*TotalCost(plan), options.epsilon->nanos());
  ASSERT_OK_AND_ASSIGN(const Model model, Train(table, options));
  EXPECT_EQ(Priced(model.certificate().releases), Priced(plan));
  EXPECT_EQ(model.certificate().delta_atto, options.delta_atto);
  ExpectAModel(table, options);
  if (info().regression) ExpectAModel(RandomTable(MixedRegression(), {.rows = 500}, 16), options);
}

// A node has at most as many medians as there are features, and no more are paid for.
TEST(DiPriMeTest, MediansThatCannotExistCostNothing) {
  const Trainer& diprime = **FindTrainer("diprime");
  const auto plan = [&](uint32_t features, const char* k) {
    return *diprime.Plan(*ManyCuts(features),
                         {.epsilon = *Budget::Parse("1"), .settings = {{"features", k}}});
  };
  EXPECT_EQ(plan(2, "5"), plan(2, "2"));
  EXPECT_EQ(plan(1, "5"), plan(1, "1"));
  EXPECT_NE(plan(6, "5"), plan(6, "2"));
}

TEST(AllTrainersTest, NamesAreDistinctAndOthersAreNotFound) {
  std::vector<std::string> names;
  for (const Trainer* trainer : AllTrainers()) names.push_back(trainer->info().name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_THAT(FindTrainer("cart"), StatusIs(StatusCode::kNotFound, HasSubstr("spe, sspe1, sspe2")));
}

// Every table that the algorithm can learn from, of enough rows for all that it does.
std::vector<Table> TablesFor(const AlgorithmInfo& info) {
  std::vector<Table> tables;
  for (const auto& schema : {MixedClasses(2), MixedClasses(3), ManyCuts(3), MixedRegression()}) {
    if (schema->target() ? !info.regression : !info.classification) continue;
    tables.push_back(RandomTable(schema, {.rows = 1'500, .missing = 0.1}, 1));
  }
  return tables;
}

TEST_P(TrainerTest, MakesTheSameModelOfBlocksAsOfTheirTable) {
  for (const Table& table : TablesFor(info())) {
    const TrainOptions options = Options("4", kSmall);
    ASSERT_OK_AND_ASSIGN(const Model whole, Train(table, options));
    SeededRandom random(1);
    ASSERT_OK_AND_ASSIGN(const Model cut,
                         trainer().Train(CutRows(table, 190), options, random, GoOn));
    EXPECT_EQ(ToProto(cut).SerializeAsString(), ToProto(whole).SerializeAsString());
  }
}

TEST_P(TrainerTest, ReturnsWhyRowsCouldNotBeReadWheneverThatIs) {
  const Table table = TablesFor(info())[0];
  const TrainOptions options = Options("4", kSmall);
  CutRows rows(table, 190);
  const auto trained = [&] {
    SeededRandom random(1);
    return trainer().Train(rows, options, random, GoOn).status();
  };
  ASSERT_OK(trained());
  const int passes = rows.passes();
  EXPECT_GT(passes, 0);
  for (int pass = 0; pass < passes; ++pass) {
    rows.FailAfter(pass);
    EXPECT_THAT(trained(), StatusIs(StatusCode::kDataLoss, HasSubstr("cannot be read"))) << pass;
  }
}

}  // namespace
}  // namespace coppice::trainers
