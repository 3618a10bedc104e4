// logistic: what it decides, and that it learns.

#include <random>

#include "common/base/status.h"
#include "server/trainers/boosting/boosting.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMillionth = 1'000'000'000'000;  // of delta, in 1e-18

Model Trained(const Table& table, const char* epsilon, const Settings& settings = {},
              uint64_t delta_atto = 0) {
  SeededRandom random(1);
  TrainOptions options;
  options.delta_atto = delta_atto;
  options.settings = settings;
  if (epsilon != nullptr) options.epsilon = *Budget::Parse(epsilon);
  return *Logistic().Train(table, options, random, [](double) { return OkStatus(); });
}

double Accuracy(const Model& model, const Table& table) {
  size_t right = 0;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    right += model.Predict(table.row(row)).label == table.label(row) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(table.num_rows());
}

// Two features that say little alone: the class is which of them is larger.
Table TheLarger(size_t rows, uint32_t classes = 2) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("z", 0, 1)}, "label",
                      classes == 2 ? std::vector<std::string>{"no", "yes"}
                                   : std::vector<std::string>{"no", "yes", "perhaps"}));
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const double both = 0.8 * draw(engine);
    const Row row = {both + 0.2 * draw(engine), both + 0.2 * draw(engine)};
    const double lead = row[0] - row[1];
    table.Append(row, classes == 2 ? (lead > 0 ? 1 : 0) : lead > 0.05 ? 1 : lead > -0.05 ? 2 : 0);
  }
  return table;
}

// "yes" in the middle third of one feature, or for one of three colours.
Table Bumps(size_t rows) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Categorical("colour", {"red", "green", "blue"})},
                      "label", {"no", "yes"}));
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<> draw(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const Row row = {draw(engine), static_cast<double>(engine() % 3)};
    const bool middle = row[0] > 0.375 && row[0] < 0.75;
    table.Append(row, middle || row[1] == 2 ? 1 : 0);
  }
  return table;
}

TEST(LogisticTest, LinesAreFittedTogether) {
  const Table table = TheLarger(20'000);
  EXPECT_GT(Accuracy(Trained(table, "1"), table), 0.93);
  EXPECT_LT(Accuracy(Trained(table, "1", {{"lines", "0"}}), table), 0.8);
}

TEST(LogisticTest, LinesOfThreeClassesToo) {
  const Table table = TheLarger(20'000, 3);
  EXPECT_GT(Accuracy(Trained(table, "2"), table), 0.75);
}

TEST(LogisticTest, BinsFollowWhatIsNoLine) {
  const Table table = Bumps(20'000);
  EXPECT_GT(Accuracy(Trained(table, "1"), table), 0.95);
}

TEST(LogisticTest, SaysWhatItChoseFromTheNumberOfRowsAsReleased) {
  EXPECT_EQ(Trained(TheLarger(20'000), "1").certificate().diagnosis,
            "2 lines, then each column in at most 16 bins, with Laplace noise");
  EXPECT_THAT(Trained(TheLarger(100), "0.5").certificate().diagnosis,
              AllOf(Not(HasSubstr("lines")), HasSubstr("at most 8 bins")));
}

TEST(LogisticTest, UsesADeltaOnlyWhereColumnsAreMany) {
  EXPECT_THAT(Trained(TheLarger(1000), "1", {}, kMillionth).certificate().diagnosis,
              HasSubstr("with Laplace noise"));
  const auto wide =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(200), "label", {"no", "yes"}));
  EXPECT_THAT(
      Trained(RandomTable(wide, {.rows = 50}, 1), "1", {}, kMillionth).certificate().diagnosis,
      HasSubstr("with Gaussian noise"));
}

TEST(LogisticTest, TheNumberOfRowsIsNotAskedForWhereNothingFollowsFromIt) {
  const auto releases = [](const Settings& settings) {
    return Trained(Bumps(10), "1", settings).certificate().releases.size();
  };
  EXPECT_EQ(releases({}), 2u);
  EXPECT_EQ(releases({{"lines", "0"}}), 2u);
  EXPECT_EQ(releases({{"lines", "0"}, {"bins", "8"}}), 1u);
}

TEST(LogisticTest, NoRowsSayNothing) {
  const Table none(Bumps(1).shared_schema());
  const Model model = Trained(none, nullptr);
  const Prediction prediction = model.Predict(Row{0.5, 1});
  EXPECT_EQ(prediction.probabilities, (std::vector<double>{0.5, 0.5}));
}

}  // namespace
}  // namespace coppice::trainers
