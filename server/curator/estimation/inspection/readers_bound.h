// Computes what a local study promises besides the epsilon of each report: to those who read only
// its models, and, where its reports come in batches of a relay, against a curator that does not
// collude with the relay.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_READERS_BOUND_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_READERS_BOUND_H_

#include <algorithm>
#include <cstdint>

#include "common/base/status.h"
#include "common/ldp/amplification.h"
#include "common/model/certificate.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/terms/report_form.h"

namespace coppice::curator {

// Guarantee  the assumptions are those of docs/research/mechanisms.md#amplification, with the
//            default share of dishonest reports and the default delta; epsilon is rounded up.
//            Neighbours: any value of one device's row for any other.
// Units      `two_sided_mass` is the largest of all trees. Nothing is promised (epsilon 0) where
//            devices show public features, whose reports cannot stand for one another, for no
//            honest report, and where it would be less than a hundredth below `local`
//            (PromisedEpsilon()).
inline ReadersBound BoundForReaders(const Schema& schema, const Budget& local,
                                    double two_sided_mass, uint64_t reports) {
  if (ReportForm::For(schema).ShowsSomething()) return {};
  const uint64_t honest =
      std::min(HonestReports(reports, kDefaultDishonestMillionths), kMaxShuffledReports);
  const uint64_t delta = DefaultShuffleDelta(reports);
  const StatusOr<Budget> bound = PromisedEpsilon({honest, local, two_sided_mass}, delta);
  if (!bound.ok() || *bound >= local) return {};
  return {.epsilon_nanos = bound->nanos(),
          .delta_atto = delta,
          .honest_reports = honest,
          .dishonest_millionths = kDefaultDishonestMillionths};
}

// The promise against the curator. Epsilon 0 promises nothing.
struct BatchBound {
  uint64_t epsilon_nanos = 0;
  uint64_t honest_reports = 0;  // left of each batch
};

// Guarantee  the assumptions are those of docs/relay.md#the-theorem; epsilon is rounded up.
//            Neighbours as above.
// Units      `reports` of the smallest batch; `delta_atto` in 1e-18; `two_sided_mass` is the
//            largest of all trees. Nothing is promised for no honest report, and where it would be
//            less than a hundredth below `local`.
inline BatchBound BoundForBatches(const Budget& local, double two_sided_mass, uint64_t reports,
                                  uint32_t dishonest_millionths, uint64_t delta_atto) {
  const uint64_t honest =
      std::min(HonestReports(reports, dishonest_millionths), kMaxShuffledReports);
  const StatusOr<Budget> bound = PromisedEpsilon({honest, local, two_sided_mass}, delta_atto);
  if (!bound.ok() || *bound >= local) return {.honest_reports = honest};
  return {.epsilon_nanos = bound->nanos(), .honest_reports = honest};
}

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_READERS_BOUND_H_
