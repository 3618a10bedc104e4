#include "server/trainers/boosting/boost_scores.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "common/base/status.h"
#include "server/trainers/boosting/boost_columns.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

uint32_t ChildOf(const SplitCandidate& candidate, const FeatureBins& bins, uint32_t bin) {
  if (candidate.multiway) return std::min(bin, bins.known);
  return candidate.kind == SplitKind::kNumeric ? bin > candidate.bin : bin != candidate.bin;
}

// Computes the score row by row, as the header defines it.
int64_t NaiveScore(const BinnedRows& rows, const Residuals& residuals,
                   absl::Span<const uint32_t> node_of, uint32_t node,
                   const SplitCandidate& candidate) {
  std::map<std::pair<uint32_t, size_t>, int64_t> sums;
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    if (node_of[row] != node) continue;
    for (size_t output = 0; output < residuals.size(); ++output) {
      sums[{ChildOf(candidate, rows.bins()[candidate.column], rows.column(candidate.column)[row]),
            output}] += residuals[output][row];
    }
  }
  int64_t score = 0;
  for (const auto& [child, sum] : sums) score += std::abs(sum);
  return score;
}

class ScoreSplitsTest : public ::testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Rows, ScoreSplitsTest, ::testing::Values(0, 1, 70, 20'000));

TEST_P(ScoreSplitsTest, AreTheSumsOfTheChildrensResiduals) {
  const Table table = RandomTable(MixedClasses(), {.rows = GetParam()}, 5);
  const BinnedRows rows = Binned(table, 7);
  const JointColumns columns(rows);
  constexpr uint32_t kNodes = 3;
  std::mt19937_64 engine(6);
  for (const size_t outputs : {1, 3}) {
    Residuals residuals(outputs, std::vector<int32_t>(rows.num_rows()));
    std::vector<uint32_t> node_of(rows.num_rows());
    for (auto& of_output : residuals) {
      for (int32_t& residual : of_output) residual = static_cast<int32_t>(engine() % 2001) - 1000;
    }
    for (uint32_t& node : node_of) node = static_cast<uint32_t>(engine() % kNodes);
    const std::vector<SplitCandidate> candidates = SplitCandidates(rows.bins(), 1, 1);
    const std::vector<int64_t> scores =
        ScoreSplits(columns, residuals, node_of, kNodes, candidates, /*multiway_reduction=*/0);
    ASSERT_EQ(scores.size(), kNodes * candidates.size());
    for (uint32_t node = 0; node < kNodes; ++node) {
      for (size_t i = 0; i<candidates.size(); i += GetParam()> 1000 ? 7 : 1) {
        ASSERT_EQ(scores[node * candidates.size() + i],
                  NaiveScore(rows, residuals, node_of, node, candidates[i]));
      }
    }
  }
}

TEST(ScoreSplitsTest, ASplitIntoManyIsReducedByItsBins) {
  const Table table = RandomTable(MixedClasses(), {.rows = 50}, 5);
  const BinnedRows rows = Binned(table, 7);
  const JointColumns columns(rows);
  const Residuals residuals(1, std::vector<int32_t>(50, 10));
  const std::vector<uint32_t> node_of(50, 0);
  const std::vector<SplitCandidate> candidates = SplitCandidates(rows.bins(), 1, 1);
  const auto plain = ScoreSplits(columns, residuals, node_of, 1, candidates, 0);
  const auto reduced = ScoreSplits(columns, residuals, node_of, 1, candidates, 2.5);
  size_t multiway = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const int64_t children = rows.bins()[candidates[i].column].known + 1;
    EXPECT_EQ(plain[i] - reduced[i],
              candidates[i].multiway ? std::llround(2.5 * static_cast<double>(children - 2)) : 0);
    multiway += candidates[i].multiway ? 1 : 0;
  }
  EXPECT_EQ(multiway, 2u);  // the categorical columns of more than one value
}

TEST(SplitCandidatesTest, EveryCutEveryCategoryAndWhatIsMissing) {
  const auto bins = *PublicBins(*MixedClasses(), 7);
  const std::vector<SplitCandidate> candidates = SplitCandidates(bins, 100'000, 1);
  std::map<uint32_t, size_t> of_column;
  for (const SplitCandidate& candidate : candidates) {
    EXPECT_FALSE(candidate.multiway);
    ++of_column[candidate.column];
  }
  for (uint32_t c = 0; c < bins.size(); ++c) {
    const bool numeric = bins[c].type == FeatureType::kNumeric;
    EXPECT_EQ(of_column[c], numeric ? bins[c].cuts.size() + 1 : bins[c].size()) << c;
  }
}

TEST(SplitCandidatesTest, SplitsIntoAllCategoriesAreOfferedWhileFewNodesComeOfThem) {
  FeatureBins thirty{.type = FeatureType::kCategorical, .known = 30};
  const auto offers = [](const std::vector<FeatureBins>& bins, size_t nodes) {
    size_t offered = 0;
    for (const SplitCandidate& candidate : SplitCandidates(bins, nodes, 1)) {
      offered += candidate.multiway ? 1 : 0;
    }
    return offered;
  };
  EXPECT_EQ(offers({thirty}, 16), 1u);
  EXPECT_EQ(offers({thirty}, 17), 0u);
  // With very many other categories the sums of fewer nodes fit.
  const FeatureBins wide{.type = FeatureType::kCategorical, .known = 1'000'000};
  EXPECT_EQ(offers({thirty, wide}, 1), 1u);
  EXPECT_EQ(offers({thirty, wide}, 2), 0u);
}

TEST(CheckBinsTest, MoreThanMemoryHoldsAreRefused) {
  const FeatureBins wide{.type = FeatureType::kCategorical, .known = 1'000'000};
  EXPECT_OK(CheckBins({wide, wide}, 1));
  EXPECT_THAT(CheckBins({wide, wide}, 2),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("fewer features")));
}

}  // namespace
}  // namespace coppice::trainers
