// Shrinks what nodes add to scores, by a prior whose width the released sums themselves weigh.
//
// After public rows and lines most of what a tree still finds is noise, and how much of it is not
// changes from table to table and from the first tree to the last. A node's step v is the mean of
// what it would be if steps came from N(0, tau^2) and its sums from S = H v + noise + sampling,
// where S = P - N is the difference of its sums and H, how fast that falls as scores rise, is half
// of P + N: residuals of calibrated scores have E P = E N = sum of w p (1 - p). One tau holds for
// all nodes. Each of a few values of it is weighed by the likelihood of all sums so far, those of a
// level half as much at the next; so tau falls as trees go on, and is near 0 where noise is all.
//
// Guarantee  post-processing: follows from released sums and public numbers alone.
// Threads    not safe to share.
// Source     docs/research/mechanisms.md#boosting-from-public-rows.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_STEP_PRIOR_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_STEP_PRIOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

class StepPrior {
 public:
  // For a task of this kind, whose residuals count 1 as `unit`.
  StepPrior(const ResidualKind& kind, int64_t unit);

  // Takes a level's sums, cell after cell: positive parts of all outputs, then negative ones.
  void Observe(const Measurement& level);
  // Returns what each output of each cell adds, cell after cell.
  std::vector<double> Steps(const Measurement& level) const;

 private:
  static constexpr size_t kWidths = 8;

  // One output's sums in a cell, in rows.
  struct Cell {
    double sum = 0, slope = 0, variance = 0;
  };
  std::vector<Cell> CellsOf(const Measurement& level) const;

  uint32_t outputs_;
  bool is_number_;
  double unit_;
  std::array<double, kWidths> start_{}, likelihood_{};  // logarithms
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_STEP_PRIOR_H_
