#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/laplace_noise.h"
#include "common/ldp/laplace_vector.h"
#include "common/ldp/mechanisms.h"

namespace coppice {
namespace {

constexpr uint64_t kJointSensitivity = 2;

// `laplace_joint`: the one-hot vector of the (leaf, label) pair, with discrete Laplace noise of
// scale 2/epsilon on every entry. That is half the paper's scale, and no separate leaf vector costs
// budget. A payload is leaves * classes integers (integer_payload.h), entry leaf * classes + label.
//
// Guarantee  two values differ in at most two entries, by one each: L1 sensitivity 2, so noise of
//            scale 2/epsilon is epsilon-LDP. Tight. Neighbours: any value of the row for any other.
// Source     docs/research/mechanisms.md#laplace_joint.
class LaplaceJoint final : public LaplaceVector {
 public:
  LaplaceJoint(const Budget& epsilon, const Domain& domain, LaplaceNoise noise)
      : LaplaceVector(MechanismKind::kLaplaceJoint, epsilon, domain, std::move(noise), kOnes) {}

  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  static constexpr int64_t kOnes = 1;  // ones of a noiseless vector

  Ones OnesOf(LeafLabel value) const override;
};

LaplaceVector::Ones LaplaceJoint::OnesOf(LeafLabel value) const {
  return {CellOf(value, domain())};
}

LeafCounts LaplaceJoint::Estimate(absl::Span<const int64_t> sums, uint64_t /*reports*/) const {
  return JointCounts(domain(), [sums](size_t cell) { return static_cast<double>(sums[cell]); });
}

NoiseVariance LaplaceJoint::Variance(uint32_t /*label*/) const {
  const double entry = noise().variance();
  return JointVariance(
      domain(), {.variance_q = entry, .variance_p = entry, .covariance_qq = 0, .covariance_pq = 0});
}

Influence LaplaceJoint::MaxInfluence() const {
  return {.count = static_cast<double>(limits().each),
          .total = static_cast<double>(limits().total)};
}

}  // namespace

MechanismOr MakeLaplaceJoint(const Budget& epsilon, const Domain& domain) {
  COPPICE_ASSIGN_OR_RETURN(LaplaceNoise noise, LaplaceNoise::Create(epsilon, kJointSensitivity));
  return std::make_unique<LaplaceJoint>(epsilon, domain, std::move(noise));
}

}  // namespace coppice
