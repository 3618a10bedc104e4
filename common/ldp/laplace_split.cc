#include "common/ldp/laplace_split.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace coppice {
namespace {

constexpr uint64_t kSensitivity = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<LocalMechanism>> LaplaceSplit::Create(const Budget& epsilon,
                                                                     const Domain& domain) {
  COPPICE_ASSIGN_OR_RETURN(LaplaceNoise noise, LaplaceNoise::Create(epsilon, kSensitivity));
  return std::unique_ptr<LocalMechanism>(new LaplaceSplit(epsilon, domain, std::move(noise)));
}

LaplaceVector::Ones LaplaceSplit::OnesOf(LeafLabel value) const {
  Ones ones = {value.leaf};
  if (value.label > 0) ones.push_back(size_t{value.label} * domain().leaves + value.leaf);
  return ones;
}

LeafCounts LaplaceSplit::Estimate(absl::Span<const int64_t> sums, uint64_t /*reports*/) const {
  const auto [leaves, classes] = domain();
  LeafCounts counts{.classes = classes,
                    .leaf = std::vector<double>(leaves),
                    .label = std::vector<double>(domain().cells())};
  for (uint32_t leaf = 0; leaf < leaves; ++leaf) {
    counts.leaf[leaf] = static_cast<double>(sums[leaf]);
    double first_class = counts.leaf[leaf];  // what the other classes leave over
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
  // The same whatever the row: nothing is added by a hit.
  if (label > 0) return {.leaf = entry, .label = entry, .covariance = 0, .hit = {}, .beside = {}};
  // Class 0 is U minus K - 1 of the V.
  return {.leaf = entry,
          .label = domain().classes * entry,
          .covariance = entry,
          .hit = {},
          .beside = {}};
}

Influence LaplaceSplit::MaxInfluence() const {
  // Class 0 is U less the V, each at its limit; and each V counts twice, for its class and for
  // class 0.
  return {.count = static_cast<double>(std::min(domain().classes * limits().each, limits().total)),
          .total = static_cast<double>(2 * limits().total)};
}

}  // namespace coppice
