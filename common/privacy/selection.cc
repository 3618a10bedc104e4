#include "common/privacy/selection.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"

namespace coppice {
namespace {

constexpr uint64_t kMaxQuantileParts = uint64_t{1} << 20;
constexpr uint64_t kMaxQuantileCount = uint64_t{1} << 40;

Status CheckSelection(absl::Span<const int64_t> scores, uint64_t range) {
  if (scores.empty()) return InvalidArgumentError("a selection needs candidates");
  if (range == 0) return InvalidArgumentError("the range of scores must be positive");
  return OkStatus();
}

// True with probability exp(-epsilon (best - score) / range).
StatusOr<bool> Keep(int64_t best, int64_t score, const Budget& epsilon, uint64_t range,
                    PrivateRandom& random) {
  // 128 bits, since scores may be up to 2^64 apart.
  const auto behind = static_cast<absl::uint128>(absl::int128(best) - score);
  return BernoulliExp(behind * epsilon.nanos(), absl::uint128(Budget::kNanosPerEpsilon) * range,
                      random);
}

}  // namespace

StatusOr<size_t> PermuteAndFlip(absl::Span<const int64_t> scores, const Budget& epsilon,
                                uint64_t range, PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(CheckSelection(scores, range));
  const int64_t best = *std::max_element(scores.begin(), scores.end());
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t left = order.size();; --left) {
    // The random order is drawn one place at a time, from the back.
    COPPICE_ASSIGN_OR_RETURN(const uint64_t place, random.UniformBelow(left));
    std::swap(order[left - 1], order[place]);
    const size_t candidate = order[left - 1];
    COPPICE_ASSIGN_OR_RETURN(const bool keep,
                             Keep(best, scores[candidate], epsilon, range, random));
    if (keep) return candidate;  // the best candidate is always kept, so this ends
  }
}

StatusOr<size_t> ExponentialMechanism(absl::Span<const int64_t> scores, const Budget& epsilon,
                                      uint64_t range, PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(CheckSelection(scores, range));
  const int64_t best = *std::max_element(scores.begin(), scores.end());
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t candidate, random.UniformBelow(scores.size()));
    COPPICE_ASSIGN_OR_RETURN(const bool keep,
                             Keep(best, scores[candidate], epsilon, range, random));
    if (keep) return candidate;
  }
}

StatusOr<size_t> SelectQuantile(absl::Span<const uint64_t> ranks, uint64_t count, uint64_t part,
                                uint64_t whole, const Budget& epsilon, PrivateRandom& random) {
  if (part == 0 || part >= whole || whole > kMaxQuantileParts) {
    return InvalidArgumentError("a quantile must lie between 0 and 1, in parts of 2^20");
  }
  if (count >= kMaxQuantileCount) return InvalidArgumentError("too many numbers");
  std::vector<int64_t> scores;
  scores.reserve(ranks.size());
  for (const uint64_t rank : ranks) {
    if (rank > count) return InvalidArgumentError("a rank exceeds the number of rows");
    scores.push_back(
        -std::abs(static_cast<int64_t>(whole * rank) - static_cast<int64_t>(part * count)));
  }
  return PermuteAndFlip(scores, epsilon, 2 * std::max(part, whole - part), random);
}

}  // namespace coppice
