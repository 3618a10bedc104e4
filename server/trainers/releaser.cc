#include "server/trainers/releaser.h"

#include <algorithm>

#include "common/base/status_macros.h"
#include "common/privacy/noisy_sums.h"
#include "common/privacy/selection.h"

namespace coppice {
namespace {

absl::StatusOr<size_t> OneOfTheBest(absl::Span<const int64_t> scores, PrivateRandom& random) {
  if (scores.empty()) return absl::InvalidArgumentError("a selection needs candidates");
  const int64_t best = *std::max_element(scores.begin(), scores.end());
  std::vector<size_t> places;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == best) places.push_back(i);
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t place, random.UniformBelow(places.size()));
  return places[place];
}

}  // namespace

absl::StatusOr<size_t> Releaser::Select(absl::Span<const int64_t> scores, const Share& share,
                                        uint64_t range) {
  if (!share.is_private()) return OneOfTheBest(scores, random_);
  return rule_ == SelectionRule::kPermuteAndFlip
             ? PermuteAndFlip(scores, share.budget(), range, random_)
             : ExponentialMechanism(scores, share.budget(), range, random_);
}

absl::StatusOr<std::vector<int64_t>> Releaser::Sums(absl::Span<const int64_t> sums,
                                                    uint64_t sensitivity, const Share& share) {
  if (!share.is_private()) return std::vector<int64_t>(sums.begin(), sums.end());
  return ReleaseSums(sums, sensitivity, share.budget(), random_);
}

}  // namespace coppice
