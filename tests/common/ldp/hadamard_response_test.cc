#include <cmath>
#include <vector>

#include "common/ldp/mechanisms.h"
#include "common/ldp/symbol_response.h"
#include "common/ldp/walsh_hadamard.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

std::unique_ptr<LocalMechanism> MakeHadamard(const char* epsilon, Domain domain) {
  return *MakeHadamardResponse(*Budget::Parse(epsilon), domain);
}

// Device and curator must agree on these, from integers of any size: 8 B^2 < (e^epsilon - 1)^2.
TEST(HadamardResponseTest, BlocksFollowTheBudgetAndTheCells) {
  struct Expected {
    const char* epsilon;
    Domain domain;
    uint32_t blocks, columns;
  };
  for (const auto& [epsilon, domain, blocks, columns] :
       std::vector<Expected>{{"0.01", {2, 3}, 1, 8},
                             {"1", {256, 2}, 1, 512},
                             {"1.3", {256, 2}, 1, 512},
                             {"1.4", {256, 2}, 2, 256},
                             {"2", {256, 2}, 4, 128},
                             {"3", {256, 2}, 8, 64},
                             {"4", {256, 2}, 32, 16},
                             {"6", {256, 2}, 256, 2},
                             {"20", {256, 2}, 512, 1},
                             {"20", {2, 3}, 8, 1},
                             {"2", {3, 3}, 4, 4},  // blocks of 3, 2, 2 and 2 cells
                             {"0.01", {1, 2}, 1, 2},
                             {"20", {1u << 21, 2}, 1u << 22, 1}}) {
    const auto mechanism = MakeHadamard(epsilon, domain);
    const auto& response = static_cast<const SymbolResponse&>(*mechanism);
    EXPECT_EQ(response.columns(), columns) << epsilon;
    EXPECT_EQ(response.symbols(), 2 * blocks) << epsilon;
  }
}

// Twice or half as many blocks would have no less noise: (g + 2 B)^2 / (B g^2) with g = e^eps - 1.
TEST(HadamardResponseTest, TheNumberOfBlocksHasTheLeastNoise) {
  for (const char* epsilon : {"0.01", "0.5", "1", "1.34", "1.35", "2", "2.5", "3", "4", "7"}) {
    const auto mechanism = MakeHadamard(epsilon, {4096, 2});
    const double gain = std::exp(mechanism->epsilon().epsilon()) - 1;
    const auto noise = [gain](double blocks) {
      return std::pow((gain + 2 * blocks) / gain, 2) / blocks;
    };
    const double blocks = static_cast<const SymbolResponse&>(*mechanism).symbols() / 2.0;
    EXPECT_NEAR(mechanism->Variance(0).label, noise(blocks), 1e-6 * noise(blocks));
    EXPECT_LE(noise(blocks), noise(2 * blocks));
    if (blocks > 1) {
      EXPECT_LE(noise(blocks), noise(blocks / 2));
    }
  }
}

TEST(HadamardResponseTest, TheSymbolIsTheBlockAndTheEntrysSign) {
  const auto mechanism = MakeHadamard("2", {3, 3});
  const auto& response = static_cast<const SymbolResponse&>(*mechanism);
  // Cell 7 is the second of block 3, cell 8 the third of block 0.
  EXPECT_EQ(response.SymbolOf(0, 7), 6u);
  EXPECT_EQ(response.SymbolOf(1, 7), 7u);
  EXPECT_EQ(response.SymbolOf(2, 7), 6u);
  EXPECT_EQ(response.SymbolOf(1, 8), 0u);
  EXPECT_EQ(response.SymbolOf(2, 8), 1u);
}

// Takes rows without noise, once in each column: their number times the columns, over p - q.
TEST(HadamardResponseTest, EstimatesFromSums) {
  for (const char* epsilon : {"0.5", "2", "6"}) {
    const auto mechanism = MakeHadamard(epsilon, {3, 3});
    const auto& response = static_cast<const SymbolResponse&>(*mechanism);
    std::vector<int64_t> sums(mechanism->sum_size());
    for (uint32_t column = 0; column < response.columns(); ++column) {
      for (int64_t cell = 0; cell < 9; ++cell) {
        sums[column * response.symbols() + response.SymbolOf(column, static_cast<size_t>(cell))] +=
            cell * cell;
      }
    }
    const LeafCounts counts = mechanism->Estimate(sums, 0);
    const double gain = std::exp(mechanism->epsilon().epsilon()) - 1;
    const double scale = response.columns() * (gain + response.symbols()) / gain;
    for (uint32_t cell = 0; cell < 9; ++cell) {
      EXPECT_NEAR(counts.label[cell], cell * cell * scale, 1e-8 * scale) << cell;
    }
    EXPECT_NEAR(counts.leaf[1], (9 + 16 + 25) * scale, 1e-8 * scale);
  }
}

TEST(HadamardResponseTest, WithOneBlockItIsTheOneBitMechanism) {
  const NoiseVariance one = MakeHadamard("1", {256, 2})->Variance(1);
  EXPECT_NEAR(one.label, 4.683, 0.001);
  EXPECT_NEAR(one.leaf, 9.366, 0.001);
  EXPECT_NEAR(one.hit.label, -1, 1e-12);
  EXPECT_NEAR(one.beside.leaf, -1, 1e-12);
}

}  // namespace
}  // namespace coppice
