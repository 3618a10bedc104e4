#include "common/ldp/hadamard_response.h"

#include <bit>
#include <vector>

#include "common/ldp/joint_counts.h"
#include "common/ldp/walsh_hadamard.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

uint64_t CeilDivide(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// The noise of B blocks is (g + 2 B)^2 / (B g^2) with g = exp(epsilon) - 1, so twice as many are
// better while 8 B^2 < g^2. In whole numbers: device and curator must agree on B.
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

}  // namespace

absl::StatusOr<std::unique_ptr<LocalMechanism>> HadamardResponse::Create(const Budget& epsilon,
                                                                         const Domain& domain) {
  const uint32_t blocks = BlocksFor(epsilon, domain);
  return std::unique_ptr<LocalMechanism>(new HadamardResponse(epsilon, domain, blocks));
}

HadamardResponse::HadamardResponse(const Budget& epsilon, const Domain& domain, uint32_t blocks)
    : SymbolResponse(
          MechanismKind::kHadamardResponse, epsilon, domain,
          {.columns = static_cast<uint32_t>(std::bit_ceil(CeilDivide(domain.cells(), blocks))),
           .symbols = 2 * blocks}) {}

uint32_t HadamardResponse::SymbolOf(uint32_t column, size_t cell) const {
  const auto block = static_cast<uint32_t>(cell % blocks());
  return 2 * block + (IsNegativeEntry(column, cell / blocks()) ? 1 : 0);
}

LeafCounts HadamardResponse::Estimate(absl::Span<const int64_t> sums, uint64_t /*reports*/) const {
  const size_t size = columns();
  std::vector<int64_t> sizes(blocks() * size);  // block by block
  for (size_t block = 0; block < blocks(); ++block) {
    const absl::Span<int64_t> of_block = absl::MakeSpan(sizes).subspan(block * size, size);
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
  // A report adds +-1 / keep to the cells of the block that it names, else nothing. Different
  // cells' are uncorrelated: in one block the columns are orthogonal, and a report names one block.
  const double scale = keep() * keep();
  const double own_block = (p() + q()) / scale;
  const double other_block = 2 * q() / scale;
  const double share = 1.0 / blocks();
  return JointVariance(domain(), {.variance_q = share * own_block + (1 - share) * other_block,
                                  .variance_p = own_block - 1,
                                  .covariance_qq = 0,
                                  .covariance_pq = 0});
}

Influence HadamardResponse::MaxInfluence() const {
  const auto of_block = static_cast<double>(CeilDivide(domain().cells(), blocks()));
  return {.count = 1 / keep(), .total = of_block / keep()};
}

}  // namespace coppice
