// Weights for the bins of one column, from what rows still lack: a step of logistic regression on
// one-hot features, one feature after the other.
//
// In a numeric column the bins of a noisy sum are smoothed by those around them, down from the
// whole column by halves. All of it is made from released sums.
//
// Guarantee  SumByGroup() moves by what a row's residuals are held to (boost_task.h): a row counts
//            in one group and moves no other.
// Threads    plain values.
// Source     docs/research/mechanisms.md#logistic, docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_FIT_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

// Which sum each bin of a column counts to. Numbers: `groups` of neighbouring bins, at most as many
// as there are; missing ones have the last. Categories: one per bin.
struct BinGroups {
  std::vector<uint32_t> of_bin;
  uint32_t ordered = 0;  // the first this many sums are neighbours in turn
  uint32_t count = 0;
};
BinGroups GroupBins(const FeatureBins& bins, uint32_t groups);

// Positive parts of a group's outputs, then the negative ones, group after group.
std::vector<int64_t> SumByGroup(absl::Span<const uint16_t> column, const BinGroups& groups,
                                const Residuals& residuals);

// weights[bin][output]; `unit` is what residuals count 1 as.
std::vector<std::vector<double>> WeightsOf(const Measurement& measured, const BinGroups& groups,
                                           uint32_t outputs, int64_t unit);
// What noise has added to them, [bin][output] (noise_of_sums.h).
std::vector<std::vector<OutputNoise>> NoiseOfWeights(const Measurement& measured,
                                                     const BinGroups& groups, uint32_t outputs,
                                                     int64_t unit, const PrivateReleaser& releaser);

// Turns through all of a table's own columns, after trees: nothing is chosen, so that Gaussian
// noise grows with the root of the number of columns. A visit measures what rows of each cell lack,
// one signed sum per output: four even runs of a numeric column, every category, missing values. A
// cell's weight is the mean of what it may be, given the sum, if weights have a deviation of .3 and
// cells hold equal numbers of rows; so it fades as noise grows.
inline constexpr uint32_t kColumnPasses = 4;

struct ColumnPasses {
  BudgetShare visit = BudgetShare::WithoutPrivacy();
  double rows = 0;  // about how many there are
  // How much less a row lacks for each unit that its score is nearer, one per output.
  std::vector<double> slopes;
};

// The cells of a column, without that of missing values: as bins of their own.
FeatureBins PassBins(const FeatureBins& bins, const Feature& feature);
// By how much the sum of a cell grows for each unit that its weight is off, in rows.
double PassSignal(const FeatureBins& pass_bins, double rows, double slope);

// Adds the columns' trees to `trees`, and what they answer to the task's scores. Orders are drawn,
// and public.
//
// Guarantee  a visit costs its share: a row's residuals are in one cell. There are kColumnPasses
//            times as many as the schema has features.
absl::Status AddColumnPasses(const Schema& schema, const BinnedRows& rows,
                             const ColumnPasses& passes, BoostTask& task, PrivateReleaser& releaser,
                             const TrainProgress& progress, std::vector<TrainedTree>& trees);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_FIT_H_
