#include "common/ldp/subset_selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/payload/bit_payload.h"
#include "common/ldp/payload/bit_sums.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

constexpr int kRateBits = 32;
constexpr uint64_t kOne = uint64_t{1} << kRateBits;  // probability 1

// ln C(n, k).
double LogChoose(size_t n, size_t k) {
  double log = 0;
  for (size_t i = 1; i <= k; ++i) {
    log += std::log(static_cast<double>(n - k + i)) - std::log(static_cast<double>(i));
  }
  return log;
}

// Calls take(i) for each bit i that is one, in ascending order, counted from byte `first`.
template <typename Take>
void ForEachOne(const std::string& bytes, size_t first, Take take) {
  for (size_t at = first; at < bytes.size(); ++at) {
    for (auto rest = static_cast<unsigned char>(bytes[at]); rest != 0;
         rest = static_cast<unsigned char>(rest & (rest - 1))) {
      take(8 * (at - first) + static_cast<size_t>(std::countr_zero(rest)));
    }
  }
}

}  // namespace

MechanismOr MakeSubsetSelection(const Budget& epsilon, const Domain& domain) {
  const absl::uint128 one = absl::uint128(1) << kExpBits;
  const absl::uint128 e = ExpLowerBound(epsilon, 1);
  const absl::uint128 cells = domain.cells();
  const absl::uint128 rounded = (2 * cells * one + one + e) / (2 * (one + e));
  const absl::uint128 members = std::max<absl::uint128>(rounded, 1);
  // This fits: e is below 2^89, and w e is below the larger of e and 2 D 2^60.
  const absl::uint128 odds = members * e;
  const absl::uint128 rate = (odds << kRateBits) / (odds + (cells - members) * one);
  return std::unique_ptr<LocalMechanism>(
      new SubsetSelection(epsilon, domain, absl::Uint128Low64(members), absl::Uint128Low64(rate)));
}

SubsetSelection::SubsetSelection(const Budget& epsilon, const Domain& domain, size_t members,
                                 uint64_t truth_rate)
    : LocalMechanism(MechanismKind::kSubsetSelection, epsilon, domain),
      members_(members),
      width_(static_cast<size_t>(std::bit_width(domain.cells() - 1))),
      truth_rate_(truth_rate),
      p_(std::ldexp(static_cast<double>(truth_rate), -kRateBits)),
      q_((static_cast<double>(members) - p_) / static_cast<double>(domain.cells() - 1)) {}

template <typename Insert>
Status SubsetSelection::DrawMembers(size_t cell, PrivateRandom& random, Insert insert) const {
  COPPICE_ASSIGN_OR_RETURN(const bool truth, random.Bernoulli(truth_rate_, kOne));
  const size_t others = sum_size() - 1;
  const size_t drawn = members_ - (truth ? 1 : 0);
  // The other cells, numbered without the row's cell.
  const auto cell_of = [cell](size_t other) { return other + (other >= cell ? 1 : 0); };
  for (size_t last = others - drawn; last < others; ++last) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t any, random.UniformBelow(last + 1));
    if (!insert(cell_of(any))) insert(cell_of(last));
  }
  if (truth) insert(cell);
  return OkStatus();
}

Status SubsetSelection::Write(LeafLabel value, uint32_t /*column*/, PrivateRandom& random,
                              std::string& payload) const {
  // The bits stand behind the numbers if they are not what is sent.
  const size_t first_bit = is_bitmap() ? 0 : 8 * payload_bytes();
  payload.assign(room_bytes(), '\0');
  COPPICE_RETURN_IF_ERROR(DrawMembers(CellOf(value, domain()), random, [&](size_t member) {
    const bool is_new = !GetBit(payload, first_bit + member);
    if (is_new) FlipBit(payload, first_bit + member);
    return is_new;
  }));
  if (is_bitmap()) return OkStatus();
  size_t written = 0;
  ForEachOne(payload, payload_bytes(), [&](size_t member) {
    SetNumber(payload, width_, written++, static_cast<uint32_t>(member));
  });
  payload.resize(payload_bytes());
  return OkStatus();
}

Status SubsetSelection::RandomizeInto(LeafLabel value, PrivateRandom& random,
                                      absl::Span<int64_t> sums) const {
  COPPICE_RETURN_IF_ERROR(CheckValue(value));
  std::unordered_set<size_t> set;
  set.reserve(members_);
  COPPICE_RETURN_IF_ERROR(DrawMembers(CellOf(value, domain()), random,
                                      [&set](size_t member) { return set.insert(member).second; }));
  for (const size_t member : set) ++sums[member];
  return OkStatus();
}

Status SubsetSelection::Check(std::string_view payload) const {
  const auto impossible = [] {
    return InvalidArgumentError("the payload is a set that no honest device sends");
  };
  if (is_bitmap()) {
    COPPICE_RETURN_IF_ERROR(CheckBits(payload, sum_size()));
    return CountOnes(payload) == members_ ? OkStatus() : impossible();
  }
  COPPICE_RETURN_IF_ERROR(CheckBits(payload, members_ * width_));
  size_t least = 0;  // the least value that the next may have
  for (size_t i = 0; i < members_; ++i) {
    const size_t member = GetNumber(payload, width_, i);
    if (member < least || member >= sum_size()) return impossible();
    least = member + 1;
  }
  return OkStatus();
}

void SubsetSelection::AddAll(absl::Span<const Contribution> reports,
                             absl::Span<int64_t> sums) const {
  if (is_bitmap()) return AddBits(reports, sums);
  for (const Contribution& report : reports) {
    for (size_t i = 0; i < members_; ++i) ++sums[GetNumber(report.payload, width_, i)];
  }
}

LeafCounts SubsetSelection::Estimate(absl::Span<const int64_t> sums, uint64_t reports) const {
  const double expected_lies = static_cast<double>(reports) * q_;
  return JointCounts(domain(), [&](size_t cell) {
    return (static_cast<double>(sums[cell]) - expected_lies) / (p_ - q_);
  });
}

NoiseVariance SubsetSelection::Variance(uint32_t /*label*/) const {
  const double scale = (p_ - q_) * (p_ - q_);
  const auto w = static_cast<double>(members_);
  const auto others = static_cast<double>(sum_size() - 1);
  // Probability that two given cells are both among the w - 1 or w other members, or that one is.
  const double both = w > 1 ? (w - 1) * (w - 2 * p_) / (others * (others - 1)) : 0;
  const double true_and_other = p_ * (w - 1) / others;
  return JointVariance(domain(), {.variance_q = q_ * (1 - q_) / scale,
                                  .variance_p = p_ * (1 - p_) / scale,
                                  .covariance_qq = (both - q_ * q_) / scale,
                                  .covariance_pq = (true_and_other - p_ * q_) / scale});
}

Influence SubsetSelection::MaxInfluence() const {
  // Every accepted report is a set of w cells.
  const auto w = static_cast<double>(members_);
  const auto cells = static_cast<double>(sum_size());
  return {.count = (1 - q_) / (p_ - q_), .total = (w * (1 - q_) + (cells - w) * q_) / (p_ - q_)};
}

// Mass of the sets with one row's cell and not the other's, at the probability of one with neither.
double SubsetSelection::TwoSidedMass() const {
  const auto w = static_cast<double>(members_);
  const auto cells = static_cast<double>(sum_size());
  const double odds = w * std::exp(epsilon().epsilon()) + cells - w;
  return kMassRoundingUp * w * (cells - w) / ((cells - 1) * odds);
}

bool SubsetSelection::Contains(std::string_view payload, size_t cell) const {
  if (is_bitmap()) return GetBit(payload, cell);
  for (size_t i = 0; i < members_; ++i) {
    if (GetNumber(payload, width_, i) == cell) return true;
  }
  return false;
}

StatusOr<double> SubsetSelection::LogOutputProbability(LeafLabel value, uint32_t column,
                                                       std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckInput(value, column));
  COPPICE_RETURN_IF_ERROR(Check(payload));
  const size_t others = sum_size() - 1;
  if (Contains(payload, CellOf(value, domain()))) {
    return std::log(p_) - LogChoose(others, members_ - 1);
  }
  return std::log1p(-p_) - LogChoose(others, members_);
}

}  // namespace coppice
