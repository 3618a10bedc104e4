// How well predicted classes match the true ones, beside always answering the most frequent class.
//
// Every figure is an exact function of the rows added: on private rows it is itself a release.

#ifndef COPPICE_COMMON_EVALUATION_CLASS_EVALUATION_H_
#define COPPICE_COMMON_EVALUATION_CLASS_EVALUATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/evaluation/calibration.h"
#include "common/evaluation/value_counts.h"

namespace coppice {

// The most frequent class, the lowest on a tie, and its share of the rows; 0 of no rows.
struct Majority {
  uint32_t label = 0;
  double share = 0;
};
Majority MajorityOf(absl::Span<const uint64_t> rows_of_class);
// Labels that are none of the classes are left out.
Majority MajorityOf(absl::Span<const uint32_t> labels, uint32_t classes);

// Probabilities below this count as this much in a log loss, so that one row answered with
// certainty, and wrong, does not make it infinite.
inline constexpr double kMinLogLossProbability = 1e-6;

// Scores of the rows that were answered, beside the majority of the same rows.
struct ClassScores {
  uint64_t rows = 0;
  uint64_t abstained = 0;  // not in `rows`
  uint64_t correct = 0;
  double accuracy = 0;
  ConfidenceInterval interval;  // Wilson's
  Majority majority;
  double gain = 0;  // of the accuracy over the majority's
  // Paired: of rows that one of the two answers right, with half a row more in each cell of the two
  // by two (Agresti and Min 2005), so that it has a width where they never differ.
  ConfidenceInterval gain_interval;
  // Two classes: by the second one's probability. More: the mean over the classes that some rows
  // are of and some are not, each against the rest. Unset if there is none.
  std::optional<double> auc;
  bool is_auc_exact = true;      // if not, probabilities were rounded: see ClassEvaluation
  double log_loss = 0;           // in nats
  double majority_log_loss = 0;  // of always answering the classes' shares among these rows
  std::vector<std::vector<uint64_t>> confusion;  // confusion[true class][predicted]
  std::vector<std::optional<double>> recall;     // per class; unset if no row is of it
  std::vector<std::optional<double>> precision;  // per class; unset if it is never predicted
  // Ten bins of the second class's probability; with more classes, of the predicted label's.
  std::vector<CalibrationBin> calibration;
  // The mean of |predicted - observed|, by rows: few rows make it too large. PoolCalibration() has
  // the figure without that.
  double calibration_error = 0;
};

// Guarantee  memory does not grow with the rows: it holds the confusion matrix, and for the AUC
//            each different probability of a class with its counts, 2^20 over all classes. Beyond
//            that probabilities are rounded to as many even steps, and is_auc_exact says so.
// Threads    one at a time.
class ClassEvaluation {
 public:
  explicit ClassEvaluation(uint32_t classes);

  // `probabilities` has one per class. `predicted` need not be the most probable class.
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
  std::vector<ValueCounts> probabilities_;  // of the second class alone if there are two
  std::array<BinSums, kBins> bins_;
};

// One sentence: whether answers beat always answering the majority's class. They do if the whole
// interval of the gain is above 0.
std::string ClassVerdict(absl::string_view majority_class, double majority, double gain,
                         const ConfidenceInterval& interval);

}  // namespace coppice

#endif  // COPPICE_COMMON_EVALUATION_CLASS_EVALUATION_H_
