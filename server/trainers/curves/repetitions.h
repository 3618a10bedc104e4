// Runs repetitions on several threads, and averages their results.

#ifndef COPPICE_SERVER_TRAINERS_CURVES_REPETITIONS_H_
#define COPPICE_SERVER_TRAINERS_CURVES_REPETITIONS_H_

#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/evaluation/calibration.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/privacy/private_random.h"

namespace coppice::curves {

// Calls `run` once per repetition, with a random source of its thread, and `progress` with the
// number of finished repetitions, one call at a time. Stops at the first error and returns it.
Status RunRepetitions(uint32_t repeats, uint32_t threads,
                      const std::function<Status(uint32_t repetition, PrivateRandom& noise)>& run,
                      const std::function<void(uint32_t finished)>& progress);

// Mean, standard deviation (n - 1) and number of `values`.
struct Summary {
  double mean = 0;
  double deviation = 0;
  size_t n = 0;

  double standard_error() const;
};
Summary Summarize(absl::Span<const double> values);

// The mean gain over a baseline with its 95 % interval. Repetitions may be scored on the same rows:
// the uncertainty that these rows cause stays, however many repetitions there are; only the
// differences between repetitions average out.
struct MeanGain {
  double gain = 0;
  ConfidenceInterval interval;
};
MeanGain MeanGainOf(absl::Span<const double> gains, absl::Span<const ConfidenceInterval> intervals);

// Scores of predicted classes, one entry per repetition. Several threads may set repetitions.
struct RepeatedClassScores {
  std::vector<double> accuracy, auc, log_loss, majority, gain;
  std::vector<std::vector<CalibrationBin>> calibration;
  std::vector<ConfidenceInterval> gain_interval;
  std::vector<uint32_t> majority_class;

  void Resize(size_t repeats);
  // An undefined AUC counts as 0.5.
  void Set(size_t repetition, const ClassScores& scores);
};

// Scores of predicted numbers, likewise. `mean` is the RMSE of always answering the mean.
struct RepeatedNumberScores {
  std::vector<double> mse, rmse, mae, r2, mean, gain;
  std::vector<ConfidenceInterval> gain_interval;

  void Resize(size_t repeats);
  // An undefined R2 counts as 0.
  void Set(size_t repetition, const NumberScores& scores);
};

// Measures wall-clock seconds since its creation, and CPU seconds of the calling thread.
class Stopwatch {
 public:
  double clock_seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - clock_start_).count();
  }
  double cpu_seconds() const { return CpuNow() - cpu_start_; }

 private:
  static double CpuNow() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  std::chrono::steady_clock::time_point clock_start_ = std::chrono::steady_clock::now();
  double cpu_start_ = CpuNow();
};

}  // namespace coppice::curves

#endif  // COPPICE_SERVER_TRAINERS_CURVES_REPETITIONS_H_
