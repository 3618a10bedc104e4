#include <cmath>
#include <vector>

#include "common/ldp/mechanisms.h"
#include "common/ldp/symbol_response.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

std::unique_ptr<LocalMechanism> DirectOn(const char* epsilon, Domain domain) {
  return *MakeDirect(*Budget::Parse(epsilon), domain);
}

TEST(DirectTest, TheSymbolIsTheCell) {
  const auto mechanism = DirectOn("1", {3, 2});
  const auto& direct = static_cast<const SymbolResponse&>(*mechanism);
  EXPECT_EQ(direct.columns(), 1u);
  EXPECT_EQ(direct.symbols(), 6u);
  for (uint32_t cell = 0; cell < 6; ++cell) EXPECT_EQ(direct.SymbolOf(0, cell), cell);
}

// The estimate is (c - n q) / (p - q) with p = e / (e + 5) and q = 1 / (e + 5).
TEST(DirectTest, EstimatesFromSums) {
  const double e = std::exp(2.0);
  const LeafCounts counts = DirectOn("2", {3, 2})->Estimate({10, 0, 5, 3, 0, 2}, 20);
  EXPECT_NEAR(counts.at(0, 0), (10 * (e + 5) - 20) / (e - 1), 1e-9);
  EXPECT_NEAR(counts.at(2, 1), (2 * (e + 5) - 20) / (e - 1), 1e-9);
  EXPECT_NEAR(counts.leaf[1], (8 * (e + 5) - 40) / (e - 1), 1e-9);
}

// The variance is (D - 2 + e^epsilon) / (e^epsilon - 1)^2.
TEST(DirectTest, VarianceIsTheClosedForm) {
  const double e = std::exp(1.0);
  EXPECT_NEAR(DirectOn("1", {256, 2})->Variance(1).label, (510 + e) / std::pow(e - 1, 2), 1e-6);
  EXPECT_NEAR(DirectOn("1", {16, 2})->Variance(0).leaf, 21.5, 0.05);
}

}  // namespace
}  // namespace coppice
