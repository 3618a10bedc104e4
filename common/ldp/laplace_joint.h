// `laplace_joint`: the one-hot of the (leaf, label) pair, every entry with discrete Laplace noise
// of scale 2/epsilon. Half the paper's scale, and no separate leaf vector to pay for.
//
// Guarantee  two values differ in at most two entries, by one each: L1 sensitivity 2, so noise of
//            scale 2/epsilon is epsilon-LDP. Tight. Neighbours: any value of the row for any other.
// Payload    entry leaf * classes + label, leaves * classes integers (integer_payload.h).
// Source     docs/mechanisms.md#laplace_joint.

#ifndef COPPICE_COMMON_LDP_LAPLACE_JOINT_H_
#define COPPICE_COMMON_LDP_LAPLACE_JOINT_H_

#include <memory>
#include <utility>

#include "common/ldp/laplace_vector.h"

namespace coppice {

class LaplaceJoint final : public LaplaceVector {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  static constexpr int64_t kOnes = 1;  // of a noiseless vector

  LaplaceJoint(const Budget& epsilon, const Domain& domain, LaplaceNoise noise)
      : LaplaceVector(MechanismKind::kLaplaceJoint, epsilon, domain, std::move(noise), kOnes) {}

  Ones OnesOf(LeafLabel value) const override;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_LAPLACE_JOINT_H_
