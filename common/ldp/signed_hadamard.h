// `signed_hadamard`, for two classes: one bit, the sign of the label times the leaf's entry in the
// ticket's column of a Hadamard matrix. It estimates the margin N(leaf, 1) - N(leaf, 0) alone,
// which alone decides a label, with the least noise of all mechanisms here up to an epsilon of
// about 1, and says nothing about how many rows a leaf has.
//
// Guarantee  symbol_response.h, with two symbols. As many columns as the least power of two that is
//            not below the number of leaves.
// Payload    0 for +, 1 for -; a label of 1 counts +.
// Errors     Create(): InvalidArgument for another number of classes than two.
// Source     Bassily and Smith 2015 (one public random sign a report); Nguyen and others 2016 (the
//            Hadamard matrix); docs/mechanisms.md#signed_hadamard.

#ifndef COPPICE_COMMON_LDP_SIGNED_HADAMARD_H_
#define COPPICE_COMMON_LDP_SIGNED_HADAMARD_H_

#include <memory>

#include "common/ldp/symbol_response.h"

namespace coppice {

class SignedHadamard final : public SymbolResponse {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

  bool margins_only() const override { return true; }
  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  SignedHadamard(const Budget& epsilon, const Domain& domain);
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_SIGNED_HADAMARD_H_
