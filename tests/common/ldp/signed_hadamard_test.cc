#include <cmath>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/symbol_response.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<LocalMechanism> MakeSigned(const char* epsilon, uint32_t leaves) {
  return *MakeSignedHadamard(*Budget::Parse(epsilon), {leaves, 2});
}

TEST(SignedHadamardTest, TakesTwoClassesOnly) {
  for (const uint32_t classes : {3u, 4u}) {
    EXPECT_THAT(
        MakeLocalMechanism(MechanismKind::kSignedHadamard, *Budget::Parse("1"), {4, classes}),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("takes 2 classes, not")));
  }
}

TEST(SignedHadamardTest, HasColumnsForItsLeaves) {
  for (const auto& [leaves, columns] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}}) {
    const auto mechanism = MakeSigned("1", leaves);
    EXPECT_EQ(mechanism->columns(), columns);
    EXPECT_EQ(mechanism->sum_size(), 2 * columns);
  }
}

TEST(SignedHadamardTest, TheSymbolIsTheSignOfLabelAndEntry) {
  const auto mechanism = MakeSigned("1", 4);
  const auto& signs = static_cast<const SymbolResponse&>(*mechanism);
  // Column 3 of the matrix is + - - +.
  EXPECT_EQ(signs.SymbolOf(3, 1), 0u);  // leaf 0, label 1: +
  EXPECT_EQ(signs.SymbolOf(3, 0), 1u);
  EXPECT_EQ(signs.SymbolOf(3, 3), 1u);  // leaf 1, label 1
  EXPECT_EQ(signs.SymbolOf(3, 2), 0u);
  EXPECT_EQ(signs.SymbolOf(3, 7), 0u);  // leaf 3, label 1
  EXPECT_EQ(signs.SymbolOf(0, 7), 0u);
}

// A row of (leaf 2, label 1), once in each column without noise, and two of (leaf 0, label 0).
TEST(SignedHadamardTest, EstimatesMarginsFromSums) {
  const auto mechanism = MakeSigned("1", 3);
  const auto& signs = static_cast<const SymbolResponse&>(*mechanism);
  std::vector<int64_t> sums(mechanism->sum_size());
  for (uint32_t column = 0; column < 4; ++column) {
    ++sums[2 * column + signs.SymbolOf(column, 5)];
    sums[2 * column + signs.SymbolOf(column, 0)] += 2;
  }
  const LeafCounts counts = mechanism->Estimate(sums, 12);
  const double e = std::exp(1.0);
  const double scale = 4 * (e + 1) / (e - 1);  // columns / (p - q)
  EXPECT_EQ(counts.classes, 2u);
  EXPECT_EQ(counts.leaf, std::vector<double>(3, 0));
  const std::vector<double> margins = {-2, 0, 1};
  for (uint32_t leaf = 0; leaf < 3; ++leaf) {
    EXPECT_NEAR(counts.at(leaf, 1), margins[leaf] * scale / 2, 1e-9);
    EXPECT_EQ(counts.at(leaf, 0), -counts.at(leaf, 1));
  }
}

// The margin, label 1 minus label 0, has variance ((e^epsilon + 1) / (e^epsilon - 1))^2.
TEST(SignedHadamardTest, VarianceIsTheClosedForm) {
  const NoiseVariance one = MakeSigned("1", 256)->Variance(1);
  EXPECT_NEAR(4 * one.label, 4.683, 0.001);
  EXPECT_EQ(one.leaf, 0);
  EXPECT_EQ(one.covariance, 0);
  EXPECT_EQ(one.hit.label, -0.25);
  EXPECT_EQ(one.beside.label, -0.25);
}

}  // namespace
}  // namespace coppice
