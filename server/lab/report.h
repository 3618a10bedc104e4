// What coppice-lab prints: one JSON object, or the same as lines for a person.

#ifndef COPPICE_SERVER_LAB_REPORT_H_
#define COPPICE_SERVER_LAB_REPORT_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "server/curves/repetitions.h"
#include "server/lab/grid.h"

namespace coppice::lab {

// The best cell of a run (its only one without a grid). Infinity is the text "inf". With `grid` the
// figure is marked as tuned on the test rows, and the split-half one is beside it.
nlohmann::ordered_json LocalReport(const RunOptions& options, const RunResult& result, bool grid);

// Adds what answers are worth beside always answering the majority's class, or the mean, of the
// same test rows: first of all a sentence that says whether they are better.
void AddClassScores(const curves::RepeatedClassScores& scores,
                    const std::vector<std::string>& classes, nlohmann::ordered_json& report);
void AddNumberScores(const curves::RepeatedNumberScores& scores, nlohmann::ordered_json& report);

// Adds what every repetition scored: for differences on the same rows. Of the calibration error it
// has the square's jackknife values.
void AddRepetitions(const curves::RepeatedClassScores& scores, nlohmann::ordered_json& report);
void AddRepetitions(const curves::RepeatedNumberScores& scores, nlohmann::ordered_json& report);

// Draws the report of `coppice-lab plan`: accuracy over epsilon, a line for each number of devices,
// with its interval. An SVG file, which replaces what is there; nothing is left half written.
// FailedPrecondition if gnuplot is not installed.
absl::Status PlotPlan(const nlohmann::ordered_json& plan, const std::string& file);

// What an accuracy that is asked for takes, and what a public feature is worth, of the same report:
// a line each.
std::string TakesText(const nlohmann::ordered_json& one);
std::string WorthText(const nlohmann::ordered_json& worth, bool numbers);

// "name: value" lines.
std::string ReportText(const nlohmann::ordered_json& report);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_REPORT_H_
