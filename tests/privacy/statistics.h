// The scores and statistics whose constants sensitivity_search_test checks.
//
// A trainer joins by one line in AllStatistics() for each score it selects by and each statistic it
// adds noise to: the constant in the code, and a function from a table to numbers.
//
// Tables here are large, so they hold the number of rows of each kind. A row has a side of each of
// two candidate splits, a and b, and a label. A second column says what a booster weighs the row.

#ifndef COPPICE_TESTS_PRIVACY_STATISTICS_H_
#define COPPICE_TESTS_PRIVACY_STATISTICS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/trainers/boosting/line_fit.h"
#include "server/trainers/boosting/public/public_guard.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/split_scores.h"
#include "server/trainers/dpboost/gradient_tree.h"
#include "server/trainers/lazybb/smooth_measure.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline constexpr uint32_t kSides = 2;
inline constexpr uint32_t kLabels = 3;  // low, middle, high; classes 0, 1, 2
inline constexpr uint32_t kKinds = kSides * kSides * kLabels;

struct Kind {
  uint32_t a, b, label;
};
inline Kind KindOf(uint32_t kind) {
  return {.a = kind / (kSides * kLabels), .b = kind / kLabels % kSides, .label = kind % kLabels};
}

using BigTable = std::array<int64_t, kKinds>;  // rows of each kind

enum class Moves {
  kRange,        // max change - min change over the numbers, for private selection
  kL1,           // sum of absolute changes, for noise on each number
  kSensitivity,  // the largest absolute change of one number
};
enum class Step { kAddRow, kChangeLabel };

struct Statistic {
  const char* name;
  Moves moves;
  Step step;
  double bound;  // the constant in the code
  std::function<std::vector<double>(const BigTable&)> numbers;
};

// What one child of a split holds.
struct Child {
  std::array<int64_t, kLabels> counts{};

  int64_t count() const { return counts[0] + counts[1] + counts[2]; }
  // Labels low, middle, high as gradients -1, 0, 1, or as numbers 0, half, 1 of `scale`.
  int64_t GradientSum() const { return (counts[2] - counts[0]) * trainers::kResidualSteps; }
  int64_t Sum(int64_t scale) const { return counts[1] * (scale / 2) + counts[2] * scale; }
  int64_t Squares(int64_t scale) const {
    return counts[1] * (scale / 2) * (scale / 2) + counts[2] * scale * scale;
  }
};

inline std::array<Child, kSides> ChildrenOf(const BigTable& table, bool split_b) {
  std::array<Child, kSides> children;
  for (uint32_t i = 0; i < kKinds; ++i) {
    const Kind kind = KindOf(i);
    children[split_b ? kind.b : kind.a].counts[kind.label] += table[i];
  }
  return children;
}

// The scores of the two splits; a split's score is the sum of `term` over its children.
template <typename Term>
std::function<std::vector<double>(const BigTable&)> ScoresBy(Term term) {
  return [term](const BigTable& table) {
    std::vector<double> scores;
    for (const bool split_b : {false, true}) {
      int64_t score = 0;
      for (const Child& child : ChildrenOf(table, split_b)) score += term(child);
      scores.push_back(static_cast<double>(score));
    }
    return scores;
  };
}

inline std::vector<double> ClassCounts(const BigTable& table) {
  std::vector<double> numbers;
  for (const Child& leaf : ChildrenOf(table, false)) {
    numbers.insert(numbers.end(), leaf.counts.begin(), leaf.counts.end());
  }
  return numbers;
}

// Half sums n + S and n - S, in units of the label's bound.
inline std::vector<double> HalfSums(const BigTable& table) {
  std::vector<double> numbers;
  for (const Child& leaf : ChildrenOf(table, false)) {
    const auto count = static_cast<double>(leaf.count());
    const auto sum = static_cast<double>(leaf.GradientSum()) / trainers::kResidualSteps;
    numbers.push_back(count + sum);
    numbers.push_back(count - sum);
  }
  return numbers;
}

// Gradient boosting's leaf values S / (n + 1/10), in units of the gradients' bound.
inline std::vector<double> LeafValues(const BigTable& table) {
  std::vector<double> numbers;
  for (const Child& leaf : ChildrenOf(table, false)) {
    numbers.push_back(static_cast<double>(leaf.GradientSum()) / trainers::kResidualSteps /
                      (static_cast<double>(leaf.count()) + 0.1));
  }
  return numbers;
}

// Scores of the cuts at 0, 1 and 2 for the median of rows whose value is their label.
inline std::vector<double> QuantileScores(const BigTable& table, int64_t part, int64_t whole) {
  const Child all = [&] {
    Child sum;
    for (uint32_t i = 0; i < kKinds; ++i) sum.counts[KindOf(i).label] += table[i];
    return sum;
  }();
  std::vector<double> scores;
  int64_t rank = 0;
  for (const int64_t of_value : all.counts) {
    rank += of_value;
    scores.push_back(-static_cast<double>(std::abs(whole * rank - part * all.count())));
  }
  return scores;
}

// Masses of a booster's rows, in units of one row; the middle label counts as low. Relabelling one
// row moves masses by two units in L1.
inline constexpr int64_t kMass = trainers::kScoreUnit;
inline int64_t WeightedGini(const Child& child) {
  return trainers::WeightedGiniTerm((child.counts[0] + child.counts[1]) * kMass,
                                    child.counts[2] * kMass);
}

// What the two splits of a leaf gain, including the leaf's own impurity.
inline std::vector<double> ImpurityDrops(const BigTable& table) {
  std::vector<double> drops;
  for (const bool split_b : {false, true}) {
    const auto [left, right] = ChildrenOf(table, split_b);
    Child leaf;
    for (uint32_t i = 0; i < kLabels; ++i) leaf.counts[i] = left.counts[i] + right.counts[i];
    drops.push_back(
        static_cast<double>(WeightedGini(left) + WeightedGini(right) - WeightedGini(leaf)));
  }
  return drops;
}

// A round of smooth boosting, and how far a row can move it. `done` rules have voted, and each said
// "low" exactly for rows of side a = 0. So a row's margin is `done` where that is right and -done
// where it is wrong; rows of the middle label were voted low half the time.
struct BoostingRound {
  uint32_t done;
  uint32_t density;  // kappa, in thousandths

  static constexpr double kRate = 0.35;
  trainers::SmoothMeasure measure() const {
    return trainers::SmoothMeasure(kRate, density, std::max(done, 1u));
  }
  double change() const {
    return static_cast<double>(measure().MassChange(done)) / trainers::kMassUnit;
  }

  // The mass of all rows of each kind.
  std::array<double, kKinds> Masses(const BigTable& table) const {
    constexpr int64_t kMaxPerKind = int64_t{1} << 22;  // above the measure's domain
    const trainers::SmoothMeasure measure = this->measure();
    std::vector<uint64_t> counts(2 * measure.rounds() + 1);
    const auto rows = [&](uint32_t i) {
      return static_cast<uint64_t>(std::min(table[i], kMaxPerKind));
    };
    const auto place = [&](uint32_t i) {
      const Kind kind = KindOf(i);
      const int64_t votes = (1 - static_cast<int64_t>(kind.label)) * int64_t{done};
      return static_cast<size_t>((kind.a == 0 ? votes : -votes) + measure.rounds());
    };
    for (uint32_t i = 0; i < kKinds; ++i) counts[place(i)] += rows(i);
    const std::vector<int64_t> by_margin = measure.MassByMargin(counts);
    std::array<double, kKinds> masses{};
    for (uint32_t i = 0; i < kKinds; ++i) {
      masses[i] = static_cast<double>(by_margin[place(i)]) * static_cast<double>(rows(i)) /
                  static_cast<double>(trainers::kMassUnit);
    }
    return masses;
  }

  // The masses that the rules "low if b" and "low if not b" get wrong.
  std::vector<double> WrongMasses(const BigTable& table) const {
    std::vector<double> wrong(2);
    const std::array<double, kKinds> masses = Masses(table);
    for (uint32_t i = 0; i < kKinds; ++i) wrong[KindOf(i).a == KindOf(i).b ? 0 : 1] += masses[i];
    return wrong;
  }

  // The masses of the classes in the leaves of split b; leaf votes spend their L1 change.
  std::vector<double> LeafMasses(const BigTable& table) const {
    std::vector<double> leaves(4);
    const std::array<double, kKinds> masses = Masses(table);
    for (uint32_t i = 0; i < kKinds; ++i) leaves[2 * KindOf(i).b + KindOf(i).a] += masses[i];
    return leaves;
  }
};

inline constexpr int64_t kLabelSteps = 1000;  // of regression labels

inline std::vector<double> SquaredErrors(const BigTable& table) {
  return ScoresBy([](const Child& child) {
    return trainers::SquaredErrorTerm(child.count(), child.Sum(kLabelSteps),
                                      child.Squares(kLabelSteps));
  })(table);
}

inline std::vector<double> Gains(const BigTable& table) {
  return ScoresBy([](const Child& child) {
    return trainers::GainTerm(child.count(), child.GradientSum(), {1, 10});
  })(table);
}

// Boosting of three classes: the residuals of rows that are sure to be of another class than their
// own, the largest there are. The third output is for rows with the middle label.
inline std::array<int64_t, kLabels> ResidualSums(const Child& child) {
  const auto [low, middle, high] = child.counts;
  return {(low - high) * trainers::kResidualSteps, (high - low - middle) * trainers::kResidualSteps,
          middle * trainers::kResidualSteps};
}

inline std::vector<double> GainsOfClasses(const BigTable& table) {
  return ScoresBy([](const Child& child) {
    return trainers::GainTerm(child.count(), ResidualSums(child), /*squared_norm=*/2, {1, 10});
  })(table);
}

// Counts and sums, in units of the residuals' bound.
inline std::vector<double> LeafSumsOfClasses(const BigTable& table) {
  std::vector<double> numbers;
  for (const Child& leaf : ChildrenOf(table, false)) {
    for (const int64_t sum : ResidualSums(leaf)) {
      numbers.push_back(static_cast<double>(sum) / trainers::kResidualSteps);
    }
    numbers.push_back(static_cast<double>(leaf.count()));
  }
  return numbers;
}

// Lines through the two sides, which lie at their ends; residuals are half a unit or none.
inline constexpr int64_t kHalfResidual = int64_t{1} << 19;
inline std::array<int64_t, 3> TermsOf(const Kind& kind) {
  return {trainers::kLineUnit, kind.a == 0 ? -trainers::kLineUnit : trainers::kLineUnit,
          kind.b == 0 ? -trainers::kLineUnit : trainers::kLineUnit};
}
inline std::vector<double> LineMoments(const BigTable& table) {
  std::vector<double> sums(6);
  for (uint32_t i = 0; i < kKinds; ++i) {
    const std::array<int64_t, 3> terms = TermsOf(KindOf(i));
    size_t at = 0;
    for (size_t j = 0; j < 3; ++j) {
      for (size_t k = j; k < 3; ++k) {
        sums[at++] += static_cast<double>(table[i] * terms[j] * terms[k]);
      }
    }
  }
  return sums;
}
inline std::vector<double> LineGradients(const BigTable& table) {
  std::vector<double> sums(3);
  for (uint32_t i = 0; i < kKinds; ++i) {
    const std::array<int64_t, 3> terms = TermsOf(KindOf(i));
    const int64_t residual = (int64_t{KindOf(i).label} - 1) * kHalfResidual;
    for (size_t j = 0; j < 3; ++j) sums[j] += static_cast<double>(table[i] * terms[j] * residual);
  }
  return sums;
}

// How good answers are after four lengths of a step. Rows of side a = 0 are surely of the high
// class before it and surely of the other after the whole step, and the others the other way round.
inline std::vector<double> QualitiesOfSteps(const BigTable& table) {
  static constexpr std::array<double, 4> kLengths = {1, 0.5, 0.2, 0};
  static constexpr double kSure = 60;
  static const std::vector<std::vector<int64_t>>* const of_kind = [] {
    const auto schema = std::make_shared<const Schema>(
        *Schema::Create({Numeric("x", 0, 1)}, "label", {"other", "high"}));
    auto* const qualities = new std::vector<std::vector<int64_t>>(kKinds);
    for (uint32_t i = 0; i < kKinds; ++i) {
      Table row(schema);
      row.Append(Row{0}, KindOf(i).label == 2 ? 1 : 0);
      const auto bins = trainers::PublicBins(*schema, 1);
      const auto binned = trainers::BinnedRows::Create(row, *bins);
      const trainers::AnswerQuality quality(*binned, /*unit_of_scores=*/1);
      const double before = KindOf(i).a == 0 ? kSure : -kSure;
      for (const double length : kLengths) {
        (*qualities)[i].push_back(quality.SumOf({{before}}, length, {{-2 * before}}));
      }
    }
    return qualities;
  }();
  std::vector<double> sums(kLengths.size());
  for (uint32_t i = 0; i < kKinds; ++i) {
    for (size_t l = 0; l < sums.size(); ++l) {
      sums[l] += static_cast<double>(table[i] * (*of_kind)[i][l]);
    }
  }
  return sums;
}

inline constexpr BoostingRound kLateRound{.done = 20, .density = 350};
inline constexpr BoostingRound kSecondRound{.done = 1, .density = 350};
inline constexpr BoostingRound kFirstRound{.done = 0, .density = 350};

inline std::vector<Statistic> AllStatistics() {
  return {
      {"gain", Moves::kRange, Step::kAddRow, trainers::kGainRange, Gains},
      {"gain of classes", Moves::kRange, Step::kAddRow, trainers::kGainRange, GainsOfClasses},
      {"leaf sums of classes", Moves::kL1, Step::kAddRow,
       static_cast<double>(trainers::GradientLeafSensitivity(3)) / trainers::kResidualSteps,
       LeafSumsOfClasses},
      {"squared error", Moves::kRange, Step::kAddRow, trainers::SquaredErrorRange(kLabelSteps),
       SquaredErrors},
      {"weighted Gini", Moves::kRange, Step::kChangeLabel, trainers::WeightedGiniRange(2 * kMass),
       ImpurityDrops},
      {"miscount", Moves::kRange, Step::kAddRow, trainers::kMiscountRange,
       ScoresBy([](const Child& child) { return trainers::MiscountTerm(child.counts); })},
      {"Gini", Moves::kRange, Step::kAddRow, trainers::kGiniRange,
       ScoresBy([](const Child& child) { return trainers::GiniTerm(child.counts); })},
      {"wrong mass of a rule", Moves::kRange, Step::kAddRow, kLateRound.change(),
       [](const BigTable& table) { return kLateRound.WrongMasses(table); }},
      {"wrong mass of a rule, second round", Moves::kRange, Step::kAddRow, kSecondRound.change(),
       [](const BigTable& table) { return kSecondRound.WrongMasses(table); }},
      {"wrong mass of a rule, first round", Moves::kRange, Step::kAddRow, kFirstRound.change(),
       [](const BigTable& table) { return kFirstRound.WrongMasses(table); }},
      {"masses of leaves", Moves::kL1, Step::kAddRow, kLateRound.change(),
       [](const BigTable& table) { return kLateRound.LeafMasses(table); }},
      {"median", Moves::kRange, Step::kAddRow, 2,
       [](const BigTable& table) { return QuantileScores(table, 1, 2); }},
      {"quantile 3/4", Moves::kRange, Step::kAddRow, 6,
       [](const BigTable& table) { return QuantileScores(table, 3, 4); }},
      {"class counts", Moves::kL1, Step::kAddRow, 1, ClassCounts},
      {"class counts, labels private", Moves::kL1, Step::kChangeLabel, 2, ClassCounts},
      {"half sums", Moves::kL1, Step::kAddRow,
       static_cast<double>(trainers::GradientLeafSensitivity(1)) / trainers::kResidualSteps,
       HalfSums},
      {"moments of lines", Moves::kL1, Step::kAddRow,
       static_cast<double>(trainers::MomentSensitivity(3).l1), LineMoments},
      {"gradients of lines", Moves::kL1, Step::kAddRow,
       static_cast<double>(trainers::LineSensitivity({.l1 = kHalfResidual}, 3).l1), LineGradients},
      {"quality of answers after steps", Moves::kRange, Step::kAddRow,
       static_cast<double>(trainers::kQualityUnit), QualitiesOfSteps},
      {"leaf values", Moves::kL1, Step::kAddRow, 1 / 1.1, LeafValues},
  };
}

// Constants from papers or their code that are unsafe.
inline std::vector<Statistic> UnsafeStatistics() {
  constexpr double kLambda = 0.1;
  return {
      {"gain as in DPBoost Lemma 1", Moves::kSensitivity, Step::kAddRow,
       (3 * kLambda + 2) / ((kLambda + 1) * (kLambda + 2)) * trainers::kScoreUnit, Gains},
      {"gain, selection as in DPBoost", Moves::kRange, Step::kAddRow,
       2 * (3 * kLambda + 2) / ((kLambda + 1) * (kLambda + 2)) * trainers::kScoreUnit, Gains},
      {"label counts as in PTE and SSPE 2", Moves::kL1, Step::kChangeLabel, 1, ClassCounts},
      {"impurity of a leaf as in thesis Lemma 4 2 3", Moves::kSensitivity, Step::kChangeLabel,
       1.25 * kMass,
       [](const BigTable& table) {
         return std::vector<double>{static_cast<double>(WeightedGini(ChildrenOf(table, false)[0]))};
       }},
      {"impurity drop as in thesis Lemma 4 2 4", Moves::kSensitivity, Step::kChangeLabel,
       4.0 * kMass, ImpurityDrops},
      // Masses by position: relabelling a row leaves all masses, and still moves the error.
      {"error as in thesis Observation 2 7 1", Moves::kSensitivity, Step::kChangeLabel, 0,
       [](const BigTable& table) {
         double wrong = 0;
         for (uint32_t i = 0; i < kKinds; ++i) {
           const double count = static_cast<double>(table[i]);
           wrong += (KindOf(i).b == 1) == (KindOf(i).label == 2) ? 0 : count;
         }
         return std::vector<double>{wrong};
       }},
      // Parallel composition over leaves assumes that only the row's own leaf moves, by its mass.
      {"masses of leaves as in thesis Theorem 4 2 2", Moves::kL1, Step::kAddRow, 1,
       [](const BigTable& table) { return kLateRound.LeafMasses(table); }},
      {"wrong mass as if all rounds were the first", Moves::kRange, Step::kAddRow,
       kFirstRound.change(), [](const BigTable& table) { return kLateRound.WrongMasses(table); }},
      {"moments of lines as if pairs were terms", Moves::kL1, Step::kAddRow,
       3.0 * trainers::kLineUnit * trainers::kLineUnit, LineMoments},
      {"quality of answers as if a row moved it by half", Moves::kRange, Step::kAddRow,
       0.5 * trainers::kQualityUnit, QualitiesOfSteps},
      {"median score as if one row moved a rank alone", Moves::kRange, Step::kAddRow, 1,
       [](const BigTable& table) { return QuantileScores(table, 1, 2); }},
  };
}

// Constants that waste budget.
inline std::vector<Statistic> WastefulStatistics() {
  return {
      {"squared error as in DiPriMe's code", Moves::kRange, Step::kAddRow,
       8.0 * trainers::SquaredErrorRange(kLabelSteps), SquaredErrors},
  };
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_STATISTICS_H_
