// The output of coppice-lab: one JSON object, or the same as lines of text.

#ifndef COPPICE_SERVER_LAB_REPORT_H_
#define COPPICE_SERVER_LAB_REPORT_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "server/lab/grid.h"
#include "server/trainers/curves/repetitions.h"

namespace coppice::lab {

// Reports the best cell of a run (its only one without a grid). Infinity is the text "inf". With
// `grid` the figure is marked as tuned on the test rows, next to the split-half figure.
nlohmann::ordered_json LocalReport(const RunOptions& options, const RunResult& result, bool grid);

// {"mean": ..., "std": ..., "n": ...}.
nlohmann::ordered_json SummaryJson(const curves::Summary& summary);

// Adds the scores, compared with always answering the majority class, or the mean, on the same test
// rows. The first entry is a sentence that says whether the answers are better.
void AddClassScores(const curves::RepeatedClassScores& scores,
                    const std::vector<std::string>& classes, nlohmann::ordered_json& report);
void AddNumberScores(const curves::RepeatedNumberScores& scores, nlohmann::ordered_json& report);

// Adds the scores of every repetition, for differences on the same rows. For the calibration error
// these are jackknife values of its square.
void AddRepetitions(const curves::RepeatedClassScores& scores, nlohmann::ordered_json& report);
void AddRepetitions(const curves::RepeatedNumberScores& scores, nlohmann::ordered_json& report);

// Draws the report of `coppice-lab plan` as an SVG file: accuracy over epsilon, a line with its
// interval for each number of devices. Replaces an existing file, and leaves nothing half written.
// FailedPrecondition if gnuplot is not installed.
Status PlotPlan(const nlohmann::ordered_json& plan, const std::string& file);

// Each returns a line about an entry of the same report: what a wanted accuracy needs, and what a
// public feature is worth.
std::string TakesText(const nlohmann::ordered_json& one);
std::string WorthText(const nlohmann::ordered_json& worth, bool numbers);

// Returns "name: value" lines.
std::string ReportText(const nlohmann::ordered_json& report);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_REPORT_H_
