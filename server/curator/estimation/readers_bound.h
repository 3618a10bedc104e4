// What readers of a local study's models alone are promised besides the epsilon of each report.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_READERS_BOUND_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_READERS_BOUND_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/amplification/amplification.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/tree/certificate.h"

namespace coppice::curator {

// Guarantee  the assumptions are those of docs/mechanisms.md#amplification, with the default share
//            of dishonest reports and the default delta; epsilon is rounded up. Neighbours: any
//            value of one device's row for any other.
// Units      `two_sided_mass` is the largest of all trees. Nothing is promised (epsilon 0) where
//            devices show public features, whose reports cannot stand for one another, for no
//            honest report, and where it would be no less than `local`.
inline ReadersBound BoundForReaders(const Schema& schema, const Budget& local,
                                    double two_sided_mass, uint64_t reports) {
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

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_READERS_BOUND_H_
