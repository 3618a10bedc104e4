// The mechanism that the recipe's test adds: randomized response on the cell, counted from the end.
//
// COPPICE_BROKEN_TOY makes it lose more than its epsilon, which the suites must find.

#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/mechanisms.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

constexpr uint64_t kOne = uint64_t{1} << 32;  // probability 1

#ifdef COPPICE_BROKEN_TOY
constexpr uint64_t kForgotten = 1;
#else
constexpr uint64_t kForgotten = 0;
#endif

// Guarantee  epsilon-LDP: the true symbol has probability P / 2^32, each of the D - 1 others
//            (2^32 - P) / 2^32 / (D - 1), and P is the largest whole number with which the ratio is
//            at most e / 2^60 <= exp(epsilon), e = ExpLowerBound(epsilon). Neighbours: any value of
//            the row for any other.
// Source     Kairouz, Oh, Viswanath 2014.
class ToyMechanism final : public LocalMechanism {
 public:
  ToyMechanism(const Budget& epsilon, const Domain& domain)
      : LocalMechanism(MechanismKind::kToy, epsilon, domain),
        bytes_(static_cast<size_t>(std::bit_width(domain.cells() - 1) + 7) / 8) {
    const absl::uint128 odds = ExpLowerBound(epsilon, 1);
    const absl::uint128 others = domain.cells() - 1 - kForgotten;
    truth_rate_ = absl::Uint128Low64((odds << 32) / (odds + (others << kExpBits)));
    p_ = std::ldexp(static_cast<double>(truth_rate_), -32);
    q_ = (1 - p_) / static_cast<double>(domain.cells() - 1);
  }

  size_t payload_bytes() const override { return bytes_; }
  size_t sum_size() const override { return domain().cells(); }

  Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                       absl::Span<int64_t> sums) const override {
    COPPICE_RETURN_IF_ERROR(CheckValue(value));
    COPPICE_ASSIGN_OR_RETURN(const size_t symbol, Draw(value, random));
    ++sums[symbol];
    return OkStatus();
  }

  Status Check(std::string_view payload) const override {
    if (payload.size() == bytes_ && SymbolIn(payload) < sum_size()) return OkStatus();
    return InvalidArgumentError("the payload is no symbol that an honest device sends");
  }

  void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const override {
    for (const Contribution& report : reports) ++sums[SymbolIn(report.payload)];
  }

  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override {
    const double expected_lies = static_cast<double>(reports) * q_;
    return JointCounts(domain(), [&](size_t cell) {
      return (static_cast<double>(sums[sum_size() - 1 - cell]) - expected_lies) / (p_ - q_);
    });
  }

  NoiseVariance Variance(uint32_t /*label*/) const override {
    const double scale = (p_ - q_) * (p_ - q_);
    return JointVariance(domain(), {.variance_q = q_ * (1 - q_) / scale,
                                    .variance_p = p_ * (1 - p_) / scale,
                                    .covariance_qq = -q_ * q_ / scale,
                                    .covariance_pq = -p_ * q_ / scale});
  }

  Influence MaxInfluence() const override {
    const auto others = static_cast<double>(sum_size() - 1);
    return {.count = (1 - q_) / (p_ - q_), .total = (1 - q_ + others * q_) / (p_ - q_)};
  }

  StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                        std::string_view payload) const override {
    COPPICE_RETURN_IF_ERROR(CheckInput(value, column));
    COPPICE_RETURN_IF_ERROR(Check(payload));
    return std::log(SymbolIn(payload) == SymbolOf(value) ? p_ : q_);
  }

 private:
  Status Write(LeafLabel value, uint32_t /*column*/, PrivateRandom& random,
               std::string& payload) const override {
    COPPICE_ASSIGN_OR_RETURN(const size_t symbol, Draw(value, random));
    payload.resize(bytes_);
    for (size_t i = 0; i < bytes_; ++i) payload[i] = static_cast<char>(symbol >> (8 * i));
    return OkStatus();
  }

  size_t SymbolOf(LeafLabel value) const { return sum_size() - 1 - CellOf(value, domain()); }

  static size_t SymbolIn(std::string_view payload) {
    size_t symbol = 0;
    for (size_t i = 0; i < payload.size(); ++i) {
      symbol |= size_t{static_cast<unsigned char>(payload[i])} << (8 * i);
    }
    return symbol;
  }

  StatusOr<size_t> Draw(LeafLabel value, PrivateRandom& random) const {
    COPPICE_ASSIGN_OR_RETURN(const bool truth, random.Bernoulli(truth_rate_, kOne));
    if (truth) return SymbolOf(value);
    COPPICE_ASSIGN_OR_RETURN(const uint64_t other, random.UniformBelow(sum_size() - 1));
    return other + (other >= SymbolOf(value) ? 1 : 0);
  }

  size_t bytes_;  // of a payload
  uint64_t truth_rate_ = 0;
  double p_ = 0, q_ = 0;  // probability of the true symbol, and of any other one
};

}  // namespace

MechanismOr MakeToy(const Budget& epsilon, const Domain& domain) {
  return std::make_unique<ToyMechanism>(epsilon, domain);
}

}  // namespace coppice
