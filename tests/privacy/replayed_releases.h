// Records the releases and selections that a trainer asks for, and gives them back in a second run
// in place of its own.
//
// While a Recorder exists it answers for common/privacy's ReleaseSums(), PermuteAndFlip() and
// ExponentialMechanism(), which replayed_releases.cc replaces in the program that links it.
// Quantiles of public grids are not replayed; no trainer draws them.

#ifndef COPPICE_TESTS_PRIVACY_REPLAYED_RELEASES_H_
#define COPPICE_TESTS_PRIVACY_REPLAYED_RELEASES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"

namespace coppice::testing {

// One release, as it was asked for.
struct ReleaseRequest {
  std::vector<int64_t> sums;
  uint64_t sensitivity = 0;  // L1, or the square of L2 in rho
  uint64_t amount = 0;       // nano-epsilons, or pico-rhos
  bool in_rho = false;
  bool selects = false;      // among the scores in `sums`, with `sensitivity` as their range
  bool exponential = false;  // by the exponential mechanism
};

// How far apart two runs' sums of one size are, as a part of what the noise is for.
double PartOfSensitivity(const ReleaseRequest& one, const ReleaseRequest& other);

class Recorder {
 public:
  // The noise follows from `seed`. Only one recorder may exist at a time.
  explicit Recorder(uint64_t seed);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Lets selections take any candidate with equal probability, not only the better ones.
  void SelectAnything() { selects_anything_ = true; }

  // Returns what was asked for since the start or the last call. From now on the first run's
  // releases are given again.
  std::vector<ReleaseRequest> Replay();

  // Internal if the second run asks for more releases than the first, or for other ones.
  StatusOr<std::vector<int64_t>> Release(ReleaseRequest release, double noise);
  StatusOr<size_t> Select(ReleaseRequest selection, const Budget& epsilon);

 private:
  // The first run's release at this place; Internal if it has not `count` numbers.
  StatusOr<std::vector<int64_t>> Released(size_t count) const;

  std::mt19937_64 engine_;
  std::vector<ReleaseRequest> asked_;
  std::vector<std::vector<int64_t>> released_;
  bool replays_ = false;
  bool selects_anything_ = false;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_REPLAYED_RELEASES_H_
