// Fits weights to the bins of one column from the rows' residuals: a step of logistic regression on
// one-hot features, one feature after the other.
//
// A column is fitted against what all columns before it have left, so features that say the same
// share the weight instead of counting it twice. Bins next to each other mostly want similar
// weights, and a bin of few rows is all noise: so a bin believes its own sum only as far as that
// exceeds the noise, and otherwise the sum of the range around it.
//
// In a numeric column each bin's noisy sum is smoothed by its neighbours', from the whole column
// down by halves. All of this uses only released sums.
//
// Guarantee  SumByGroup() moves by at most the bound of a row's residuals (boost_task.h): a row
//            counts in one group and moves no other.
// Threads    plain values.
// Source     docs/research/mechanisms.md#logistic, docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_FIT_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

// The sum that each bin of a column counts to. Numbers: at most `groups` of neighbouring bins, and
// the last for missing values. Categories: one per bin.
struct BinGroups {
  std::vector<uint32_t> of_bin;
  uint32_t ordered = 0;  // the first this many sums are neighbours in turn
  uint32_t count = 0;
};
BinGroups GroupBins(const FeatureBins& bins, uint32_t groups);

// Returns the positive parts of a group's outputs, then the negative ones, group after group.
std::vector<int64_t> SumByGroup(const BinColumn& column, const BinGroups& groups,
                                const Residuals& residuals);

// Returns weights[bin][output]; residuals count 1 as `unit`.
std::vector<std::vector<double>> WeightsOf(const Measurement& measured, const BinGroups& groups,
                                           uint32_t outputs, int64_t unit);
// Returns the noise in these weights, [bin][output] (noise_of_sums.h).
std::vector<std::vector<OutputNoise>> NoiseOfWeights(const Measurement& measured,
                                                     const BinGroups& groups, uint32_t outputs,
                                                     int64_t unit, const PrivateReleaser& releaser);

// Returns one factor per output, by which weights fade where noise explains the sums: 1 - 2 B
// sigma^2 / sum over the B groups of (P - N)^2, and at least 0. It is James and Stein's (1961) for
// B numbers that each have a noise of 2 sigma^2, so that a column of hundreds of categories, most
// of which hold a few rows each, adds next to nothing if it says nothing.
std::vector<double> FadingOf(const Measurement& measured, const BinGroups& groups,
                             uint32_t outputs);

struct ColumnVisit {
  uint32_t column = 0;
  uint32_t groups = 1;  // the most groups of a numeric column's bins
  bool fades = false;   // whether weights are multiplied by FadingOf()
};

// Measures what the rows in each group of a column's bins still ask for, and adds the weights that
// follow to the task's scores. Residuals count 1 as `unit`.
//
// Guarantee  costs its share: a row is in one group.
StatusOr<ColumnScores> VisitColumn(const BinnedRows& rows, const ColumnVisit& visit, int64_t unit,
                                   const BudgetShare& share, BoostTask& task,
                                   PrivateReleaser& releaser);

// Passes over all of a table's own columns, after the trees: nothing is selected, so Gaussian noise
// grows only with the root of the number of columns. A visit measures the residuals of each cell,
// one signed sum per output: four even runs of a numeric column, every category, missing values. A
// cell's weight is its posterior mean given the sum, if weights have a deviation of 0.3 and cells
// hold equal numbers of rows; so it fades as noise grows.
inline constexpr uint32_t kColumnPasses = 4;

struct ColumnPasses {
  BudgetShare visit = BudgetShare::WithoutPrivacy();
  double rows = 0;  // approximate number of rows
  // How fast a row's residual falls as its score grows, one per output.
  std::vector<double> slopes;
};

// Returns a column's cells as bins, without the cell of missing values.
FeatureBins PassBins(const FeatureBins& bins, const Feature& feature);
// Returns by how much a cell's sum grows for each unit that its weight is off, in rows.
double PassSignal(const FeatureBins& pass_bins, double rows, double slope);

// Adds the columns' trees to `trees`, and their answers to the task's scores. The order of columns
// is drawn, and public.
//
// Guarantee  a visit costs its share: a row's residuals are in one cell. There are kColumnPasses
//            visits per feature of the schema.
Status AddColumnPasses(const Schema& schema, const BinnedRows& rows, const ColumnPasses& passes,
                       BoostTask& task, PrivateReleaser& releaser, const TrainProgress& progress,
                       std::vector<TrainedTree>& trees);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_FIT_H_
