#include "server/trainers/curves/repetitions.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"

namespace coppice::curves {

Status RunRepetitions(uint32_t repeats, uint32_t threads,
                      const std::function<Status(uint32_t repetition, PrivateRandom& noise)>& run,
                      const std::function<void(uint32_t finished)>& progress) {
  std::atomic<uint32_t> next{0};
  Mutex mutex;
  uint32_t finished = 0;
  Status status;
  const auto work = [&] {
    OpenSslRandom noise;
    for (uint32_t r = next++; r < repeats; r = next++) {
      const Status done = run(r, noise);
      const MutexLock lock(mutex);
      status.Update(done);
      if (!status.ok()) return;
      progress(++finished);
    }
  };
  std::vector<std::thread> workers;
  for (uint32_t t = 1; t < std::min(threads, repeats); ++t) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return status;
}

double Summary::standard_error() const {
  return n == 0 ? 0 : deviation / std::sqrt(static_cast<double>(n));
}

Summary Summarize(absl::Span<const double> values) {
  Summary summary{.n = values.size()};
  if (values.empty()) return summary;
  const auto n = static_cast<double>(values.size());
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  if (values.size() > 1) summary.deviation = std::sqrt(squares / (n - 1));
  return summary;
}

MeanGain MeanGainOf(absl::Span<const double> gains,
                    absl::Span<const ConfidenceInterval> intervals) {
  constexpr double kNormal95 = 1.959964;
  double centre = 0, squares = 0;
  for (const ConfidenceInterval& interval : intervals) {
    const double reach = (interval.high - interval.low) / 2;
    centre += (interval.high + interval.low) / 2;
    squares += reach * reach;
  }
  const auto n = static_cast<double>(intervals.size());
  const Summary summary = Summarize(gains);
  const double reach = std::hypot(std::sqrt(squares / n), kNormal95 * summary.standard_error());
  return {.gain = summary.mean,
          .interval = {.low = centre / n - reach, .high = centre / n + reach}};
}

void RepeatedClassScores::Resize(size_t repeats) {
  for (auto* values : {&accuracy, &auc, &log_loss, &majority, &gain}) values->resize(repeats);
  calibration.resize(repeats);
  gain_interval.resize(repeats);
  majority_class.resize(repeats);
}

void RepeatedClassScores::Set(size_t repetition, const ClassScores& scores) {
  accuracy[repetition] = scores.accuracy;
  auc[repetition] = scores.auc.value_or(0.5);
  log_loss[repetition] = scores.log_loss;
  calibration[repetition] = scores.calibration;
  majority[repetition] = scores.majority.share;
  gain[repetition] = scores.gain;
  gain_interval[repetition] = scores.gain_interval;
  majority_class[repetition] = scores.majority.label;
}

void RepeatedNumberScores::Resize(size_t repeats) {
  for (auto* values : {&mse, &rmse, &mae, &r2, &mean, &gain}) values->resize(repeats);
  gain_interval.resize(repeats);
}

void RepeatedNumberScores::Set(size_t repetition, const NumberScores& scores) {
  mse[repetition] = scores.mse;
  rmse[repetition] = scores.rmse;
  mae[repetition] = scores.mae;
  r2[repetition] = scores.r2.value_or(0);
  mean[repetition] = scores.mean.rmse;
  gain[repetition] = scores.gain;
  gain_interval[repetition] = scores.gain_interval;
}

}  // namespace coppice::curves
