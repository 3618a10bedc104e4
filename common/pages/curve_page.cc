#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/pages/chart.h"
#include "common/pages/html.h"
#include "common/pages/pages.h"

namespace coppice::report {
namespace {

bool OfNumbers(const Json& curve) { return curve.contains("mean"); }
std::string Measure(const Json& curve) { return OfNumbers(curve) ? "rmse" : "accuracy"; }
std::string BaselineName(const Json& curve) {
  return OfNumbers(curve) ? "always the mean"
                          : StrCat("always “", curve.value("majority_class", ""), "”");
}
double Baseline(const Json& curve) {
  return curve[OfNumbers(curve) ? "mean" : "majority"].get<double>();
}

double StandardError(const Json& summary) {
  const double n = summary.value("n", 0.0);
  return n > 1 ? summary.value("std", 0.0) / std::sqrt(n) : 0;
}

// The mean with a band of one standard error on either side.
ChartPoint PointOf(double x, const Json& summary) {
  const double mean = summary["mean"].get<double>(), error = StandardError(summary);
  return {.x = x, .y = mean, .low = mean - error, .high = mean + error};
}

// Returns "auto"; "local, 1000 devices".
std::string SeriesOf(const Json& line) {
  const std::string name = line.value("algorithm", "");
  return line.contains("devices") ? StrCat(name, ", ", Plain(line["devices"]), " devices") : name;
}

std::string WithError(const Json& summary) {
  const std::string mean = Decimal(summary["mean"].get<double>());
  const double error = StandardError(summary);
  return error > 0 ? StrCat(mean, " ± ", Decimal(error)) : mean;
}

// One measure of all series: a row per epsilon, and one without privacy.
std::string MeasureTable(const Json& curve, const std::string& measure, const std::string& title) {
  std::map<double, std::map<std::string, std::string>> by_epsilon;
  for (const Json& line : curve["lines"]) {
    if (!line.contains(measure)) return "";
    by_epsilon[line["epsilon"].get<double>()][SeriesOf(line)] = WithError(line[measure]);
  }
  TableData table{.caption = title, .columns = {"ε"}, .rows = {}};
  for (const Json& series : curve["series"]) table.columns.push_back(series.value("name", ""));
  for (const auto& [epsilon, cells] : by_epsilon) {
    std::vector<TableCell>& row = table.rows.emplace_back();
    row.push_back(Cell(absl::StrFormat("%g", epsilon)));
    for (const Json& series : curve["series"]) {
      const auto cell = cells.find(series.value("name", ""));
      row.push_back(NumberCell(cell == cells.end() ? "–" : cell->second));
    }
  }
  if (measure != Measure(curve)) return RenderTable(table);
  std::vector<TableCell> without = {Cell("no privacy")};
  std::vector<TableCell> baseline = {Cell(BaselineName(curve))};
  for (const Json& series : curve["series"]) {
    const Json& summary = series["non_private"];
    without.push_back(NumberCell(summary.is_null() ? "–" : WithError(summary)));
    baseline.push_back(NumberCell(Decimal(Baseline(curve))));
  }
  table.rows.push_back(std::move(without));
  table.rows.push_back(std::move(baseline));
  return RenderTable(table);
}

Chart ChartOf(const Json& curve) {
  Chart chart{.title = StrCat(OfNumbers(curve) ? "Error" : "Accuracy", " over epsilon"),
              .description = StrCat("A line for each algorithm, with a band of one standard "
                                    "error on either side; at the right without privacy; "
                                    "dashed: ",
                                    BaselineName(curve), "."),
              .x_label = "ε (logarithmic)",
              .y_label = OfNumbers(curve) ? "root mean squared error" : "accuracy",
              .log_x = true,
              .lines = {},
              .levels = {{BaselineName(curve), Baseline(curve)}}};
  for (const Json& series : curve["series"]) {
    ChartLine line{.name = series.value("name", ""), .points = {}};
    for (const Json& one : curve["lines"]) {
      if (SeriesOf(one) != line.name) continue;
      line.points.push_back(PointOf(one["epsilon"].get<double>(), one[Measure(curve)]));
    }
    if (!series["non_private"].is_null()) {
      line.beyond = PointOf(0, series["non_private"]);
      chart.beyond_label = "no privacy";
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

std::string DeltaOf(const Json& curve) {
  return curve.contains("delta") ? StrCat("; δ = ", curve.value("delta", "")) : "";
}

// Says what stands in for `auto` without privacy, if that is on the page.
std::string ReferenceOf(const Json& curve) {
  for (const Json& series : curve["series"]) {
    if (series.value("name", "") != "auto" || series["non_private"].is_null()) continue;
    return Remark(
        "No privacy: for auto this is ordinary gradient boosting with early stopping on the same "
        "rows. Every other algorithm is run as it is, without its noise.");
  }
  return "";
}

// Says whom the ε of each series protects.
std::string NeighboursOf(const Json& curve) {
  Json sentences = Json::array();
  for (const Json& series : curve["series"]) {
    const std::string neighbours = series.value("neighbours", "");
    if (neighbours.empty()) continue;
    sentences.push_back(
        StrCat(series.value("name", ""), ": neighbours differ in ", neighbours, "."));
  }
  return sentences.empty() ? "" : Section("What ε is about", Sentences(sentences));
}

}  // namespace

std::string CurveDrawing(const Json& curve, ChartUse use) { return DrawChart(ChartOf(curve), use); }

std::string CurvePage(const Json& curve) {
  const std::string measure = OfNumbers(curve) ? "Root mean squared error" : "Accuracy";
  const std::string note = ", mean over the splits ± one standard error";
  std::string tables = MeasureTable(curve, Measure(curve), measure + note);
  StrAppend(&tables, MeasureTable(curve, "auc", "AUC" + note),
            MeasureTable(curve, "log_loss", "Log loss" + note));
  return RenderDocument(
      {.kind = "Accuracy against ε",
       .title = "What ε buys",
       .lead = absl::StrFormat("%s of predicting “%s” over ε: %s rows, trained %s times on random "
                               "splits that are the same for all%s.",
                               measure, curve.value("label", ""), Plain(curve["rows"]),
                               Plain(curve["repeats"]), DeltaOf(curve)),
       .body = StrCat(Section("What it buys", Sentences(curve["sentences"])),
                      Section("The curve", CurveDrawing(curve, ChartUse::kPart)),
                      Section("The numbers", tables), ReferenceOf(curve), NeighboursOf(curve),
                      Remark(kAccuracyIsARelease))});
}

}  // namespace coppice::report
