#include "server/lab/report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/evaluation/calibration.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "server/lab/simulation/experiment.h"
#include "server/lab/simulation/liars.h"

namespace coppice::lab {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity.
Json NumberJson(double value) { return std::isinf(value) ? Json("inf") : Json(value); }

double MeanAlpha(const GridCell& cell) {
  std::vector<double> alphas;
  for (const std::optional<double>& alpha : cell.alphas) alphas.push_back(alpha.value_or(0));
  return curves::Summarize(alphas).mean;
}

void AddCell(const GridCell& cell, bool chosen_size, Json& report) {
  const bool label_only = !cell.alphas.empty() && cell.alphas[0].has_value();
  report["estimator"] = label_only ? std::string("label_only")
                                   : std::string(curator::EstimatorName(cell.estimator.kind));
  if (label_only) report["alpha"] = MeanAlpha(cell);
  if (cell.estimator.kind == curator::EstimatorKind::kWeighted) {
    report["lambda"] = NumberJson(cell.estimator.lambda);
  } else if (cell.estimator.kind == curator::EstimatorKind::kPrune) {
    report["prune_min_depth"] = cell.estimator.min_depth;
  } else {
    report["evidence"] = std::string(curator::EvidenceName(cell.estimator.evidence));
  }
  if (!chosen_size) {
    report["depth"] = cell.depth;
    report["min_leaf"] = cell.min_leaf;
  }
  report["leaves"] = curves::Summarize(cell.leaves).mean;
  report["report_bytes"] = curves::Summarize(cell.report_bytes).mean;
  report["fit_seconds"] = curves::Summarize(cell.fit_seconds).mean;
  report["fit_cpu_seconds"] = curves::Summarize(cell.fit_cpu_seconds).mean;
}

// Returns the share of the repetitions in which each alarm was raised.
Json AlarmsJson(const GridCell& cell) {
  Json shares = Json::object();
  const double each = 1 / static_cast<double>(cell.alarms.size());
  for (const std::vector<curator::Alarm>& alarms : cell.alarms) {
    for (const curator::Alarm& alarm : alarms) {
      shares[alarm.name] = shares.value(alarm.name, 0.0) + (alarm.raised ? each : 0);
    }
  }
  return shares;
}

std::string ValueText(const Json& value);

std::string PartsText(const Json& value) {
  std::vector<std::string> parts;
  for (const auto& [name, part] : value.items()) {
    parts.push_back(value.is_array() ? ValueText(part) : StrCat(name, " ", ValueText(part)));
  }
  return parts.empty() ? "none" : StrJoin(parts, ", ");
}

std::string ValueText(const Json& value) {
  if (value.is_string()) return Printable(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return absl::StrFormat("%.4g", value.get<double>());
  if (value.is_object() && value.contains("mean") && value.contains("std")) {
    return absl::StrFormat("%.4g, deviation %.2g in %d runs", value["mean"].get<double>(),
                           value["std"].get<double>(), value["n"].get<size_t>());
  }
  return value.is_structured() ? PartsText(value) : value.dump();
}

void AddGain(const curves::MeanGain& gain, Json& report) {
  report["gain"] = gain.gain;
  report["gain_interval"] = {gain.interval.low, gain.interval.high};
}

// Returns the class's name if it is the same in all repetitions.
std::string MajorityName(const std::vector<uint32_t>& labels,
                         const std::vector<std::string>& classes) {
  const bool is_one = std::count(labels.begin(), labels.end(), labels.front()) ==
                      static_cast<std::ptrdiff_t>(labels.size());
  return is_one ? classes[labels.front()] : "the most frequent class";
}

// Quotes as gnuplot does: a double quote ends the text, a backslash escapes.
std::string Quoted(const std::string& text) {
  return StrCat("\"", StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string Script(const Json& plan, const std::string& file) {
  std::map<uint64_t, std::string> data;  // by devices: epsilon, low, mean, high
  for (const Json& study : plan["studies"]) {
    const Json& accuracy = study["accuracy"];
    StrAppend(&data[study["devices"].get<uint64_t>()], study["epsilon"].get<double>(), " ",
              accuracy["low"].get<double>(), " ", accuracy["mean"].get<double>(), " ",
              accuracy["high"].get<double>(), "\n");
  }
  std::string script = StrCat(
      "set terminal svg size 720,480 background rgb 'white' font 'sans-serif,13'\n", "set output ",
      Quoted(file), "\nset logscale x 2\nset xlabel 'epsilon of one report'\n",
      "set ylabel 'expected accuracy'\nset key bottom right\nset grid ytics lc rgb '#dddddd'\n",
      "set style fill transparent solid 0.12 noborder\n");
  std::string plots;
  for (const auto& [devices, lines] : data) {
    StrAppend(&script, "$d", devices, " << EOD\n", lines, "EOD\n");
    const auto index = std::distance(data.begin(), data.find(devices)) + 1;
    StrAppend(&plots, plots.empty() ? "" : ", \\\n", "$d", devices,
              " using 1:2:4 with filledcurves lc ", index, " notitle, \\\n$d", devices,
              " using 1:3 with linespoints lw 2 pt 7 ps 0.5 lc ", index, " title '", devices,
              " devices'");
  }
  StrAppend(&script, "plot ", plots, ", \\\n", plan["public_only"]["mean"].get<double>(),
            " with lines dt 2 lc rgb '#555555' title 'public labels alone'\n");
  return script;
}

Status RunGnuplot(const std::string& script) {
  FILE* gnuplot = popen("gnuplot", "w");
  if (gnuplot == nullptr) return UnavailableError("gnuplot cannot be started");
  const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  const int status = pclose(gnuplot);
  if (written && status == 0) return OkStatus();
  return UnavailableError("gnuplot failed to draw the plan; its message is above");
}

}  // namespace

Json SummaryJson(const curves::Summary& summary) {
  return {{"mean", summary.mean}, {"std", summary.deviation}, {"n", summary.n}};
}

void AddClassScores(const curves::RepeatedClassScores& scores,
                    const std::vector<std::string>& classes, Json& report) {
  const curves::MeanGain gain = curves::MeanGainOf(scores.gain, scores.gain_interval);
  const double majority = curves::Summarize(scores.majority).mean;
  report["verdict"] = ClassVerdict(MajorityName(scores.majority_class, classes), majority,
                                   gain.gain, gain.interval);
  report["accuracy"] = SummaryJson(curves::Summarize(scores.accuracy));
  report["majority"] = majority;
  AddGain(gain, report);
  report["auc"] = SummaryJson(curves::Summarize(scores.auc));
  report["auc_standard_error"] = curves::Summarize(scores.auc).standard_error();
  report["log_loss"] = SummaryJson(curves::Summarize(scores.log_loss));
  report["log_loss_standard_error"] = curves::Summarize(scores.log_loss).standard_error();
  const CalibrationScore calibration = PoolCalibration(scores.calibration);
  report["calibration_error"] = calibration.error;
  report["calibration_error_interval"] = {calibration.interval.low,
                                          NumberJson(calibration.interval.high)};
}

void AddNumberScores(const curves::RepeatedNumberScores& scores, Json& report) {
  const curves::MeanGain gain = curves::MeanGainOf(scores.gain, scores.gain_interval);
  const double mean = curves::Summarize(scores.mean).mean;
  report["verdict"] = NumberVerdict(mean, gain.gain, gain.interval);
  report["mse"] = SummaryJson(curves::Summarize(scores.mse));
  report["rmse"] = SummaryJson(curves::Summarize(scores.rmse));
  report["mae"] = SummaryJson(curves::Summarize(scores.mae));
  report["mae_standard_error"] = curves::Summarize(scores.mae).standard_error();
  report["r2"] = SummaryJson(curves::Summarize(scores.r2));
  report["r2_standard_error"] = curves::Summarize(scores.r2).standard_error();
  report["mean"] = mean;
  AddGain(gain, report);
}

void AddRepetitions(const curves::RepeatedClassScores& scores, Json& report) {
  report["repetitions"] = {
      {"accuracy", scores.accuracy},
      {"auc", scores.auc},
      {"log_loss", scores.log_loss},
      {"squared_calibration_error", PoolCalibration(scores.calibration).squared_values}};
}

void AddRepetitions(const curves::RepeatedNumberScores& scores, Json& report) {
  report["repetitions"] = {{"rmse", scores.rmse}, {"mae", scores.mae}, {"r2", scores.r2}};
}

Json LocalReport(const RunOptions& options, const RunResult& result, bool grid) {
  const GridCell& best = BestCell(result);
  const CollectOptions& collect = options.collect;
  Json report;
  if (result.classes.empty()) {
    AddNumberScores(best.numbers, report);
    report["standard_error"] = curves::Summarize(best.numbers.rmse).standard_error();
  } else {
    AddClassScores(best.scores, result.classes, report);
    report["standard_error"] = curves::Summarize(best.scores.accuracy).standard_error();
  }
  if (grid) {
    report["tuned_on_test"] = true;
    report["grid_cells"] = result.cells.size();
    if (options.repeats > 1) {
      report["accuracy_split_half"] = SummaryJson(curves::Summarize(SplitHalfAccuracies(result)));
    }
  }
  report["epsilon"] = collect.epsilon.has_value() ? Json(collect.epsilon->epsilon()) : Json("inf");
  report["mechanism"] =
      best.mechanism.has_value() ? std::string(MechanismName(*best.mechanism)) : "none";
  if (collect.liars.has_value()) {
    report["attack"] = std::string(AttackName(collect.liars->attack));
    report["liars"] = collect.liars->share;
    if (collect.liars->attack != Attack::kLabel) {
      report["aim"] = std::string(AimName(collect.liars->aim));
      report["claim"] = std::string(ClaimName(collect.liars->claim));
    }
  }
  if (collect.epsilon.has_value()) report["alarms"] = AlarmsJson(best);
  report["split_rule"] = std::string(curator::SplitRuleName(collect.partition.rule));
  report["criterion"] = std::string(curator::CriterionName(collect.partition.criterion));
  report["trees"] = collect.partition.trees;
  AddCell(best, collect.choose_size, report);
  return report;
}

std::string ReportText(const Json& report) {
  size_t width = 0;
  for (const auto& [name, value] : report.items()) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : report.items()) {
    absl::StrAppendFormat(&text, "%-*s  %s\n", static_cast<int>(width),
                          StrReplaceAll(name, {{"_", " "}}), ValueText(value));
  }
  return text;
}

std::string TakesText(const Json& one) {
  const bool asks_epsilon = one.contains("devices");
  const Json& answer = one[asks_epsilon ? "least_epsilon" : "fewest_devices"];
  const std::string asked =
      StrCat("accuracy ", one["accuracy"].dump(), asks_epsilon ? " from " : " at epsilon ",
             one[asks_epsilon ? "devices" : "epsilon"].dump(),
             asks_epsilon ? " devices takes " : " takes ");
  if (answer.is_null()) {
    return StrCat(asked, asks_epsilon ? "more than epsilon 16" : "more than 500000000 devices",
                  ", if it can be reached at all\n");
  }
  return asks_epsilon ? absl::StrFormat("%sepsilon %.3g\n", asked, answer.get<double>())
                      : StrCat(asked, answer.dump(), " devices\n");
}

std::string WorthText(const Json& worth, bool numbers) {
  const double gain = worth["gain"].get<double>();
  const std::string worse =
      numbers ? absl::StrFormat("error %+.3g", gain) : absl::StrFormat("accuracy %+.3f", -gain);
  return absl::StrFormat("Were %s private: %s, reports worth %.0f rows less.\n",
                         Printable(worth["name"].get<std::string>()), worse,
                         worth["equivalent_rows"].get<double>());
}

Status PlotPlan(const nlohmann::ordered_json& plan, const std::string& file) {
  if (std::system("command -v gnuplot > /dev/null") != 0) {
    return FailedPreconditionError(
        "--plot draws with gnuplot, which is not installed: apt-get install gnuplot-nox");
  }
  const std::string unfinished = StrCat(file, ".unfinished");
  Status drawn = RunGnuplot(Script(plan, unfinished));
  std::error_code error;
  if (drawn.ok()) {
    std::filesystem::rename(unfinished, file, error);
    if (error) drawn = UnavailableError(StrCat("cannot write ", file));
  }
  if (!drawn.ok()) std::filesystem::remove(unfinished, error);
  return drawn;
}

}  // namespace coppice::lab
