// Running something many times, on several threads, and what came of it on average.

#ifndef COPPICE_SERVER_LAB_REPETITIONS_H_
#define COPPICE_SERVER_LAB_REPETITIONS_H_

#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/privacy/private_random.h"

namespace coppice::lab {

// Calls `run` once for each repetition, with a random source of its thread, and `progress` one call
// at a time with how many have finished. Stops at, and returns, the first error.
absl::Status RunRepetitions(
    uint32_t repeats, uint32_t threads,
    const std::function<absl::Status(uint32_t repetition, PrivateRandom& noise)>& run,
    const std::function<void(uint32_t finished)>& progress);

// "3 of 20 repetitions" on stderr, where that is a terminal.
void ShowRepetitions(uint32_t finished, uint32_t repeats);

// Mean, standard deviation (n - 1) and number of `values`.
struct Summary {
  double mean = 0;
  double deviation = 0;
  size_t n = 0;

  double standard_error() const;
};
Summary Summarize(absl::Span<const double> values);

// Wall-clock seconds since its creation, and CPU seconds of this thread.
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

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_REPETITIONS_H_
