#include <memory>

#include "common/ldp/joint_counts.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/symbol_response.h"

namespace coppice {
namespace {

// `direct`: randomized response on the (leaf, label) pair itself. The report is one of all cells,
// the true one exp(epsilon) times as likely as any other. It has the least noise if there are few
// cells for the epsilon (about 3 exp(epsilon) + 2), and by far the most otherwise.
//
// The symbol is the cell, leaf * classes + label; there is one column.
//
// Guarantee  epsilon-LDP by symbol_response.h.
// Source     Kairouz, Oh, Viswanath 2014; docs/research/mechanisms.md#direct.
class Direct final : public SymbolResponse {
 public:
  Direct(const Budget& epsilon, const Domain& domain);

  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;
};

Direct::Direct(const Budget& epsilon, const Domain& domain)
    : SymbolResponse(MechanismKind::kDirect, epsilon, domain,
                     {.columns = 1, .symbols = static_cast<uint32_t>(domain.cells())}) {}

// Proved: direct_is_private in tests/proofs/statements.v.
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
  // A report names one cell, so two cells are never reported together.
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

}  // namespace

MechanismOr MakeDirect(const Budget& epsilon, const Domain& domain) {
  return std::make_unique<Direct>(epsilon, domain);
}

}  // namespace coppice
