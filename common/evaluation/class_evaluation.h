// Compares predicted classes with the true ones, and with always answering the most frequent class.
//
// Every figure is an exact function of the rows added: on private rows it is itself a release.

#ifndef COPPICE_COMMON_EVALUATION_CLASS_EVALUATION_H_
#define COPPICE_COMMON_EVALUATION_CLASS_EVALUATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/evaluation/calibration.h"
#include "common/evaluation/value_counts.h"

namespace coppice {

// The most frequent class (the lowest on a tie) and its share of the rows; 0 if there are none.
struct Majority {
  uint32_t label = 0;
  double share = 0;
};
Majority MajorityOf(absl::Span<const uint64_t> rows_of_class);
// Skips labels that are not one of the classes.
Majority MajorityOf(absl::Span<const uint32_t> labels, uint32_t classes);

// A log loss replaces lower probabilities by this one, so that a single row answered wrongly with
// certainty does not make it infinite.
inline constexpr double kMinLogLossProbability = 1e-6;

// Scores of the answered rows, next to those of the majority on the same rows.
struct ClassScores {
  uint64_t rows = 0;
  uint64_t abstained = 0;  // not in `rows`
  uint64_t correct = 0;
  double accuracy = 0;
  ConfidenceInterval interval;  // Wilson's
  Majority majority;
  double gain = 0;  // accuracy minus the majority's
  // Paired: counts rows that only one of the two answers right, plus half a row in each cell
  // (Agresti and Min 2005), so that it has a width even if they never differ.
  ConfidenceInterval gain_interval;
  // Two classes: from the second one's probability. More: the mean of each class against the rest,
  // over classes with at least one row and not all rows. Unset if there is none.
  std::optional<double> auc;
  bool is_auc_exact = true;      // false if probabilities were rounded: see ClassEvaluation
  double log_loss = 0;           // in nats
  double majority_log_loss = 0;  // of always answering the classes' shares in these rows
  std::vector<std::vector<uint64_t>> confusion;  // confusion[true class][predicted]
  std::vector<std::optional<double>> recall;     // per class; unset if it has no row
  std::vector<std::optional<double>> precision;  // per class; unset if it is never predicted
  // Ten bins of the second class's probability; with more classes, of the predicted label's.
  std::vector<CalibrationBin> calibration;
  // Mean of |predicted - observed|, weighted by rows. Few rows bias it upwards; PoolCalibration()
  // corrects that.
  double calibration_error = 0;
};

// Guarantee  memory does not grow with the rows: it holds the confusion matrix, and for the AUC up
//            to 2^20 distinct probabilities over all classes, with counts. Beyond that,
//            probabilities are rounded to this many even steps, and is_auc_exact is false.
// Threads    not thread-safe.
class ClassEvaluation {
 public:
  explicit ClassEvaluation(uint32_t classes);

  // `probabilities` has one entry per class. `predicted` need not be the most probable class.
  void Add(uint32_t predicted, absl::Span<const double> probabilities, uint32_t label);
  void AddAbstained() { ++abstained_; }

  ClassScores Scores() const;

 private:
  static constexpr size_t kBins = 10;
  struct BinSums {
    uint64_t rows = 0;
    uint64_t hits = 0;
    double probability = 0;
  };

  void AddToCalibration(double probability, bool hit);
  void ScoreProbabilities(ClassScores& scores) const;
  void ScoreCalibration(ClassScores& scores) const;

  const uint32_t classes_;
  uint64_t abstained_ = 0;
  double log_loss_ = 0;  // the sum
  std::vector<std::vector<uint64_t>> confusion_;
  std::vector<ValueCounts> probabilities_;  // of the second class alone if there are two classes
  std::array<BinSums, kBins> bins_;
};

// Says in one sentence whether answers beat always answering the majority's class: they do if the
// whole interval of the gain is above 0.
std::string ClassVerdict(std::string_view majority_class, double majority, double gain,
                         const ConfidenceInterval& interval);

}  // namespace coppice

#endif  // COPPICE_COMMON_EVALUATION_CLASS_EVALUATION_H_
