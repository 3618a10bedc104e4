// A plan as a picture: accuracy over epsilon, a line for each number of devices, with its interval.
//
// Errors     FailedPrecondition if gnuplot is not installed (says how), Unavailable if it fails;
//            nothing is left half written.

#ifndef COPPICE_SERVER_LAB_PLAN_PLOT_H_
#define COPPICE_SERVER_LAB_PLAN_PLOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/privacy/budget.h"
#include "server/curator/estimation/plan.h"

namespace coppice::lab {

struct PlanRow {
  Budget epsilon;
  uint64_t devices = 0;
  curator::MechanismCost cost;
  curator::StudyForecast forecast;
};

// Writes an SVG file, replacing what is there.
absl::Status PlotPlan(const curator::Interval& public_only, absl::Span<const PlanRow> rows,
                      const std::string& file);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_PLAN_PLOT_H_
