#include <algorithm>
#include <memory>
#include <vector>

#include "common/ldp/joint_counts.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/symbol_response.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

bool IsPrime(uint64_t number) {
  for (uint64_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return false;
  }
  return true;
}

// Turns a table over (vector a, symbol s) into the sums over all a of its entries at s + <a, x>,
// one digit of a at a time: a's digit of weight `weight` becomes x's.
void TransformDigit(uint64_t prime, uint64_t weight, absl::Span<int64_t> table) {
  const uint64_t stride = weight * prime;  // from one value of the digit to the next
  std::vector<int64_t> before(prime * prime);
  for (uint64_t base = 0; base < table.size(); base += stride * prime) {
    for (uint64_t at = base; at < base + stride; at += prime) {
      for (uint64_t a = 0; a < prime; ++a) {
        std::copy_n(&table[at + a * stride], prime, &before[a * prime]);
      }
      for (uint64_t x = 0; x < prime; ++x) {
        int64_t* const after = &table[at + x * stride];
        std::fill_n(after, prime, 0);
        for (uint64_t a = 0; a < prime; ++a) {
          const uint64_t shift = a * x % prime;
          for (uint64_t s = 0; s < prime; ++s) after[s] += before[a * prime + (s + shift) % prime];
        }
      }
    }
  }
}

// `local_hashing`: the ticket draws a public hash of the cell to a few symbols out of a finite
// family, and the device randomizes its value. As little noise as optimized_unary, in one byte.
//
// The family is our own, so that hashing needs no seed, summing no work and estimating no loop over
// pairs: the symbols are the field GF(g), g prime; a cell is the vector of its t digits in base g;
// a column is a vector a other than 0; the hash is the inner product <a, cell>. Two different cells
// collide in exactly (g^(t-1) - 1) / (g^t - 1) of the columns.
//
// g is the prime with the least noise whose sums fit: g^(t+1) <= max(32 cells, 4096). The symbol is
// <a, cell>; column c is the vector of the digits of c + 1, low ones first, as with cells.
//
// Variance() is exact except for the covariance of two cells, which depends on whether the row lies
// on the line through them; the stated one holds for rows spread evenly over the other vectors.
//
// Guarantee  epsilon-LDP by symbol_response.h, with g symbols.
// Source     Bassily and Smith 2015; Wang, Blocki, Li, Jha 2017 (OLH);
//            docs/research/mechanisms.md#local_hashing.
class LocalHashing final : public SymbolResponse {
 public:
  LocalHashing(const Budget& epsilon, const Domain& domain)
      : LocalHashing(epsilon, domain, Choose(epsilon, domain.cells())) {}

  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  double WorstVarianceRatio() const override;
  Influence MaxInfluence() const override;

 private:
  struct Family {
    uint64_t prime = 0;
    uint32_t digits = 0;
    uint64_t vectors = 0;  // prime^digits, at least the number of cells
  };
  static Family WithPrime(uint64_t prime, uint64_t cells);
  static Family Choose(const Budget& epsilon, uint64_t cells);

  LocalHashing(const Budget& epsilon, const Domain& domain, const Family& family);

  Family family_;
  double collide_;  // share of the columns in which two cells collide
  double miss_;     // P(the report is the hash of a cell other than the row's)
};

LocalHashing::Family LocalHashing::WithPrime(uint64_t prime, uint64_t cells) {
  Family family = {.prime = prime, .digits = 1, .vectors = prime};
  while (family.vectors < cells) {
    ++family.digits;
    family.vectors *= prime;
  }
  return family;
}

// Computed in integers: device and curator must agree on the prime. With x = exp(epsilon) - 1 and G
// = g^t the variance times x^2 is ((G - g) x + g (G - 1)) (G x + g (G - 1)) / (G^2 (g - 1)).
LocalHashing::Family LocalHashing::Choose(const Budget& epsilon, uint64_t cells) {
  constexpr int kBits = 20;  // of x: the product stays below 2^101
  const absl::uint128 one = absl::uint128(1) << kBits;
  const absl::uint128 x = (ExpLowerBound(epsilon, 1) >> (kExpBits - kBits)) - one;
  const uint64_t most_sums = std::max<uint64_t>(32 * cells, 4096);
  Family best;
  absl::uint128 least = absl::Uint128Max();
  for (uint64_t prime = 2; prime * prime <= most_sums; ++prime) {
    const Family family = WithPrime(prime, cells);
    if (family.vectors * prime > most_sums || !IsPrime(prime)) continue;
    const absl::uint128 g = prime;
    const absl::uint128 all = family.vectors;
    const absl::uint128 spread = g * (all - 1) * one;
    const absl::uint128 noise =
        ((all - g) * x + spread) / all * ((all * x + spread) / all) / (g - 1);
    if (noise >= least) continue;
    least = noise;
    best = family;
  }
  return best;
}

LocalHashing::LocalHashing(const Budget& epsilon, const Domain& domain, const Family& family)
    : SymbolResponse(MechanismKind::kLocalHashing, epsilon, domain,
                     {.columns = static_cast<uint32_t>(family.vectors - 1),
                      .symbols = static_cast<uint32_t>(family.prime)}),
      family_(family),
      collide_(static_cast<double>(family.vectors / family.prime - 1) / columns()),
      miss_(collide_ * p() + (1 - collide_) * q()) {}

// Proved: local_hashing_is_private in tests/proofs/statements.v.
uint32_t LocalHashing::SymbolOf(uint32_t column, size_t cell) const {
  uint64_t product = 0;
  for (uint64_t a = uint64_t{column} + 1; a > 0 && cell > 0; a /= family_.prime) {
    product += a % family_.prime * (cell % family_.prime);
    cell /= family_.prime;
  }
  return static_cast<uint32_t>(product % family_.prime);
}

LeafCounts LocalHashing::Estimate(absl::Span<const int64_t> sums, uint64_t reports) const {
  const uint64_t prime = family_.prime;
  std::vector<int64_t> table(family_.vectors * prime);  // column c at vector c + 1, none at 0
  std::copy(sums.begin(), sums.end(), table.begin() + static_cast<ptrdiff_t>(prime));
  uint64_t weight = 1;
  for (uint32_t digit = 0; digit < family_.digits; ++digit) {
    TransformDigit(prime, weight, absl::MakeSpan(table));
    weight *= prime;
  }
  // The entry (x, 0) now counts the reports that are the hash of x.
  const double expected_misses = static_cast<double>(reports) * miss_;
  return JointCounts(domain(), [&](size_t cell) {
    return (static_cast<double>(table[cell * prime]) - expected_misses) / (p() - miss_);
  });
}

NoiseVariance LocalHashing::Variance(uint32_t /*label*/) const {
  const double scale = (p() - miss_) * (p() - miss_);
  // Where two cells collide, g^(t-1) vectors have their hash, these two included.
  const auto vectors = static_cast<double>(family_.vectors);
  const double with_both =
      vectors > 2 ? (vectors / static_cast<double>(family_.prime) - 2) / (vectors - 2) : 0;
  const double both = collide_ * (with_both * p() + (1 - with_both) * q());
  return JointVariance(domain(), {.variance_q = miss_ * (1 - miss_) / scale,
                                  .variance_p = p() * (1 - p()) / scale,
                                  .covariance_qq = (both - miss_ * miss_) / scale,
                                  .covariance_pq = p() * (collide_ - miss_) / scale});
}

double LocalHashing::WorstVarianceRatio() const {
  // Two cells on a line with the row's cell collide only where all three do. A line has `others`
  // more cells than the row's and one other; off the line no two cells are positively correlated.
  const double others = static_cast<double>(family_.prime) - 2;
  const double covariance = std::max(collide_ * p() - miss_ * miss_, 0.0);
  return 1 + others * covariance / (miss_ * (1 - miss_));
}

Influence LocalHashing::MaxInfluence() const {
  // In any column, at most this many vectors have a given symbol as their hash, and the cells among
  // them share their highest digit, 0.
  const auto hits = static_cast<double>(family_.vectors / family_.prime);
  const auto cells = static_cast<double>(domain().cells());
  const double scale = p() - miss_;
  return {.count = (1 - miss_) / scale,
          .total = (hits * (1 - miss_) + (cells - hits) * miss_) / scale};
}

}  // namespace

MechanismOr MakeLocalHashing(const Budget& epsilon, const Domain& domain) {
  return std::make_unique<LocalHashing>(epsilon, domain);
}

}  // namespace coppice
