// auto: what it decides, and that it learns.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <regex>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/boosting/boosting.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr uint64_t kMillionth = 1'000'000'000'000;  // of delta, in 1e-18

Model Trained(const Table& table, const char* epsilon, uint64_t delta_atto = 0) {
  SeededRandom random(1);
  return *Auto().Train(table, {.epsilon = *Budget::Parse(epsilon), .delta_atto = delta_atto},
                       random, [](double) { return OkStatus(); });
}

// "yes" above the diagonal of the first two features, which one oblique split tells.
Table Diagonal(size_t rows) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(4), "label", {"no", "yes"}));
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const Row row = {draw(engine), draw(engine), draw(engine), draw(engine)};
    table.Append(row, row[0] + row[1] > 1 ? 1 : 0);
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

TEST(AutoTest, FindsAnObliqueBoundary) {
  const Table table = Diagonal(20'000);
  EXPECT_GT(Accuracy(Trained(table, "1"), table), 0.96);
}

TEST(AutoTest, SaysWhatItChoseFromTheNumberOfRowsAsReleased) {
  EXPECT_THAT(Trained(Diagonal(20'000), "1").certificate().diagnosis,
              MatchesRegex("lines, then [0-9]+ trees of [0-9]+ levels, with Laplace noise"));
  EXPECT_THAT(Trained(Diagonal(100), "0.5").certificate().diagnosis,
              HasSubstr("1 tree of 1 level, "));
}

// Every level of numbers is split in two, whatever the rows are, and measured in four runs a side,
// or leaning by as many: each level's tree has eight leaves per node.
TEST(AutoTest, TheShapeOfAModelIsWhatItSaysAndNoMore) {
  const Table full = Diagonal(5'000);
  Table one_class(full.shared_schema()), one_point(full.shared_schema());
  for (size_t row = 0; row < full.num_rows(); ++row) {
    one_class.Append(full.row(row), 0);
    one_point.Append(full.row(0), static_cast<uint32_t>(row % 2));
  }
  for (const Table& table : {Table(full.shared_schema()), full, one_class, one_point}) {
    const Model model = Trained(table, "0.5");
    std::smatch said;
    const std::string diagnosis = model.certificate().diagnosis;
    ASSERT_TRUE(std::regex_search(diagnosis, said, std::regex("(\\d+) trees? of (\\d+) levels?")));
    const size_t trees = std::stoul(said[1]), depth = std::stoul(said[2]);
    // A start at the odds, a tree without a question, may come before.
    const bool has_start = model.forest()[0].num_leaves() == 1;
    ASSERT_EQ(model.forest().size(), trees * depth + (has_start ? 1 : 0));
    for (size_t tree = has_start ? 1 : 0; tree < model.forest().size(); ++tree) {
      const size_t level = (tree - (has_start ? 1 : 0)) % depth;
      EXPECT_LE(model.forest()[tree].num_leaves(), size_t{8} << level);
      EXPECT_GE(model.forest()[tree].num_leaves(), size_t{2} << level);
    }
  }
}

// "yes" depends on the sum of twelve features, each of which says little.
Table ManyTogether(size_t rows, const std::vector<std::string>& classes) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(12), "label", classes));
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    Row row(12);
    for (double& x : row) x = draw(engine);
    table.Append(row, std::accumulate(row.begin(), row.end(), 0.0) > 6 ? 1 : 0);
  }
  return table;
}

TEST(AutoTest, LinesSeeWhatColumnsSayTogether) {
  const Table table = ManyTogether(60'000, {"no", "yes"});
  const Model model = Trained(table, "1");
  EXPECT_THAT(model.certificate().diagnosis, HasSubstr("lines, then"));
  EXPECT_GT(Accuracy(model, table), 0.93);
}

TEST(AutoTest, HasNoLinesWithFewRowsOrManyClassesOrMostlyCategories) {
  const std::vector<std::string> three = {"no", "yes", "never"};
  EXPECT_THAT(Trained(Diagonal(1'000), "1").certificate().diagnosis, Not(HasSubstr("lines")));
  EXPECT_THAT(Trained(ManyTogether(60'000, three), "1").certificate().diagnosis,
              Not(HasSubstr("lines")));
  std::vector<Feature> features = NumericFeatures(1);
  features.push_back(Categorical("colour", {"red", "green"}));
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(features, "label", {"no", "yes"}));
  EXPECT_THAT(Trained(RandomTable(schema, {.rows = 50'000}, 1), "4").certificate().diagnosis,
              Not(HasSubstr("lines")));
}

// A cut is the next double above a whole number, so rows with that number go left.
TEST(AutoTest, TreesCutWholeNumbersAtMostAtOne) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Whole("x", 0, 9), Whole("z", -5, 5)}, "label", {"no", "yes"}));
  std::mt19937_64 engine(2);
  std::uniform_int_distribution<int> x(0, 9), z(-5, 5);
  Table table(schema);
  for (int i = 0; i < 5000; ++i) {
    const Row row = {static_cast<double>(x(engine)), static_cast<double>(z(engine))};
    table.Append(row, row[0] <= 3 ? 1 : 0);
  }
  const Model model = Trained(table, "1");
  size_t cuts = 0;
  for (const Tree& tree : model.forest()) {
    for (const Node& node : tree.nodes()) {
      if (node.kind != SplitKind::kNumeric || node.feature >= 2) continue;
      ++cuts;
      const double most = std::nextafter(node.threshold, -100.0);
      EXPECT_EQ(most, std::floor(most));
    }
  }
  EXPECT_GT(cuts, 0u);
  EXPECT_GT(Accuracy(model, table), 0.99);
}

// With ten rows noise decides whether the released number is enough for the finest cuts. If it is
// not, no cut lies between two of the coarser ones, as half of the finest do.
TEST(AutoTest, FewRowsOfAClassHaveFewerCuts) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(2), "label", {"no", "yes"}));
  Table table(schema);
  for (int i = 0; i < 10; ++i) table.Append({i / 10.0, 1 - i / 10.0}, i % 2);
  const std::vector<double> coarse = PublicBoostColumns(*schema, 0)->bins[0].cuts;
  ASSERT_GT(PublicBoostColumns(*schema, kAllInformation)->bins[0].cuts.size(), 1.9 * coarse.size());
  const auto share_of_coarse = [&](const Trainer& trainer) {
    double cuts = 0, coarse_cuts = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      SeededRandom random(seed);
      const Model model = *trainer.Train(table, {.epsilon = *Budget::Parse("1")}, random,
                                         [](double) { return OkStatus(); });
      const Node& root = model.forest()[0].nodes()[0];
      if (root.kind != SplitKind::kNumeric || root.feature >= 2) continue;
      ++cuts;
      coarse_cuts += std::count(coarse.begin(), coarse.end(), root.threshold) > 0 ? 1 : 0;
    }
    EXPECT_GT(cuts, 100);
    return coarse_cuts / cuts;
  };
  EXPECT_EQ(share_of_coarse(*AutoWithCuts(255)), 1);
  EXPECT_LT(share_of_coarse(*AutoWithCuts(511)), 0.65);
  EXPECT_GT(share_of_coarse(Auto()), 0.7);
}

TEST(AutoTest, ATinyEpsilonIsNoError) {
  for (const char* epsilon : {"0.000001", "0.00001", "0.0001"}) {
    EXPECT_THAT(Trained(Diagonal(10), epsilon).certificate().diagnosis, HasSubstr("level"));
  }
}

TEST(AutoTest, UsesADeltaOnlyWhereItHelps) {
  EXPECT_THAT(Trained(Diagonal(20'000), "1", kMillionth).certificate().diagnosis,
              HasSubstr("with Gaussian noise"));
  EXPECT_THAT(Trained(Diagonal(200), "0.5", kMillionth).certificate().diagnosis,
              HasSubstr("with Laplace noise"));
}

// Splitting all of them at once would need a tree too deep to be stored.
TEST(AutoTest, ThousandsOfCategoriesAreSplitOneByOne) {
  std::vector<std::string> values;
  for (int v = 0; v < 3000; ++v) values.push_back(StrCat("v", v));
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("code", values)}, "label", {"no", "yes"}));
  Table table(schema);
  for (int i = 0; i < 6000; ++i) table.Append(Row{static_cast<double>(i % 3000)}, i % 2);
  const Model model = Trained(table, "50");
  constexpr size_t kTreesOfTheVisit = 12;  // of 256 categories each
  ASSERT_GT(model.forest().size(), kTreesOfTheVisit);
  for (size_t tree = kTreesOfTheVisit; tree < model.forest().size(); ++tree) {
    EXPECT_LE(model.forest()[tree].depth(), 4u);
  }
}

// 300 categories, of which every third says "yes": one by one they would take a hundred splits.
TEST(AutoTest, LearnsWhatManyCategoriesSay) {
  std::vector<std::string> values;
  for (int v = 0; v < 300; ++v) values.push_back(StrCat("v", v));
  const auto schema = std::make_shared<const Schema>(*Schema::Create(
      {Categorical("code", values), Categorical("side", {"l", "r"})}, "label", {"no", "yes"}));
  Table table(schema);
  for (int i = 0; i < 30'000; ++i) {
    table.Append({static_cast<double>(i % 300), static_cast<double>(i % 2)}, i % 3 == 0 ? 1 : 0);
  }
  for (const uint64_t delta : {uint64_t{0}, kMillionth}) {
    const Model model = Trained(table, "2", delta);
    EXPECT_THAT(model.certificate().diagnosis, HasSubstr("each of 1 columns of many categories"));
    EXPECT_GT(Accuracy(model, table), 0.9);
  }
}

TEST(AutoTest, PredictsNumbersOfWideDeclaredBounds) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression(NumericFeatures(2), "price", Target{.min = 0, .max = 1'000'000}));
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < 20'000; ++i) {
    const Row row = {draw(engine), draw(engine)};
    table.AppendTarget(row, 50'000 + 20'000 * (row[0] > 0.5) + 5'000 * draw(engine));
  }
  const Model model = Trained(table, "1");
  double squares = 0;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    const double off = model.Predict(table.row(row)).value - table.target(row);
    squares += off * off;
  }
  EXPECT_LT(std::sqrt(squares / 20'000), 4'000);  // 10,104 without the split
}

// The mean of twelve features, each of which says little.
TEST(AutoTest, NumbersOfMostlyNumericTablesBeginWithLines) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression(NumericFeatures(12), "mean", Target{.min = 0, .max = 1}));
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < 30'000; ++i) {
    Row row(12);
    for (double& x : row) x = draw(engine);
    table.AppendTarget(row, std::accumulate(row.begin(), row.end(), 0.0) / 12);
  }
  for (const uint64_t delta : {uint64_t{0}, kMillionth}) {
    const Model model = Trained(table, "8", delta);
    EXPECT_THAT(model.certificate().diagnosis, HasSubstr("lines, then"));
    double squares = 0;
    for (size_t row = 0; row < 2'000; ++row) {
      const Prediction prediction = model.Predict(table.row(row));
      squares += std::pow(prediction.value - table.target(row), 2);
      EXPECT_GT(prediction.value_error, 0);
    }
    EXPECT_LT(std::sqrt(squares / 2'000), 0.03);  // a deviation of .083 without a model
    EXPECT_EQ(model.shared_noise().trees.size(), 13u);
  }
}

// The target is 80 if the first feature is low, else 30.
Table TwoHeights(size_t rows, double share_of_high) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression(NumericFeatures(2), "height", Target{.min = 0, .max = 100}));
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const Row row = {draw(engine), draw(engine)};
    table.AppendTarget(row, row[0] < share_of_high ? 80 : 30);
  }
  return table;
}

TEST(AutoTest, VeryFewNumbersHaveTheirMeanAndItsNoise) {
  for (const uint64_t delta : {uint64_t{0}, kMillionth}) {
    const Table table = TwoHeights(2'000, 0.2);  // mean 40
    const Model model = Trained(table, "0.05", delta);
    EXPECT_EQ(model.certificate().diagnosis, "one number for all rows, with Laplace noise");
    ASSERT_EQ(model.forest().size(), 1u);
    EXPECT_EQ(model.forest()[0].num_leaves(), 1u);
    const Prediction prediction = model.Predict(table.row(0));
    EXPECT_NEAR(prediction.value, 40, 5);
    EXPECT_GT(prediction.value_error, 0.2);
    EXPECT_LT(prediction.value_error, 4);
  }
  const Table none = TwoHeights(0, 0.2);
  EXPECT_THAT(Trained(none, "0.05").certificate().diagnosis, HasSubstr("one number"));
}

TEST(AutoTest, FewNumbersHaveTreesAroundTheirMean) {
  const Table table = TwoHeights(3'000, 0.5);
  const Model model = Trained(table, "0.2");
  EXPECT_THAT(model.certificate().diagnosis, HasSubstr("1 tree of 2 levels"));
  double squares = 0;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    squares += std::pow(model.Predict(table.row(row)).value - table.target(row), 2);
  }
  EXPECT_LT(std::sqrt(squares / 3'000), 15);  // 25 without trees
}

TEST(AutoTest, FewNumbersUseADeltaWhereItHelps) {
  constexpr uint64_t kThousandth = 1000 * kMillionth;
  EXPECT_THAT(Trained(TwoHeights(1'400, 0.5), "1", kThousandth).certificate().diagnosis,
              HasSubstr("with Gaussian noise"));
  EXPECT_THAT(Trained(TwoHeights(300, 0.5), "1", kMillionth).certificate().diagnosis,
              HasSubstr("with Laplace noise"));
}

TEST(AutoTest, KnowsHowFarNoiseMovesAPrediction) {
  const Table table = Diagonal(4000);
  const Prediction prediction = Trained(table, "1").Predict(table.row(0));
  ASSERT_TRUE(prediction.score.has_value());
  EXPECT_GT(prediction.score->error, 0);
  EXPECT_LT(prediction.standard_error, 0.5);
  EXPECT_LT(prediction.low, prediction.high);
  EXPECT_GT(Confidence(prediction), 0.5);
}

TEST(AutoTest, LinesShareTheirNoise) {
  const Model model = Trained(Diagonal(20'000), "2");
  EXPECT_EQ(model.shared_noise().trees.size(), 5u) << "a constant and four lines";
  EXPECT_EQ(model.shared_noise().factor.size(), 25u);
}

TEST(AutoTest, WithoutPrivacyThereIsNoNoise) {
  SeededRandom random(1);
  const Table table = Diagonal(500);
  ASSERT_OK_AND_ASSIGN(const Model model, Auto().Train(table, {.epsilon = std::nullopt}, random,
                                                       [](double) { return OkStatus(); }));
  const Prediction prediction = model.Predict(table.row(0));
  EXPECT_EQ(prediction.score->error, 0);
  EXPECT_EQ(Confidence(prediction), 1);
}

}  // namespace
}  // namespace coppice::trainers
