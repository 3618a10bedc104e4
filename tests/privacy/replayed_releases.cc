#include "tests/privacy/replayed_releases.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/base/status.h"
#include "common/privacy/concentrated.h"
#include "common/privacy/noisy_sums.h"
#include "common/privacy/selection.h"

namespace coppice {
namespace testing {
namespace {

Recorder* g_recorder = nullptr;

Status Differs() { return InternalError("the second run asks for other releases"); }

}  // namespace

double PartOfSensitivity(const ReleaseRequest& one, const ReleaseRequest& other) {
  if (one.selects) {
    int64_t least = one.sums[0] - other.sums[0], most = least;
    for (size_t i = 0; i < one.sums.size(); ++i) {
      least = std::min(least, one.sums[i] - other.sums[i]);
      most = std::max(most, one.sums[i] - other.sums[i]);
    }
    return static_cast<double>(most - least) / static_cast<double>(one.sensitivity);
  }
  double moved = 0;
  for (size_t i = 0; i < one.sums.size(); ++i) {
    const auto change = static_cast<double>(std::abs(one.sums[i] - other.sums[i]));
    moved += one.in_rho ? change * change : change;
  }
  return moved / static_cast<double>(one.sensitivity);
}

Recorder::Recorder(uint64_t seed) : engine_(seed) { g_recorder = this; }
Recorder::~Recorder() { g_recorder = nullptr; }

std::vector<ReleaseRequest> Recorder::Replay() {
  replays_ = true;
  return std::exchange(asked_, {});
}

StatusOr<std::vector<int64_t>> Recorder::Released(size_t count) const {
  if (asked_.size() > released_.size()) return Differs();
  const std::vector<int64_t>& released = released_[asked_.size() - 1];
  if (released.size() != count) return Differs();
  return released;
}

StatusOr<std::vector<int64_t>> Recorder::Release(ReleaseRequest release, double noise) {
  asked_.push_back(release);
  if (replays_) return Released(release.sums.size());
  std::normal_distribution<> draw(0, noise);
  for (int64_t& sum : release.sums) sum += static_cast<int64_t>(draw(engine_));
  released_.push_back(release.sums);
  return release.sums;
}

StatusOr<size_t> Recorder::Select(ReleaseRequest selection, const Budget& epsilon) {
  selection.selects = true;
  selection.amount = epsilon.nanos();
  asked_.push_back(selection);
  if (replays_) {
    const StatusOr<std::vector<int64_t>> place = Released(1);
    if (!place.ok()) return place.status();
    if (place->front() >= static_cast<int64_t>(selection.sums.size())) return Differs();
    return static_cast<size_t>(place->front());
  }
  const double rate = epsilon.epsilon() / static_cast<double>(selection.sensitivity);
  std::exponential_distribution<> draw(selects_anything_ ? 1e-12 * rate : rate);
  std::vector<double> noisy;
  for (const int64_t score : selection.sums) {
    noisy.push_back(static_cast<double>(score) + draw(engine_));
  }
  const auto place = std::max_element(noisy.begin(), noisy.end()) - noisy.begin();
  released_.push_back({place});
  return static_cast<size_t>(place);
}

}  // namespace testing

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t sensitivity,
                                           const Budget& epsilon, PrivateRandom&) {
  return testing::g_recorder->Release(
      {.sums = {sums.begin(), sums.end()}, .sensitivity = sensitivity, .amount = epsilon.nanos()},
      static_cast<double>(sensitivity) / epsilon.epsilon());
}

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t l2_squared,
                                           const Rho& rho, PrivateRandom&) {
  const StatusOr<uint64_t> deviation = rho.DeviationFor(l2_squared);
  if (!deviation.ok()) return deviation.status();
  return testing::g_recorder->Release({.sums = {sums.begin(), sums.end()},
                                       .sensitivity = l2_squared,
                                       .amount = rho.picos(),
                                       .in_rho = true},
                                      static_cast<double>(*deviation));
}

StatusOr<size_t> PermuteAndFlip(absl::Span<const int64_t> scores, const Budget& epsilon,
                                uint64_t range, PrivateRandom&) {
  return testing::g_recorder->Select({.sums = {scores.begin(), scores.end()}, .sensitivity = range},
                                     epsilon);
}

StatusOr<size_t> ExponentialMechanism(absl::Span<const int64_t> scores, const Budget& epsilon,
                                      uint64_t range, PrivateRandom&) {
  return testing::g_recorder->Select(
      {.sums = {scores.begin(), scores.end()}, .sensitivity = range, .exponential = true}, epsilon);
}

StatusOr<size_t> SelectQuantile(absl::Span<const uint64_t>, uint64_t, uint64_t, uint64_t,
                                const Budget&, PrivateRandom&) {
  return UnimplementedError("no quantile here");
}

}  // namespace coppice
