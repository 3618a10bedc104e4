#include "server/trainers/dpboost/histograms.h"

#include <algorithm>
#include <random>

#include "server/trainers/core/split_scores.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

std::vector<std::vector<int32_t>> RandomResiduals(size_t rows, size_t outputs, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::vector<int32_t>> residuals(outputs, std::vector<int32_t>(rows));
  for (auto& of_output : residuals) {
    for (int32_t& residual : of_output) {
      residual = static_cast<int32_t>(
          std::uniform_int_distribution<int64_t>(-kResidualSteps, kResidualSteps)(engine));
    }
  }
  return residuals;
}

ResidualSpans SpansOf(const std::vector<std::vector<int32_t>>& residuals) {
  return {residuals.begin(), residuals.end()};
}

// Counts bin by bin and row by row.
Histogram CountOneByOne(const BinnedRows& binned, const std::vector<uint32_t>& rows,
                        const std::vector<std::vector<int32_t>>& residuals) {
  Histogram naive{.counts = {}, .sums = std::vector<std::vector<int64_t>>(residuals.size())};
  for (size_t column = 0; column < binned.num_features(); ++column) {
    for (uint32_t bin = 0; bin < binned.bins()[column].size(); ++bin) {
      int64_t count = 0;
      std::vector<int64_t> sums(residuals.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        if (binned.column(column)[rows[i]] != bin) continue;
        ++count;
        for (size_t k = 0; k < sums.size(); ++k) sums[k] += residuals[k][i];
      }
      naive.counts.push_back(count);
      for (size_t k = 0; k < sums.size(); ++k) naive.sums[k].push_back(sums[k]);
    }
  }
  return naive;
}

void ExpectEqual(const Histogram& one, const Histogram& other) {
  EXPECT_EQ(one.counts, other.counts);
  EXPECT_EQ(one.sums, other.sums);
}

TEST(HistogramTest, IsWhatCountingOneByOneGives) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 300, .missing = 0.2}, seed);
    const BinnedRows binned = Binned(table, 7);
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < 300; row += 1 + static_cast<uint32_t>(seed)) rows.push_back(row);
    std::shuffle(rows.begin(), rows.end(), std::mt19937_64(seed));
    const auto residuals = RandomResiduals(rows.size(), 1 + seed % 3, seed);
    HistogramBuilder builder(binned);
    const Histogram histogram = builder.Build(rows, SpansOf(residuals));
    ExpectEqual(histogram, CountOneByOne(binned, rows, residuals));
    // Builds it again: nothing of the first must be left.
    ExpectEqual(builder.Build(rows, SpansOf(residuals)), histogram);
  }
}

TEST(HistogramTest, ColumnsOfMoreThanTwoBytesOfBinsAreCounted) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(300), "label", {"no", "yes"}));
  const BinnedRows binned = Binned(RandomTable(schema, {.rows = 20}, 1), 255);
  const std::vector<uint32_t> rows = {3, 1, 4, 15, 9};
  const auto residuals = RandomResiduals(rows.size(), 1, 1);
  ASSERT_GT(CountOneByOne(binned, rows, residuals).counts.size(), 1u << 16);
  ExpectEqual(HistogramBuilder(binned).Build(rows, SpansOf(residuals)),
              CountOneByOne(binned, rows, residuals));
}

TEST(HistogramTest, AChildIsItsParentLessItsSibling) {
  const Table table = RandomTable(MixedClasses(), {.rows = 200, .missing = 0.1}, 1);
  const BinnedRows binned = Binned(table, 15);
  std::vector<uint32_t> rows(200);
  for (uint32_t row = 0; row < 200; ++row) rows[row] = row;
  const auto residuals = RandomResiduals(200, 2, 2);
  HistogramBuilder builder(binned);
  for (const size_t left : {0u, 1u, 77u, 200u}) {
    const absl::Span<const uint32_t> all = rows;
    ResidualSpans of_left, of_right;
    for (const auto& of_output : residuals) {
      of_left.push_back(absl::MakeConstSpan(of_output).subspan(0, left));
      of_right.push_back(absl::MakeConstSpan(of_output).subspan(left));
    }
    Histogram rest = builder.Build(all, SpansOf(residuals));
    rest.Subtract(builder.Build(all.subspan(0, left), of_left));
    ExpectEqual(rest, builder.Build(all.subspan(left), of_right));
  }
}

// There are more rows than a packed word holds, all in one bin and with the largest residual.
TEST(HistogramTest, ManyRowsOfTheLargestResidualAreSummedExactly) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(1), "label", {"no", "yes"}));
  Table table(schema);
  table.Append({0.5}, 0);
  const BinnedRows binned = Binned(table, 1);
  constexpr size_t kRows = (size_t{1} << 21) + 12345;
  const std::vector<uint32_t> rows(kRows, 0);
  for (const int64_t residual : {-kResidualSteps, kResidualSteps, int64_t{0}, int64_t{-1}}) {
    const std::vector<int32_t> residuals(kRows, static_cast<int32_t>(residual));
    const Histogram histogram = HistogramBuilder(binned).Build(rows, {residuals});
    const size_t bin = binned.column(0)[0];
    EXPECT_EQ(histogram.counts[bin], static_cast<int64_t>(kRows));
    EXPECT_EQ(histogram.sums[0][bin], static_cast<int64_t>(kRows) * residual);
  }
}

}  // namespace
}  // namespace coppice::trainers
