#include <bit>
#include <memory>
#include <vector>

#include "common/base/part_of.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/symbol_response.h"
#include "common/ldp/walsh_hadamard.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

uint64_t CeilDivide(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// The noise with B blocks is (g + 2 B)^2 / (B g^2) with g = exp(epsilon) - 1, so doubling B helps
// while 8 B^2 < g^2. Computed in integers: device and curator must agree on B.
uint32_t BlocksFor(const Budget& epsilon, const Domain& domain) {
  constexpr int kBits = kExpBits / 2;  // g^2 has twice as many, and fits
  const absl::uint128 gain = (ExpLowerBound(epsilon, 1) >> kBits) - (absl::uint128(1) << kBits);
  const uint64_t most = std::bit_ceil(domain.cells());
  uint64_t blocks = 1;
  while (blocks < most && (absl::uint128(8 * blocks * blocks) << kExpBits) < gain * gain) {
    blocks *= 2;
  }
  return static_cast<uint32_t>(blocks);
}

// `hadamard_response`: few bytes for any number of cells. The cells are divided among B blocks, and
// a report names a block and the sign of the cell's entry in the ticket's column of a Hadamard
// matrix over the cells of a block. With one block it is the one-bit Hadamard mechanism.
//
// B is the power of two with the least noise, about (exp(epsilon) - 1) / 2, at least 1 and at most
// the number of cells rounded up to a power of two. There are as many columns as a block has cells,
// rounded up likewise. The symbol is 2 * block + (0 for +, 1 for -), block = cell % B.
//
// Variance() is exact with one block. With several, a row in a cell's own block adds more noise to
// its estimate than a row in another block, and the stated variance holds for rows that are spread
// evenly over the blocks.
//
// Guarantee  epsilon-LDP by symbol_response.h, with 2 B symbols.
// Source     Acharya, Sun, Zhang 2019; Chen, Kairouz, Ozgur 2020 (public column);
//            docs/research/mechanisms.md#hadamard_response.
class HadamardResponse final : public SymbolResponse {
 public:
  HadamardResponse(const Budget& epsilon, const Domain& domain, uint32_t blocks);

  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  double WorstVarianceRatio() const override;
  Influence MaxInfluence() const override;

 private:
  uint32_t blocks() const { return symbols() / 2; }
};

HadamardResponse::HadamardResponse(const Budget& epsilon, const Domain& domain, uint32_t blocks)
    : SymbolResponse(
          MechanismKind::kHadamardResponse, epsilon, domain,
          {.columns = static_cast<uint32_t>(std::bit_ceil(CeilDivide(domain.cells(), blocks))),
           .symbols = 2 * blocks}) {}

// Proved: hadamard_response_is_private in tests/proofs/statements.v.
uint32_t HadamardResponse::SymbolOf(uint32_t column, size_t cell) const {
  const auto block = static_cast<uint32_t>(cell % blocks());
  return 2 * block + (IsNegativeEntry(column, cell / blocks()) ? 1 : 0);
}

LeafCounts HadamardResponse::Estimate(absl::Span<const int64_t> sums, uint64_t /*reports*/) const {
  const size_t size = columns();
  std::vector<int64_t> sizes(blocks() * size);  // block by block
  for (size_t block = 0; block < blocks(); ++block) {
    const absl::Span<int64_t> of_block = PartOf(absl::MakeSpan(sizes), block * size, size);
    for (size_t j = 0; j < size; ++j) {
      const size_t plus = j * symbols() + 2 * block;
      of_block[j] = sums[plus] - sums[plus + 1];
    }
    WalshHadamard(of_block);
  }
  return JointCounts(domain(), [&](size_t cell) {
    return static_cast<double>(sizes[cell % blocks() * size + cell / blocks()]) / keep();
  });
}

NoiseVariance HadamardResponse::Variance(uint32_t /*label*/) const {
  // A report adds +-1 / keep to the cells of the block that it names, nothing to others. Cells are
  // uncorrelated: in one block the columns are orthogonal, and a report names one block.
  const double scale = keep() * keep();
  const double own_block = (p() + q()) / scale;
  const double other_block = 2 * q() / scale;
  const double share = 1.0 / blocks();
  return JointVariance(domain(), {.variance_q = share * own_block + (1 - share) * other_block,
                                  .variance_p = own_block - 1,
                                  .covariance_qq = 0,
                                  .covariance_pq = 0});
}

double HadamardResponse::WorstVarianceRatio() const {
  // The worst case has every row, and every cell of the sum, in one block.
  return (p() + q()) / (keep() * keep()) / Variance(0).label;
}

Influence HadamardResponse::MaxInfluence() const {
  const auto of_block = static_cast<double>(CeilDivide(domain().cells(), blocks()));
  return {.count = 1 / keep(), .total = of_block / keep()};
}

}  // namespace

MechanismOr MakeHadamardResponse(const Budget& epsilon, const Domain& domain) {
  const uint32_t blocks = BlocksFor(epsilon, domain);
  return std::make_unique<HadamardResponse>(epsilon, domain, blocks);
}

}  // namespace coppice
