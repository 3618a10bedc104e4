// Whether the intervals of scores hold the true ones as often as they say. The true score has every
// released sum replaced by the exact one along the same path; the tables are known here.
//
// A model is trained twice from the same random numbers. The second time the releaser, which knows
// the sums, tells what noise really added. Votes of lazybb are counted again round by round. The
// rows asked about are not those of the training.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/lazybb/smooth_measure.h"
#include "server/trainers/registry.h"
#include "tests/support/data_dir.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using coppice::testing::SeededRandom;

constexpr double kNormal90 = 1.644854;
constexpr int kModels = 40;
// This many models leave this much of a share open: one model's share varies by about a tenth.
constexpr double kSampling = 0.02;
constexpr size_t kRowsAsked = 300;

class ExactReleaser final : public PrivateReleaser {
 public:
  using PrivateReleaser::PrivateReleaser;

  StatusOr<Measurement> Measure(absl::Span<const int64_t> sums, const Sensitivity& sensitivity,
                                const BudgetShare& share) override {
    exact_.assign(sums.begin(), sums.end());
    return PrivateReleaser::Measure(sums, sensitivity, share);
  }
  std::vector<OutputNoise> NoiseOf(
      const Measurement& measured,
      const std::function<std::vector<double>(const Measurement&)>& scores,
      const std::function<std::vector<OutputNoise>()>&) const override {
    Measurement exact = measured;
    exact.sums = exact_;
    const std::vector<double> released = scores(measured), before = scores(exact);
    std::vector<OutputNoise> noise(released.size());
    for (size_t i = 0; i < noise.size(); ++i) noise[i].mean = released[i] - before[i];
    return noise;
  }

 private:
  std::vector<int64_t> exact_;  // of the last measurement
};

struct Case {
  const char* algorithm;
  const char* set;
  const char* epsilon;
  uint64_t delta_atto = 0;
  Settings settings{};
  bool judged = true;  // else only told
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.algorithm << " on " << c.set << " at epsilon " << c.epsilon
       << (c.delta_atto > 0 ? " with a delta" : "");
}

// Even rows are for training, and the others are asked about.
struct Halves {
  Table training, asked;
};

StatusOr<Halves> ReadHalves(const std::string& folder, const std::string& set) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(StrCat(folder, "/schema.json")));
  COPPICE_ASSIGN_OR_RETURN(
      const TableFile file,
      ReadTable(StrCat(folder, "/", set, ".csv"), schema.schema, {.format = schema.format}));
  std::vector<size_t> even, odd;
  for (size_t i = 0; i < file.table.num_rows(); ++i) (i % 2 == 0 ? even : odd).push_back(i);
  return Halves{.training = file.table.Select(even), .asked = file.table.Select(odd)};
}

// How often the 90 % intervals of a model's scores hold the true scores.
class Coverage {
 public:
  // `truth` gives a row's true score for the predicted class.
  void Ask(const Model& model, const Table& rows,
           const std::function<double(RowView, const Prediction&)>& truth) {
    const size_t step = std::max<size_t>(1, rows.num_rows() / kRowsAsked);
    Row row;
    for (size_t i = 0; i < rows.num_rows(); i += step) {
      rows.CopyRow(i, row);
      const Prediction prediction = model.Predict(row);
      ASSERT_TRUE(prediction.score.has_value());
      const double off = std::abs(truth(row, prediction) - prediction.score->value);
      ++asked_;
      if (off <= kNormal90 * prediction.score->error + 1e-9) ++inside_;
      errors_ += prediction.score->error;
      squares_ += off * off;
    }
  }

  double share() const { return inside_ / asked_; }
  std::string Text() const {
    return StrCat("coverage ", share(), ", mean standard error ", errors_ / asked_,
                  ", root mean square of what it is of ", std::sqrt(squares_ / asked_));
  }

 private:
  double asked_ = 0, inside_ = 0, errors_ = 0, squares_ = 0;
};

Status GoOn(double) { return OkStatus(); }

class NoiseCoverage : public ::testing::TestWithParam<Case> {};

TEST_P(NoiseCoverage, IsWhatIntervalsSay) {
  const Case& c = GetParam();
  COPPICE_NEEDS_DATA_SET(folder, c.set);
  ASSERT_OK_AND_ASSIGN(const Halves halves, ReadHalves(folder, c.set));
  ASSERT_OK_AND_ASSIGN(const Trainer* const trainer, FindTrainer(c.algorithm));
  const TrainOptions options{
      .epsilon = *Budget::Parse(c.epsilon), .delta_atto = c.delta_atto, .settings = c.settings};
  Coverage coverage;
  for (int seed = 1; seed <= kModels; ++seed) {
    SeededRandom random(seed), again(seed);
    PrivateReleaser releaser(random);
    ExactReleaser exact_releaser(again);
    ASSERT_OK_AND_ASSIGN(const Model model,
                         trainer->TrainWith(halves.training, options, releaser, GoOn));
    ASSERT_OK_AND_ASSIGN(const Model exact,
                         trainer->TrainWith(halves.training, options, exact_releaser, GoOn));
    coverage.Ask(model, halves.asked, [&](RowView row, const Prediction& prediction) {
      const Prediction truth = exact.Predict(row);
      EXPECT_EQ(truth.probabilities, prediction.probabilities) << "the runs drew differently";
      return truth.score->value;
    });
  }
  std::cout << ::testing::PrintToString(c) << ": " << coverage.Text() << "\n";
  if (!c.judged) return;
  EXPECT_GE(coverage.share(), 0.86 - kSampling);
  EXPECT_LE(coverage.share(), 0.95 + kSampling);
}

// Two classes with numbers, four classes, categories alone, and a number to predict.
// COPPICE_ALL_SETS=1 adds the sets that these were chosen from, some of which are below the limits;
// docs/research/mechanisms.md has the results.
constexpr std::string_view kJudged[] = {"credit", "robot24", "mushroom", "abalone"};

std::vector<Case> Cases() {
  constexpr uint64_t kDelta = 1'000'000'000'000;  // 1e-6
  const bool all = std::getenv("COPPICE_ALL_SETS") != nullptr;
  std::vector<const char*> classes = {"credit", "robot24", "mushroom"};
  std::vector<const char*> numbers = {"abalone"};
  if (all) {
    classes.insert(classes.end(), {"rice", "car", "banknote", "occupancy", "cod-rna", "robot4"});
    numbers.insert(numbers.end(), {"appliances", "parkinsons"});
  }
  std::vector<Case> cases;
  const auto add = [&](const char* algorithm, const char* set, uint64_t delta_atto) {
    const bool judged = std::find(std::begin(kJudged), std::end(kJudged), std::string_view(set)) !=
                        std::end(kJudged);
    for (const char* epsilon : {"0.5", "1"}) {
      cases.push_back({.algorithm = algorithm,
                       .set = set,
                       .epsilon = epsilon,
                       .delta_atto = delta_atto,
                       .judged = judged});
    }
  };
  for (const char* set : classes) {
    for (const char* algorithm : {"auto", "dpboost", "logistic"}) add(algorithm, set, 0);
    for (const char* algorithm : {"auto", "logistic"}) add(algorithm, set, kDelta);
  }
  for (const char* set : numbers) {
    for (const char* algorithm : {"auto", "dpboost"}) add(algorithm, set, 0);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Sets, NoiseCoverage, ::testing::ValuesIn(Cases()),
                         [](const auto& one) { return StrCat("case_", one.index); });

// The votes of lazybb's model if noise had turned none around, with the same rules in the same
// rounds.
class ExactVotes {
 public:
  // `density` is kappa in thousandths.
  ExactVotes(const Model& model, const Table& rows, double rate, uint32_t density, bool by_leaf)
      : model_(model), rows_(rows), factor_(model.forest().size()) {
    const uint32_t classes = model.schema().num_classes();
    const uint32_t problems = classes == 2 ? 1 : classes;
    const auto rounds = static_cast<uint32_t>(model.forest().size()) / problems;
    const SmoothMeasure measure(rate, density, rounds);
    for (uint32_t problem = 0; problem < problems; ++problem) {
      const uint32_t about = problems == 1 ? 1 : problem;
      std::vector<int64_t> sums(rows.num_rows());
      for (uint32_t round = 0; round < rounds; ++round) {
        const size_t tree = size_t{round} * problems + problem;
        Correct(tree, MassesOf(sums, about, measure), about, by_leaf, sums);
      }
    }
  }

  // One sum per output.
  std::vector<double> SumsOf(RowView row) const {
    std::vector<double> sums(model_.schema().num_classes());
    for (size_t t = 0; t < model_.forest().size(); ++t) {
      const uint32_t leaf = model_.forest()[t].FindLeaf(row);
      const std::vector<double>& votes = model_.leaves()[t][leaf].probabilities;
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += factor_[t][leaf] * votes[k];
    }
    return sums;
  }

 private:
  std::vector<int64_t> MassesOf(const std::vector<int64_t>& sums, uint32_t about,
                                const SmoothMeasure& measure) const {
    const auto margin = [&](size_t row) {
      return (rows_.label(row) == about ? sums[row] : -sums[row]) + measure.rounds();
    };
    std::vector<uint64_t> counts(2 * size_t{measure.rounds()} + 1);
    for (size_t row = 0; row < sums.size(); ++row) ++counts[margin(row)];
    const std::vector<int64_t> by_margin = measure.MassByMargin(counts);
    std::vector<int64_t> masses;
    for (size_t row = 0; row < sums.size(); ++row) {
      masses.push_back(rows_.label(row) == about ? by_margin[margin(row)]
                                                 : -by_margin[margin(row)]);
    }
    return masses;
  }

  // Finds which votes of a tree noise turned around, and adds the released votes.
  void Correct(size_t tree, const std::vector<int64_t>& masses, uint32_t about, bool by_leaf,
               std::vector<int64_t>& sums) {
    std::vector<double> margin(model_.forest()[tree].num_leaves());
    Row row;
    for (size_t i = 0; i < sums.size(); ++i) {
      rows_.CopyRow(i, row);
      const uint32_t leaf = model_.forest()[tree].FindLeaf(row);
      const double vote = model_.leaves()[tree][leaf].probabilities[about];
      margin[by_leaf ? leaf : 0] += vote * static_cast<double>(masses[i]);
      sums[i] += static_cast<int64_t>(vote);
    }
    for (size_t leaf = 0; leaf < margin.size(); ++leaf) {
      factor_[tree].push_back(margin[by_leaf ? leaf : 0] < 0 ? -1 : 1);
    }
  }

  const Model& model_;
  const Table& rows_;
  std::vector<std::vector<double>> factor_;  // factor_[tree][leaf]: -1 where noise won
};

// The label's log-odds against all other classes.
double LogOdds(const std::vector<double>& sums, uint32_t label) {
  double others = 0;
  for (uint32_t k = 0; k < sums.size(); ++k) others += k == label ? 0 : std::exp(sums[k]);
  return sums[label] - std::log(others);
}

class VoteCoverage : public ::testing::TestWithParam<Case> {};

// Votes are few and whole, so intervals hold more than they say if noise turns hardly any around.
TEST_P(VoteCoverage, IsNotBelowWhatIntervalsSay) {
  const Case& c = GetParam();
  COPPICE_NEEDS_DATA_SET(folder, c.set);
  ASSERT_OK_AND_ASSIGN(const Halves halves, ReadHalves(folder, c.set));
  ASSERT_OK_AND_ASSIGN(const Trainer* const trainer, FindTrainer(c.algorithm));
  constexpr double kRate = 0.35;
  constexpr uint32_t kDensity = 350;
  Settings settings = c.settings;
  settings["lambda"] = "0.35";
  settings["kappa"] = "0.35";
  const TrainOptions options{.epsilon = *Budget::Parse(c.epsilon), .settings = settings};
  Coverage coverage;
  for (int seed = 1; seed <= kModels; ++seed) {
    SeededRandom random(seed);
    ASSERT_OK_AND_ASSIGN(const Model model, trainer->Train(halves.training, options, random, GoOn));
    const bool by_leaf = settings["learner"] == "top_down";
    const ExactVotes exact(model, halves.training, kRate, kDensity, by_leaf);
    coverage.Ask(model, halves.asked, [&](RowView row, const Prediction& prediction) {
      return LogOdds(exact.SumsOf(row), prediction.label);
    });
  }
  std::cout << ::testing::PrintToString(c) << " by " << settings["learner"] << ": "
            << coverage.Text() << "\n";
  EXPECT_GE(coverage.share(), 0.86 - kSampling);
}

std::vector<Case> VoteCases() {
  std::vector<Case> cases;
  for (const char* epsilon : {"0.1", "1"}) {
    for (const char* set : {"credit", "robot24", "mushroom"}) {
      for (const char* learner : {"one_rule", "top_down"}) {
        cases.push_back({.algorithm = "lazybb",
                         .set = set,
                         .epsilon = epsilon,
                         .settings = {{"learner", learner}}});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Sets, VoteCoverage, ::testing::ValuesIn(VoteCases()),
                         [](const auto& one) { return StrCat("case_", one.index); });

}  // namespace
}  // namespace coppice::trainers
