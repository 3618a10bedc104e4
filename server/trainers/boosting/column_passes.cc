#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/boosting/column_fit.h"
#include "server/trainers/boosting/column_parts.h"
#include "server/trainers/boosting/column_trees.h"

namespace coppice::trainers {
namespace {

constexpr uint32_t kRuns = 4;
constexpr double kWeightDeviation = 0.3;  // of the prior, before anything is seen
constexpr double kMaxPassWeight = 10;

// One column, and what its visits have found.
struct PassColumn {
  uint32_t column = 0;
  FeatureBins bins{};
  std::vector<uint32_t> cell_of_bin{};
  ColumnScores scores;
};

PassColumn MakePassColumn(const Schema& schema, const BinnedRows& rows, uint32_t column,
                          size_t outputs) {
  const FeatureBins& bins = rows.bins()[column];
  FeatureBins cells = PassBins(bins, schema.features()[column]);
  std::vector<uint32_t> cell_of_bin(bins.ordinary());
  if (bins.type == FeatureType::kNumeric) {
    cell_of_bin = EvenRuns(bins, schema.features()[column], 0, bins.ordinary(), kRuns);
  } else {
    std::iota(cell_of_bin.begin(), cell_of_bin.end(), 0);
  }
  cell_of_bin.push_back(cells.missing());
  ColumnScores scores(cells.size(), outputs);
  return {.column = column,
          .bins = std::move(cells),
          .cell_of_bin = std::move(cell_of_bin),
          .scores = std::move(scores)};
}

class Passing {
 public:
  Passing(const BinnedRows& rows, const ColumnPasses& passes, BoostTask& task,
          PrivateReleaser& releaser)
      : rows_(rows),
        passes_(passes),
        task_(task),
        kind_(task.kind()),
        releaser_(releaser),
        residuals_(kind_.outputs, std::vector<int32_t>(rows.num_rows())),
        cell_of_row_(rows.num_rows()) {}

  Status Visit(PassColumn& column) {
    task_.Fill(residuals_);
    const BinColumn& bin_of_row = rows_.column(column.column);
    for (size_t row = 0; row < cell_of_row_.size(); ++row) {
      cell_of_row_[row] = column.cell_of_bin[bin_of_row[row]];
    }
    COPPICE_ASSIGN_OR_RETURN(
        const Measurement measured,
        releaser_.Measure(SumByCell(column.bins.size()), kind_.sensitivity, passes_.visit));
    const std::vector<double> factors = Factors(column.bins, measured);
    const auto weights = [&](const Measurement& sums) { return Weights(sums, factors); };
    const std::vector<double> found = weights(measured);
    const std::vector<OutputNoise> noise =
        releaser_.NoiseOf(measured, weights, [&] { return Noise(measured, factors); });
    ColumnScores more(column.bins.size(), kind_.outputs);
    for (size_t cell = 0; cell < column.bins.size(); ++cell) {
      for (size_t output = 0; output < kind_.outputs; ++output) {
        more.weights[cell][output] = found[cell * kind_.outputs + output];
        more.noise[cell][output] = noise[cell * kind_.outputs + output];
      }
    }
    column.scores.Add(more);
    return task_.Add(cell_of_row_, more.weights);
  }

 private:
  // Returns the sums of a cell's outputs, cell after cell.
  std::vector<int64_t> SumByCell(size_t cells) const {
    std::vector<int64_t> sums(cells * kind_.outputs);
    for (size_t output = 0; output < kind_.outputs; ++output) {
      for (size_t row = 0; row < cell_of_row_.size(); ++row) {
        sums[cell_of_row_[row] * kind_.outputs + output] += residuals_[output][row];
      }
    }
    return sums;
  }

  // Returns the factors of the sums, one per output.
  std::vector<double> Factors(const FeatureBins& bins, const Measurement& measured) const {
    const double variance = 2 * measured.scale * measured.scale;
    std::vector<double> factors;
    for (const double slope : passes_.slopes) {
      const double signal = PassSignal(bins, passes_.rows, slope) * kResidualUnit;
      factors.push_back(signal /
                        (signal * signal + variance / (kWeightDeviation * kWeightDeviation) + 1));
    }
    return factors;
  }

  std::vector<double> Weights(const Measurement& measured,
                              const std::vector<double>& factors) const {
    std::vector<double> weights;
    for (size_t i = 0; i < measured.sums.size(); ++i) {
      weights.push_back(
          std::clamp(static_cast<double>(measured.sums[i]) * factors[i % kind_.outputs],
                     -kMaxPassWeight, kMaxPassWeight));
    }
    return weights;
  }

  std::vector<OutputNoise> Noise(const Measurement& measured,
                                 const std::vector<double>& factors) const {
    std::vector<OutputNoise> noise;
    for (size_t i = 0; i < measured.sums.size(); ++i) {
      const double deviation = measured.scale * factors[i % kind_.outputs];
      noise.push_back({.variance = 2 * deviation * deviation});
    }
    return noise;
  }

  const BinnedRows& rows_;
  const ColumnPasses& passes_;
  BoostTask& task_;
  const ResidualKind kind_;
  PrivateReleaser& releaser_;
  Residuals residuals_;
  std::vector<uint32_t> cell_of_row_;
};

// Draws a new order every time; it depends on no row.
Status Shuffle(std::vector<PassColumn>& columns, PrivateReleaser& releaser) {
  for (size_t left = columns.size(); left > 1; --left) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, releaser.Below(left));
    std::swap(columns[left - 1], columns[drawn]);
  }
  return OkStatus();
}

}  // namespace

FeatureBins PassBins(const FeatureBins& bins, const Feature& feature) {
  if (bins.type == FeatureType::kCategorical) return bins;
  FeatureBins cells{.type = FeatureType::kNumeric};
  for (const uint32_t bin : FirstBins(EvenRuns(bins, feature, 0, bins.ordinary(), kRuns), 0)) {
    cells.cuts.push_back(bins.cuts[bin - 1]);
  }
  cells.known = static_cast<uint32_t>(cells.cuts.size() + 1);
  return cells;
}

double PassSignal(const FeatureBins& pass_bins, double rows, double slope) {
  return slope * std::max(rows, 0.0) / pass_bins.ordinary();
}

Status AddColumnPasses(const Schema& schema, const BinnedRows& rows, const ColumnPasses& passes,
                       BoostTask& task, PrivateReleaser& releaser, const TrainProgress& progress,
                       std::vector<TrainedTree>& trees) {
  Passing passing(rows, passes, task, releaser);
  std::vector<PassColumn> columns;
  for (uint32_t column = 0; column < schema.num_features(); ++column) {
    columns.push_back(MakePassColumn(schema, rows, column, passes.slopes.size()));
  }
  for (uint32_t pass = 0; pass < kColumnPasses; ++pass) {
    COPPICE_RETURN_IF_ERROR(Shuffle(columns, releaser));
    for (PassColumn& column : columns) {
      COPPICE_RETURN_IF_ERROR(progress(1));
      COPPICE_RETURN_IF_ERROR(passing.Visit(column));
    }
  }
  std::sort(columns.begin(), columns.end(),
            [](const PassColumn& a, const PassColumn& b) { return a.column < b.column; });
  for (const PassColumn& column : columns) {
    COPPICE_RETURN_IF_ERROR(
        AddColumnTrees(schema, column.column, column.bins, column.scores, task, trees));
  }
  return OkStatus();
}

}  // namespace coppice::trainers
