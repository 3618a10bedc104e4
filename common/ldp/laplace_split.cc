#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/ldp/laplace_noise.h"
#include "common/ldp/laplace_vector.h"
#include "common/ldp/mechanisms.h"

namespace coppice {
namespace {

constexpr uint64_t kSplitSensitivity = 4;

// `laplace_split`, the paper's encoding: U, the one-hot vector of the leaf, and for k = 1..K-1 V_k,
// the same vector if the label is k, otherwise 0; every entry with discrete Laplace noise of scale
// 4/epsilon. A payload is U, then V_1, ..., V_{K-1}, each `leaves` integers (integer_payload.h).
//
// Guarantee  two values differ in at most two places of U and in at most two of V_1..V_{K-1}
//            together, by one each: L1 sensitivity 4, so noise of scale 4/epsilon is epsilon-LDP.
//            Tight. Neighbours: any value of the row for any other.
// Source     Ma and Yang 2024, section 3.1 and Proposition 2;
//            docs/research/mechanisms.md#laplace_split.
class LaplaceSplit final : public LaplaceVector {
 public:
  LaplaceSplit(const Budget& epsilon, const Domain& domain, LaplaceNoise noise)
      : LaplaceVector(MechanismKind::kLaplaceSplit, epsilon, domain, std::move(noise), kOnes) {}

  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  static constexpr int64_t kOnes = 2;  // ones of a noiseless vector

  Ones OnesOf(LeafLabel value) const override;
};

LaplaceVector::Ones LaplaceSplit::OnesOf(LeafLabel value) const {
  Ones ones = {value.leaf};
  if (value.label > 0) ones.push_back(size_t{value.label} * domain().leaves + value.leaf);
  return ones;
}

LeafCounts LaplaceSplit::Estimate(absl::Span<const int64_t> sums, uint64_t /*reports*/) const {
  const uint32_t leaves = domain().leaves, classes = domain().classes;
  LeafCounts counts{.classes = classes,
                    .leaf = std::vector<double>(leaves),
                    .label = std::vector<double>(domain().cells())};
  for (uint32_t leaf = 0; leaf < leaves; ++leaf) {
    counts.leaf[leaf] = static_cast<double>(sums[leaf]);
    double first_class = counts.leaf[leaf];  // minus the other classes, below
    for (uint32_t k = 1; k < classes; ++k) {
      const auto of_class = static_cast<double>(sums[size_t{k} * leaves + leaf]);
      counts.label[size_t{leaf} * classes + k] = of_class;
      first_class -= of_class;
    }
    counts.label[size_t{leaf} * classes] = first_class;
  }
  return counts;
}

NoiseVariance LaplaceSplit::Variance(uint32_t label) const {
  const double entry = noise().variance();
  // The noise does not depend on the row, so a hit adds nothing.
  if (label > 0) return {.leaf = entry, .label = entry, .covariance = 0, .hit = {}, .beside = {}};
  // Class 0 is U minus all K - 1 of the V_k.
  return {.leaf = entry,
          .label = domain().classes * entry,
          .covariance = entry,
          .hit = {},
          .beside = {}};
}

Influence LaplaceSplit::MaxInfluence() const {
  // Class 0 is U minus the V_k, each at its limit; each V_k counts twice, for its class and for
  // class 0.
  return {.count = static_cast<double>(std::min(domain().classes * limits().each, limits().total)),
          .total = static_cast<double>(2 * limits().total)};
}

}  // namespace

MechanismOr MakeLaplaceSplit(const Budget& epsilon, const Domain& domain) {
  COPPICE_ASSIGN_OR_RETURN(LaplaceNoise noise, LaplaceNoise::Create(epsilon, kSplitSensitivity));
  return std::make_unique<LaplaceSplit>(epsilon, domain, std::move(noise));
}

}  // namespace coppice
