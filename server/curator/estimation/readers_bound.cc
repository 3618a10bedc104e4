#include "server/curator/estimation/readers_bound.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "common/amplification/amplification.h"

namespace coppice::curator {

ReadersBound BoundForReaders(const Schema& schema, const Budget& local, double two_sided_mass,
                             uint64_t reports) {
  if (!schema.public_features().empty()) return {};
  const uint64_t honest =
      std::min(HonestReports(reports, kDefaultDishonestMillionths), kMaxShuffledReports);
  const uint64_t delta = DefaultShuffleDelta(reports);
  const absl::StatusOr<Budget> bound = EpsilonBound({honest, local, two_sided_mass}, delta);
  if (!bound.ok() || *bound >= local) return {};
  return {.epsilon_nanos = bound->nanos(),
          .delta_atto = delta,
          .honest_reports = honest,
          .dishonest_millionths = kDefaultDishonestMillionths};
}

}  // namespace coppice::curator
