#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/pages/chart.h"
#include "common/pages/html.h"
#include "common/pages/pages.h"

namespace coppice::report {
namespace {

constexpr size_t kMostClasses = 40;  // in a readable matrix
constexpr int kShades = 6;           // shades of the style sheet

bool HasNumber(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number();
}

double NumberAt(const Json& json, const char* name) { return json[name].get<double>(); }

// The member as an interval bar; a dot if it has no interval.
IntervalBar BarOf(const Json& json, const std::string& name, const char* value, const char* range) {
  IntervalBar bar{.name = name, .value = NumberAt(json, value)};
  bar.low = bar.high = bar.value;
  if (!IntervalOf(json, range).empty()) {
    bar.low = json[range][0].get<double>();
    bar.high = json[range][1].get<double>();
  }
  return bar;
}

std::string GainNote(const Json& json) {
  const std::string interval = IntervalOf(json, "gain_interval");
  return interval.empty() ? ""
                          : StrCat(SignedDecimal(json["gain_interval"][0]), " to ",
                                   SignedDecimal(json["gain_interval"][1]));
}

void AddFigure(const Json& json, const char* value, const std::string& name,
               const std::string& note, std::vector<Figure>& figures) {
  if (HasNumber(json, value)) figures.push_back({name, DecimalOf(json, value), note});
}

std::string CountNote(const Json& json) {
  if (!HasNumber(json, "rows")) return "";
  std::string note = StrCat("Measured on ", json["rows"].dump(), " rows");
  if (json.value("abstained", 0) > 0) {
    StrAppend(&note, "; the model abstained on ", json["abstained"].dump(), " others");
  }
  if (HasNumber(json, "level")) {
    absl::StrAppendFormat(&note, "; intervals are of %g %%", NumberAt(json, "level") * 100);
  }
  return StrCat(note, ".");
}

std::string ClassSummary(const Json& json) {
  const std::string majority =
      StrCat("Always “", json.value("majority_class", "the majority"), "”");
  std::vector<Figure> figures;
  AddFigure(json, "accuracy", "Accuracy", IntervalOf(json, "interval"), figures);
  AddFigure(json, "majority", majority, "without a model", figures);
  if (HasNumber(json, "gain")) {
    figures.push_back({"Gain", SignedDecimal(NumberAt(json, "gain")), GainNote(json)});
  }
  AddFigure(json, "auc", "AUC", "0.5 is guessing, 1 perfect", figures);
  AddFigure(json, "log_loss", "Log loss",
            StrCat("without a model ", DecimalOf(json, "majority_log_loss")), figures);
  std::string html = RenderFigures(figures);
  if (HasNumber(json, "accuracy") && HasNumber(json, "majority")) {
    StrAppend(&html, DrawIntervals("Accuracy compared with always answering the majority",
                                   {{BarOf(json, "This model", "accuracy", "interval"),
                                     BarOf(json, majority, "majority", "")}}));
  }
  return StrCat(html, Paragraph(CountNote(json)));
}

std::string RegressionSummary(const Json& json) {
  std::vector<Figure> figures;
  AddFigure(json, "rmse", "Root mean squared error", IntervalOf(json, "interval"), figures);
  AddFigure(json, "mean", "Always the mean",
            StrCat("without a model; it is ", DecimalOf(json, "mean_value")), figures);
  if (HasNumber(json, "gain")) {
    figures.push_back({"Gain", SignedDecimal(NumberAt(json, "gain")), GainNote(json)});
  }
  AddFigure(json, "mae", "Mean absolute error",
            StrCat("of the mean: ", DecimalOf(json, "mean_mae")), figures);
  AddFigure(json, "r2", "R²", "variance explained", figures);
  std::string html = RenderFigures(figures);
  if (HasNumber(json, "rmse") && HasNumber(json, "mean")) {
    StrAppend(&html, DrawIntervals("Error compared with always answering the mean",
                                   {{BarOf(json, "This model", "rmse", "interval"),
                                     BarOf(json, "Always the mean", "mean", "")}}));
  }
  return StrCat(html, Paragraph(CountNote(json)));
}

// A cell shaded by its share of the row.
TableCell HeatCell(double count, double row, bool right) {
  const double share = row > 0 ? count / row : 0;
  const int shade = static_cast<int>(std::ceil(share * kShades));
  return {.html = StrCat(absl::StrFormat("%.0f", count), "<small>",
                         absl::StrFormat("%.1f %%", 100 * share), "</small>"),
          .css_class = StrCat("heat h", shade, right ? " right" : "")};
}

std::string Confusion(const Json& json) {
  const Json& classes = json["classes"];
  const Json& matrix = json["confusion"];
  if (classes.size() > kMostClasses) {
    return Section("Confusion matrix",
                   Paragraph(StrCat(classes.size(),
                                    " classes are too many for a matrix to be read; "
                                    "--json has it.")));
  }
  TableData table{.caption =
                      "Rows are the true class, columns what the model answered; the share "
                      "is of the true class.",
                  .columns = {"true class"},
                  .rows = {}};
  for (const Json& name : classes) table.columns.push_back(name.get<std::string>());
  for (size_t i = 0; i < matrix.size() && i < classes.size(); ++i) {
    double total = 0;
    for (const Json& count : matrix[i]) total += count.get<double>();
    std::vector<TableCell>& cells = table.rows.emplace_back();
    cells.push_back(Cell(classes[i].get<std::string>()));
    for (size_t k = 0; k < matrix[i].size(); ++k) {
      cells.push_back(HeatCell(matrix[i][k].get<double>(), total, i == k));
    }
  }
  return Section("Confusion matrix", RenderTable(table));
}

std::string NumberIn(const Json& json, const char* name, size_t index) {
  const auto found = json.find(name);
  const bool there = found != json.end() && index < found->size() && (*found)[index].is_number();
  return there ? Decimal((*found)[index].get<double>()) : "–";
}

std::string PerClass(const Json& json) {
  TableData table{.caption =
                      "Recall: the share of a class that is found. Precision: how often an "
                      "answer is right.",
                  .columns = {"class", "recall", "precision"},
                  .rows = {}};
  for (size_t i = 0; i < json["classes"].size(); ++i) {
    table.rows.push_back({Cell(json["classes"][i].get<std::string>()),
                          NumberCell(NumberIn(json, "recall", i)),
                          NumberCell(NumberIn(json, "precision", i))});
  }
  return Section("Each class", RenderTable(table));
}

std::string Calibration(const Json& json) {
  Chart chart{.title = "Calibration",
              .description =
                  "Observed share against predicted probability; on the diagonal the probabilities "
                  "match what happens.",
              .x_label = "predicted probability",
              .y_label = "observed share",
              .unit_square = true,
              .lines = {{.name = "", .points = {}}}};
  TableData table{.caption = "Rows by predicted probability",
                  .columns = {"probability", "rows", "predicted", "observed"},
                  .rows = {}};
  for (const Json& bin : json["calibration"]) {
    if (!HasNumber(bin, "predicted") || !HasNumber(bin, "observed")) continue;
    if (bin.value("rows", 0.0) == 0) continue;
    const double observed = NumberAt(bin, "observed");
    const double rows = bin.value("rows", 0.0);
    const double error = std::sqrt(observed * (1 - observed) / rows);
    chart.lines[0].points.push_back({.x = NumberAt(bin, "predicted"),
                                     .y = observed,
                                     .low = std::max(observed - error, 0.0),
                                     .high = std::min(observed + error, 1.0)});
    table.rows.push_back(
        {Cell(absl::StrFormat("%g to %g", bin.value("low", 0.0), bin.value("high", 1.0))),
         NumberCell(absl::StrFormat("%.0f", bin.value("rows", 0.0))),
         NumberCell(DecimalOf(bin, "predicted")), NumberCell(DecimalOf(bin, "observed"))});
  }
  if (table.rows.empty()) return "";
  std::string error;
  if (HasNumber(json, "calibration_error")) {
    error = Paragraph(StrCat("Predicted and observed are ", DecimalOf(json, "calibration_error"),
                             " apart on average (the calibration error)."));
  }
  return Section("Do its probabilities match what happens?",
                 StrCat(error, "<div class=\"square\">\n", DrawChart(chart, ChartUse::kPart),
                        "</div>\n", Details("The numbers", RenderTable(table))));
}

}  // namespace

std::string EvaluationPage(const Json& evaluation) {
  const bool classes = evaluation.contains("classes") || evaluation.contains("accuracy");
  std::string body =
      Section("In short", classes ? ClassSummary(evaluation) : RegressionSummary(evaluation));
  if (evaluation.contains("classes") && evaluation.contains("confusion")) {
    StrAppend(&body, Confusion(evaluation));
  }
  if (evaluation.contains("classes") && evaluation.contains("recall")) {
    StrAppend(&body, PerClass(evaluation));
  }
  if (evaluation.contains("calibration")) StrAppend(&body, Calibration(evaluation));
  StrAppend(&body, Remark(kAccuracyIsARelease));
  return RenderDocument({.kind = "Evaluation",
                         .title = StrCat("Model ", evaluation.value("model", "")),
                         .lead = evaluation.value("verdict", ""),
                         .body = std::move(body)});
}

}  // namespace coppice::report
