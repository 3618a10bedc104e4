// `direct`, randomized response on the (leaf, label) pair itself: one cell out of all, the true one
// with odds of exp(epsilon) to each other one. The least noise where there are few cells for the
// epsilon (about 3 exp(epsilon) + 2); elsewhere by far the most.
//
// Guarantee  symbol_response.h. One column.
// Payload    the cell, leaf * classes + label.
// Source     Kairouz, Oh, Viswanath 2014; docs/mechanisms.md#direct.

#ifndef COPPICE_COMMON_LDP_DIRECT_H_
#define COPPICE_COMMON_LDP_DIRECT_H_

#include <memory>

#include "common/ldp/symbol_response.h"

namespace coppice {

class Direct final : public SymbolResponse {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  Direct(const Budget& epsilon, const Domain& domain);
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_DIRECT_H_
