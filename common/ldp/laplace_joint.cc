#include "common/ldp/laplace_joint.h"

#include "common/base/status_macros.h"
#include "common/ldp/joint_counts.h"

namespace coppice {
namespace {

constexpr uint64_t kSensitivity = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<LocalMechanism>> LaplaceJoint::Create(const Budget& epsilon,
                                                                     const Domain& domain) {
  COPPICE_ASSIGN_OR_RETURN(LaplaceNoise noise, LaplaceNoise::Create(epsilon, kSensitivity));
  return std::unique_ptr<LocalMechanism>(new LaplaceJoint(epsilon, domain, std::move(noise)));
}

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

}  // namespace coppice
