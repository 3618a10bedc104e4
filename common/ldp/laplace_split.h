// `laplace_split`, the paper's encoding: U, the one-hot of the leaf, and V_k, the one-hot of the
// leaf if the label is k, for k = 1..K-1; every entry with discrete Laplace noise of scale
// 4/epsilon.
//
// Guarantee  two values differ in at most two places of U and in at most two of V_1..V_{K-1}
//            together, by one each: L1 sensitivity 4, so noise of scale 4/epsilon is epsilon-LDP.
//            Tight. Neighbours: any value of the row for any other.
// Payload    U, then V_1, ..., V_{K-1}, each `leaves` integers (integer_payload.h).
// Source     Ma and Yang 2024, section 3.1 and Proposition 2; docs/mechanisms.md#laplace_split.

#ifndef COPPICE_COMMON_LDP_LAPLACE_SPLIT_H_
#define COPPICE_COMMON_LDP_LAPLACE_SPLIT_H_

#include <memory>
#include <utility>

#include "common/ldp/laplace_vector.h"

namespace coppice {

class LaplaceSplit final : public LaplaceVector {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  static constexpr int64_t kOnes = 2;  // of a noiseless vector

  LaplaceSplit(const Budget& epsilon, const Domain& domain, LaplaceNoise noise)
      : LaplaceVector(MechanismKind::kLaplaceSplit, epsilon, domain, std::move(noise), kOnes) {}

  Ones OnesOf(LeafLabel value) const override;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_LAPLACE_SPLIT_H_
