// Measures one series of a curve: a trainer at several epsilons, on the same splits of one table.

#ifndef COPPICE_SERVER_TRAINERS_CURVES_MEASURE_H_
#define COPPICE_SERVER_TRAINERS_CURVES_MEASURE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/curves/curve.h"
#include "server/trainers/curves/repetitions.h"
#include "server/trainers/curves/training.h"

namespace coppice::curves {

CurveScores ScoresOf(const RepeatedClassScores& scores);
CurveScores ScoresOf(const RepeatedNumberScores& scores);

// Sorts the budgets in rising order and drops duplicates.
std::vector<Budget> RisingBudgets(std::vector<Budget> budgets);

// Refuses what can be refused before training: InvalidArgument names the algorithm and the epsilon.
// Each budget in turn replaces the epsilon of `options`.
Status CheckSeries(const trainers::Trainer& trainer, const Schema& schema,
                   absl::Span<const Budget> budgets, trainers::TrainOptions options);

struct MeasuredSeries {
  CurveSeries series;
  std::vector<double> baseline;  // as in Curve; the same for every series
  std::string majority_class;
};

// The number of repetitions that a series takes.
inline uint32_t RepetitionsOf(absl::Span<const Budget> budgets, const Runs& runs) {
  return static_cast<uint32_t>(budgets.size() + 1) * runs.repeats;
}

// The last run is without privacy, if the algorithm has such a run. `progress` gets the number of
// finished repetitions of the series, one call at a time.
StatusOr<MeasuredSeries> MeasureSeries(const trainers::Trainer& trainer,
                                       absl::Span<const Budget> budgets,
                                       const trainers::TrainOptions& options,
                                       const SplitSource& source, const Runs& runs,
                                       const std::function<void(uint32_t finished)>& progress);

}  // namespace coppice::curves

#endif  // COPPICE_SERVER_TRAINERS_CURVES_MEASURE_H_
