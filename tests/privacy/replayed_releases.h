// Releases and selections of a trainer, as they were asked for, which a second run gets back in
// place of its own.
//
// While there is a Recorder, it answers for common/privacy's ReleaseSums(), PermuteAndFlip() and
// ExponentialMechanism(): replayed_releases.cc takes their place in the program that links it.
// Quantiles of public grids are not replayed; no trainer draws them.

#ifndef COPPICE_TESTS_PRIVACY_REPLAYED_RELEASES_H_
#define COPPICE_TESTS_PRIVACY_REPLAYED_RELEASES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/budget.h"

namespace coppice::testing {

// One release, as it was asked for.
struct ReleaseRequest {
  std::vector<int64_t> sums;
  uint64_t sensitivity = 0;  // L1, or the square of L2 in rho
  uint64_t amount = 0;       // nano-epsilons, or pico-rhos
  bool in_rho = false;
  bool selects = false;      // among scores, which are `sums`, with `sensitivity` as their range
  bool exponential = false;  // by the exponential mechanism
};

// How far apart two runs' sums are, as a part of what the noise is for. They are of one size.
double PartOfSensitivity(const ReleaseRequest& one, const ReleaseRequest& other);

class Recorder {
 public:
  // The noise follows from `seed`. There is one recorder at a time.
  explicit Recorder(uint64_t seed);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Selections take any candidate, each as likely, and not one of the better ones.
  void SelectAnything() { selects_anything_ = true; }

  // What was asked for since the start or the last call. From now on the first run's releases are
  // given again.
  std::vector<ReleaseRequest> Replay();

  // Internal if the second run asks for more releases than the first, or for others.
  absl::StatusOr<std::vector<int64_t>> Release(ReleaseRequest release, double noise);
  absl::StatusOr<size_t> Select(ReleaseRequest selection, const Budget& epsilon);

 private:
  // What the first run was given at this place; Internal unless it is this many numbers.
  absl::StatusOr<std::vector<int64_t>> Released(size_t count) const;

  std::mt19937_64 engine_;
  std::vector<ReleaseRequest> asked_;
  std::vector<std::vector<int64_t>> released_;
  bool replays_ = false;
  bool selects_anything_ = false;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_REPLAYED_RELEASES_H_
