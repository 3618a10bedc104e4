// Repeats an experiment over a grid of parameters and reports the best cell, as the papers do.
//
// The best mean over a grid is chosen on the test rows, so it is too good. The split-half figure is
// not: it chooses the cell on one half of the repetitions and scores it on the other, both ways.
// One set of noisy sums per repetition, depth and minimal leaf serves every estimator setting,
// which a curator may also do.
//
// Threads    repetitions are spread over `threads`; each has its own random sources, and its rows
//            and partition depend only on its number.

#ifndef COPPICE_SERVER_LAB_GRID_H_
#define COPPICE_SERVER_LAB_GRID_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/lab/rows.h"
#include "server/lab/simulation/experiment.h"
#include "server/trainers/curves/repetitions.h"

namespace coppice::lab {

struct Grid {
  std::vector<uint32_t> depths;
  std::vector<uint32_t> min_leaves;
  std::vector<curator::EstimatorOptions> estimators;

  size_t cells() const { return depths.size() * min_leaves.size() * estimators.size(); }
};

struct RunOptions {
  CollectOptions collect;  // the grid's depths and minimal leaves replace those of its partition
  Grid grid;
  uint32_t repeats = 20;
  uint32_t threads = 2;
  uint64_t seed = 1;
};

// One cell of the grid, with its results in every repetition.
struct GridCell {
  uint32_t depth = 0;
  uint32_t min_leaf = 0;
  curator::EstimatorOptions estimator;
  std::optional<MechanismKind> mechanism;  // of the last repetition
  curves::RepeatedClassScores scores;
  curves::RepeatedNumberScores numbers;  // used instead if a number is predicted
  std::vector<double> leaves;            // one per repetition
  std::vector<double> report_bytes;
  // Wall-clock and CPU seconds to grow, to simulate the devices and to estimate.
  std::vector<double> fit_seconds;
  std::vector<double> fit_cpu_seconds;
  std::vector<std::vector<curator::Alarm>> alarms;
  std::vector<std::optional<double>> alphas;  // set in studies of labels; see label_only.h
};

struct RunResult {
  std::vector<GridCell> cells;
  std::vector<std::string> classes;  // their names; none if a number is predicted
};

// Calls `progress` from worker threads, one at a time, with the number of finished repetitions.
StatusOr<RunResult> RunGrid(const RowSource& rows, const RunOptions& options,
                            const std::function<void(uint32_t)>& progress);

// Returns the cell with the best mean accuracy; the first one on a tie.
const GridCell& BestCell(const RunResult& result);

// Scores each repetition in the cell that is best on the other half of the repetitions (even and
// odd numbers). Needs at least two repetitions.
std::vector<double> SplitHalfAccuracies(const RunResult& result);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_GRID_H_
