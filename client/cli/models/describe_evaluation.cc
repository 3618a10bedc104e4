#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/cli/models/predict.h"
#include "common/base/text.h"

namespace coppice::cli {
namespace {

constexpr double kLevel = 0.95;
constexpr size_t kMaxShownClasses = 12;  // in a confusion matrix for people

Json IntervalJson(const ConfidenceInterval& interval) { return {interval.low, interval.high}; }

Json OptionalJson(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json OptionalsJson(const std::vector<std::optional<double>>& values) {
  Json json = Json::array();
  for (const std::optional<double>& value : values) json.push_back(OptionalJson(value));
  return json;
}

Json CalibrationJson(const std::vector<CalibrationBin>& bins) {
  Json json = Json::array();
  for (const CalibrationBin& bin : bins) {
    const bool empty = bin.rows == 0;
    json.push_back({{"low", bin.low},
                    {"high", bin.high},
                    {"rows", bin.rows},
                    {"predicted", empty ? Json(nullptr) : Json(bin.predicted)},
                    {"observed", empty ? Json(nullptr) : Json(bin.observed)}});
  }
  return json;
}

std::string VerdictOn(const ClassScores& scores, const std::vector<std::string>& classes) {
  return ClassVerdict(classes[scores.majority.label], scores.majority.share, scores.gain,
                      scores.gain_interval);
}

std::string VerdictOn(const NumberScores& scores) {
  return NumberVerdict(scores.mean.rmse, scores.gain, scores.gain_interval);
}

std::string ShareText(const std::optional<double>& share) {
  return share.has_value() ? absl::StrFormat("%.3f", *share) : "";
}

std::string ShareWithInterval(double share, const ConfidenceInterval& interval) {
  return absl::StrFormat("%.3f (%.3f to %.3f)", share, interval.low, interval.high);
}

std::string NumberWithInterval(double number, const ConfidenceInterval& interval) {
  return absl::StrFormat("%.4g (%.4g to %.4g)", number, interval.low, interval.high);
}

// A line of the table that compares a model with a trivial baseline.
Json Beside(const std::string& name, std::string model, const std::string& baseline_name,
            std::string baseline) {
  return {{"", name}, {"this model", std::move(model)}, {baseline_name, std::move(baseline)}};
}

std::string ScoresTable(const ClassScores& scores, const std::vector<std::string>& classes) {
  const std::string always = StrCat("always ", classes[scores.majority.label]);
  return AsTable({Beside("accuracy", ShareWithInterval(scores.accuracy, scores.interval), always,
                         ShareText(scores.majority.share)),
                  Beside("AUC", ShareText(scores.auc), always, scores.auc ? "0.500" : ""),
                  Beside("log loss", ShareText(scores.log_loss), always,
                         ShareText(scores.majority_log_loss))});
}

std::string GainLine(const ClassScores& scores) {
  const std::string abstained =
      scores.abstained == 0 ? "" : StrCat("; abstained on ", scores.abstained, " more");
  return absl::StrFormat("Gain %+.3f (%+.3f to %+.3f, 95 %%) on %d rows%s.\n", scores.gain,
                         scores.gain_interval.low, scores.gain_interval.high, scores.rows,
                         abstained);
}

std::string GainLine(const NumberScores& scores) {
  return absl::StrFormat("Gain %+.3g (%+.3g to %+.3g, 95 %%) on %d rows.\n", scores.gain,
                         scores.gain_interval.low, scores.gain_interval.high, scores.rows);
}

// A row per true class. The columns' names have a prefix, so that classes cannot collide.
std::string ConfusionTable(const ClassScores& scores, const std::vector<std::string>& classes) {
  std::vector<Json> rows;
  for (size_t k = 0; k < classes.size(); ++k) {
    Json row = {{"true class", classes[k]}};
    if (classes.size() <= kMaxShownClasses) {
      for (size_t p = 0; p < classes.size(); ++p) {
        row[StrCat("predicted ", classes[p])] = scores.confusion[k][p];
      }
    }
    row["recall"] = ShareText(scores.recall[k]);
    row["precision"] = ShareText(scores.precision[k]);
    rows.push_back(std::move(row));
  }
  return AsTable(rows, TerminalWidth(/*descriptor=*/1));
}

std::string CalibrationTable(const ClassScores& scores) {
  std::vector<Json> rows;
  for (const CalibrationBin& bin : scores.calibration) {
    if (bin.rows == 0) continue;
    rows.push_back({{"probability", absl::StrFormat("%.1f to %.1f", bin.low, bin.high)},
                    {"rows", bin.rows},
                    {"predicted", ShareText(bin.predicted)},
                    {"observed", ShareText(bin.observed)}});
  }
  return AsTable(rows);
}

}  // namespace

Json DescribeScores(const std::string& model, const ClassScores& scores, const Schema& schema) {
  const std::vector<std::string>& classes = schema.classes();
  return {{"model", model},
          {"rows", scores.rows},
          {"abstained", scores.abstained},
          {"correct", scores.correct},
          {"accuracy", scores.accuracy},
          {"interval", IntervalJson(scores.interval)},
          {"level", kLevel},
          {"majority", scores.majority.share},
          {"majority_class", classes[scores.majority.label]},
          {"gain", scores.gain},
          {"gain_interval", IntervalJson(scores.gain_interval)},
          {"verdict", VerdictOn(scores, classes)},
          {"auc", OptionalJson(scores.auc)},
          {"auc_exact", scores.is_auc_exact},
          {"log_loss", scores.log_loss},
          {"majority_log_loss", scores.majority_log_loss},
          {"classes", classes},
          {"confusion", scores.confusion},
          {"recall", OptionalsJson(scores.recall)},
          {"precision", OptionalsJson(scores.precision)},
          {"calibration", CalibrationJson(scores.calibration)},
          {"calibration_error", scores.calibration_error}};
}

Json DescribeScores(const std::string& model, const NumberScores& scores) {
  return {{"model", model},
          {"rows", scores.rows},
          {"rmse", scores.rmse},
          {"mse", scores.mse},
          {"mae", scores.mae},
          {"r2", OptionalJson(scores.r2)},
          {"interval", IntervalJson(scores.interval)},
          {"level", kLevel},
          {"mean", scores.mean.rmse},
          {"mean_value", scores.mean.value},
          {"mean_mae", scores.mean_mae},
          {"gain", scores.gain},
          {"gain_interval", IntervalJson(scores.gain_interval)},
          {"verdict", VerdictOn(scores)}};
}

std::string ScoresText(const ClassScores& scores, const Schema& schema) {
  const std::vector<std::string>& classes = schema.classes();
  const std::string of =
      classes.size() == 2 ? StrCat("the probability of ", classes[1]) : "the answer's probability";
  return StrCat(VerdictOn(scores, classes), "\n", GainLine(scores), "\n",
                ScoresTable(scores, classes), "\n", ConfusionTable(scores, classes),
                "\nCalibration of ", of,
                absl::StrFormat(" (off by %.3f on average):\n", scores.calibration_error),
                CalibrationTable(scores));
}

std::string ScoresText(const NumberScores& scores) {
  const std::string always = absl::StrFormat("always %.4g, the mean", scores.mean.value);
  return StrCat(VerdictOn(scores), "\n", GainLine(scores), "\n",
                AsTable({Beside("RMSE", NumberWithInterval(scores.rmse, scores.interval), always,
                                absl::StrFormat("%.4g", scores.mean.rmse)),
                         Beside("MAE", absl::StrFormat("%.4g", scores.mae), always,
                                absl::StrFormat("%.4g", scores.mean_mae)),
                         Beside("R2", ShareText(scores.r2), always, scores.r2 ? "0.000" : "")}));
}

}  // namespace coppice::cli
