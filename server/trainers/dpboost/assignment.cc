#include "server/trainers/dpboost/assignment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {
namespace {

constexpr int kOddsBits = 40;

// Halves the parts until one is left, by coins with their odds. `up_to[p]` is the sum of the odds
// of the parts before p.
StatusOr<size_t> DrawPart(absl::Span<const uint64_t> up_to, Coins& coins) {
  size_t begin = 0, end = up_to.size() - 1;
  while (end - begin > 1) {
    const size_t middle = begin + (end - begin) / 2;
    COPPICE_ASSIGN_OR_RETURN(
        const bool first, coins.Bernoulli(up_to[middle] - up_to[begin], up_to[end] - up_to[begin]));
    (first ? end : begin) = middle;
  }
  return begin;
}

}  // namespace

std::vector<uint64_t> GeometricOdds(size_t parts, double ratio) {
  std::vector<uint64_t> odds;
  for (size_t part = 0; part < parts; ++part) {
    const double share = std::ldexp(std::pow(ratio, static_cast<double>(part)), kOddsBits);
    odds.push_back(std::max<uint64_t>(static_cast<uint64_t>(share), 1));
  }
  return odds;
}

StatusOr<Assignment> AssignRows(size_t count, absl::Span<const uint64_t> odds,
                                PrivateReleaser& releaser) {
  std::vector<uint64_t> up_to = {0};
  for (const uint64_t of_part : odds) up_to.push_back(up_to.back() + of_part);
  std::vector<uint32_t> part_of(count);
  Assignment assignment{.rows = std::vector<uint32_t>(count),
                        .begin = std::vector<size_t>(odds.size() + 1)};
  for (uint32_t& part : part_of) {
    COPPICE_ASSIGN_OR_RETURN(const size_t drawn, DrawPart(up_to, releaser.coins()));
    part = static_cast<uint32_t>(drawn);
    ++assignment.begin[part + 1];
  }
  std::partial_sum(assignment.begin.begin(), assignment.begin.end(), assignment.begin.begin());
  std::vector<size_t> next = assignment.begin;
  for (uint32_t row = 0; row < count; ++row) assignment.rows[next[part_of[row]]++] = row;
  return assignment;
}

}  // namespace coppice::trainers
