// Checks Estimate() against Variance(), exactly: over all columns and reports of small domains,
// with their probabilities, estimates have the row as their mean, and the stated variances and
// covariances.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/ldp/local_mechanism.h"
#include "common/ldp/symbol_response.h"
#include "tests/common/ldp/mechanism_case.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::AcceptedPayloads;
using ::coppice::testing::CaseName;
using ::coppice::testing::MechanismCase;
using ::coppice::testing::ValuesOf;

using Matrix = std::vector<std::vector<double>>;

// For one report about one row: the means of each cell's estimate, and of products of two.
struct Moments {
  std::vector<double> mean;
  Matrix product;
  double leaf_error = 0;  // largest difference of a leaf's estimate from its cells' sum

  double Covariance(size_t u, size_t v) const { return product[u][v] - mean[u] * mean[v]; }
};

// Returns one entry per row.
std::vector<Moments> MomentsOf(const LocalMechanism& mechanism) {
  const size_t cells = mechanism.domain().cells();
  const std::vector<LeafLabel> rows = ValuesOf(mechanism.domain());
  std::vector<Moments> moments(cells, {.mean = std::vector<double>(cells),
                                       .product = Matrix(cells, std::vector<double>(cells))});
  const std::vector<std::string> payloads = AcceptedPayloads(mechanism);
  for (uint32_t column = 0; column < mechanism.columns(); ++column) {
    for (const std::string& payload : payloads) {
      std::vector<int64_t> sums(mechanism.sum_size());
      EXPECT_OK(mechanism.Add(payload, column, absl::MakeSpan(sums)));
      const LeafCounts counts = mechanism.Estimate(sums, 1);
      for (size_t x = 0; x < cells; ++x) {
        const double p =
            *mechanism.OutputProbability(rows[x], column, payload) / mechanism.columns();
        for (size_t u = 0; u < cells; ++u) {
          moments[x].mean[u] += p * counts.label[u];
          for (size_t v = 0; v < cells; ++v) {
            moments[x].product[u][v] += p * counts.label[u] * counts.label[v];
          }
        }
        for (size_t leaf = 0; leaf < counts.leaf.size(); ++leaf) {
          double sum = 0;
          for (uint32_t k = 0; k < counts.classes; ++k) {
            sum += counts.label[leaf * counts.classes + k];
          }
          moments[x].leaf_error =
              std::max(moments[x].leaf_error, std::abs(sum - counts.leaf[leaf]));
        }
      }
    }
  }
  return moments;
}

class MomentsTest : public ::testing::TestWithParam<MechanismCase> {
 protected:
  const std::unique_ptr<LocalMechanism> mechanism_ =
      *MakeLocalMechanism(GetParam().kind, *Budget::Parse(GetParam().epsilon), GetParam().domain);
  const Domain domain_ = GetParam().domain;
  const std::vector<Moments> moments_ = MomentsOf(*mechanism_);
  const double rounding_ = 1e-9 * (mechanism_->Variance(0).label + 1);
};

class RowByRowTest : public MomentsTest {};
class BlocksTest : public MomentsTest {};
class DigitsTest : public MomentsTest {};

std::vector<MechanismCase> RowByRowCases() {
  using enum MechanismKind;
  return {{kSymmetricUnary, "1", {2, 3}},
          {kOptimizedUnary, "1", {2, 3}},
          {kSubsetSelection, "1", {1, 2}},
          {kSubsetSelection, "0.5", {2, 3}},
          {kSubsetSelection, "0.01", {5, 2}},
          {kSubsetSelection, "1.4", {8, 2}},
          {kSubsetSelection, "0.7", {3, 3}},
          {kDirect, "0.01", {1, 2}},
          {kDirect, "1", {3, 3}},
          {kDirect, "4", {5, 2}},
          {kHadamardResponse, "0.01", {1, 2}},
          {kHadamardResponse, "1", {3, 3}},
          {kHadamardResponse, "1.2", {8, 2}},
          {kLocalHashing, "1", {1, 2}},
          {kLocalHashing, "1", {2, 2}},
          {kLocalHashing, "2", {3, 3}},
          {kSignedHadamard, "1", {1, 2}},
          {kSignedHadamard, "0.5", {4, 2}},
          {kSignedHadamard, "3", {5, 2}},
          {kWindowResponse, "1", {1, 2}},
          {kWindowResponse, "4", {1, 2}}};
}

// Cases where some rows have more noise than others.
std::vector<MechanismCase> CasesOfBlocks() {
  using enum MechanismKind;
  return {{kHadamardResponse, "1.4", {2, 2}},
          {kHadamardResponse, "2", {8, 2}},
          {kHadamardResponse, "3", {3, 3}},
          {kHadamardResponse, "20", {2, 3}}};
}
std::vector<MechanismCase> CasesOfDigits() {
  using enum MechanismKind;
  return {{kLocalHashing, "0.7", {3, 3}},
          {kLocalHashing, "0.01", {2, 2}},
          {kLocalHashing, "0.01", {8, 2}}};
}

std::vector<MechanismCase> AllCases() {
  std::vector<MechanismCase> cases = RowByRowCases();
  for (const MechanismCase& one : CasesOfBlocks()) cases.push_back(one);
  for (const MechanismCase& one : CasesOfDigits()) cases.push_back(one);
  // Some vectors are not cells.
  cases.push_back({MechanismKind::kLocalHashing, "0.5", {8, 2}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, MomentsTest, ::testing::ValuesIn(AllCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, RowByRowTest, ::testing::ValuesIn(RowByRowCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, BlocksTest, ::testing::ValuesIn(CasesOfBlocks()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, DigitsTest, ::testing::ValuesIn(CasesOfDigits()), CaseName);

TEST_P(MomentsTest, EstimatesAreUnbiased) {
  for (size_t x = 0; x < moments_.size(); ++x) {
    for (size_t u = 0; u < moments_.size(); ++u) {
      double truth = x == u ? 1 : 0;
      if (mechanism_->margins_only()) {
        truth = x / 2 != u / 2 ? 0 : x == u ? 0.5 : -0.5;
      }
      EXPECT_NEAR(moments_[x].mean[u], truth, rounding_);
    }
    EXPECT_LE(moments_[x].leaf_error, mechanism_->margins_only() ? 1e-9 : rounding_);
  }
}

TEST_P(RowByRowTest, VariancesAreTheStatedOnes) {
  const uint32_t classes = domain_.classes;
  for (size_t u = 0; u < moments_.size(); ++u) {
    const NoiseVariance one = mechanism_->Variance(static_cast<uint32_t>(u % classes));
    const size_t first = u - u % classes;
    for (size_t x = 0; x < moments_.size(); ++x) {
      NoiseVariance::Hit more;
      if (x == u) {
        more = one.hit;
      } else if (x / classes == u / classes) {
        more = one.beside;
      }
      double leaf = 0;
      double covariance = 0;
      for (size_t a = first; a < first + classes; ++a) {
        covariance += moments_[x].Covariance(u, a);
        for (size_t b = first; b < first + classes; ++b) leaf += moments_[x].Covariance(a, b);
      }
      EXPECT_NEAR(moments_[x].Covariance(u, u), one.label + more.label, rounding_);
      EXPECT_NEAR(leaf, one.leaf + more.leaf, rounding_);
      EXPECT_NEAR(covariance, one.covariance + more.covariance, rounding_);
    }
  }
}

// Rows spread evenly over the blocks have the stated second moment of one cell's estimate, and no
// covariance.
TEST_P(BlocksTest, VariancesAreTheStatedOnesForRowsSpreadEvenly) {
  const NoiseVariance one = mechanism_->Variance(0);
  const uint32_t blocks = static_cast<const SymbolResponse&>(*mechanism_).symbols() / 2;
  ASSERT_GT(blocks, 1u);
  for (size_t u = 0; u < moments_.size(); ++u) {
    EXPECT_NEAR(moments_[u].Covariance(u, u), one.label + one.hit.label, rounding_);
    double even = 0;
    for (uint32_t x = 0; x < blocks && x < moments_.size(); ++x) {  // one row of each block
      even += moments_[x].product[u][u] / blocks;
    }
    if (moments_.size() >= blocks) {
      EXPECT_NEAR(even, one.label, rounding_);
    }
    for (size_t x = 0; x < moments_.size(); ++x) {
      for (size_t v = 0; v < moments_.size(); ++v) {
        if (v == u) continue;
        EXPECT_NEAR(moments_[x].Covariance(u, v), 0, rounding_);
      }
    }
  }
  EXPECT_NEAR(one.leaf, domain_.classes * one.label, rounding_);
  EXPECT_EQ(one.covariance, one.label);
  EXPECT_EQ(one.hit.covariance, one.hit.label);
  EXPECT_EQ(one.hit.leaf, one.hit.label);
}

// Every row has the same variances; the covariance of two cells is for rows spread evenly over all
// other vectors of the field, which are as many as there are cells.
TEST_P(DigitsTest, VariancesAreTheStatedOnesForRowsSpreadEvenly) {
  const NoiseVariance one = mechanism_->Variance(0);
  ASSERT_GT(mechanism_->columns(), static_cast<const SymbolResponse&>(*mechanism_).symbols());
  ASSERT_EQ(moments_.size(), mechanism_->columns() + 1);
  const double others = domain_.classes - 1;
  const double apart = (one.covariance - one.label) / others;
  const double beside = apart + one.beside.covariance;
  for (size_t u = 0; u < moments_.size(); ++u) {
    for (size_t v = 0; v < moments_.size(); ++v) {
      const double more = u == v ? one.hit.label : 0;
      EXPECT_NEAR(moments_[v].Covariance(u, u), one.label + more, rounding_);
      if (u == v) continue;
      EXPECT_NEAR(moments_[u].Covariance(u, v), beside, rounding_);
      double sum = 0;
      for (size_t x = 0; x < moments_.size(); ++x) {
        if (x != u && x != v) sum += moments_[x].Covariance(u, v);
      }
      EXPECT_NEAR(sum / static_cast<double>(moments_.size() - 2), apart, rounding_);
    }
  }
  EXPECT_NEAR(one.leaf, domain_.classes * one.covariance, rounding_);
  EXPECT_NEAR(one.hit.covariance, one.hit.label + others * one.beside.covariance, rounding_);
  EXPECT_NEAR(one.hit.leaf, one.hit.label + 2 * others * one.beside.covariance, rounding_);
  EXPECT_NEAR(one.beside.leaf, one.hit.leaf, rounding_);
}

}  // namespace
}  // namespace coppice
