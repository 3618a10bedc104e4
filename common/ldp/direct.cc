#include "common/ldp/direct.h"

#include "common/ldp/joint_counts.h"

namespace coppice {

absl::StatusOr<std::unique_ptr<LocalMechanism>> Direct::Create(const Budget& epsilon,
                                                               const Domain& domain) {
  return std::unique_ptr<LocalMechanism>(new Direct(epsilon, domain));
}

Direct::Direct(const Budget& epsilon, const Domain& domain)
    : SymbolResponse(MechanismKind::kDirect, epsilon, domain,
                     {.columns = 1, .symbols = static_cast<uint32_t>(domain.cells())}) {}

uint32_t Direct::SymbolOf(uint32_t /*column*/, size_t cell) const {
  return static_cast<uint32_t>(cell);
}

LeafCounts Direct::Estimate(absl::Span<const int64_t> sums, uint64_t reports) const {
  const double expected_lies = static_cast<double>(reports) * q();
  return JointCounts(domain(), [&](size_t cell) {
    return (static_cast<double>(sums[cell]) - expected_lies) / keep();
  });
}

NoiseVariance Direct::Variance(uint32_t /*label*/) const {
  // A report is one cell, so that never two of them are reported together.
  const double scale = keep() * keep();
  return JointVariance(domain(), {.variance_q = q() * (1 - q()) / scale,
                                  .variance_p = p() * (1 - p()) / scale,
                                  .covariance_qq = -q() * q() / scale,
                                  .covariance_pq = -p() * q() / scale});
}

Influence Direct::MaxInfluence() const {
  const double others = symbols() - 1;
  return {.count = (1 - q()) / keep(), .total = (1 - q() + others * q()) / keep()};
}

}  // namespace coppice
