#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/pages/chart.h"
#include "common/pages/html.h"
#include "common/pages/pages.h"

namespace coppice::report {
namespace {

// The x axis of a drawing: epsilons, with a line per number of devices; or, for a plan with one
// epsilon, the numbers of devices.
struct Axis {
  bool is_devices = false;
  std::string name, label, lines;
};

Axis AxisOf(const Json& plan) {
  const Json& studies = plan["studies"];
  const auto has_first_epsilon = [&](const Json& study) {
    return study["epsilon"] == studies.front()["epsilon"];
  };
  if (studies.size() > 1 && absl::c_all_of(studies, has_first_epsilon)) {
    return {
        .is_devices = true, .name = "devices", .label = "devices that answer", .lines = "One line"};
  }
  return {
      .name = "epsilon", .label = "ε of one report", .lines = "A line for each number of devices"};
}

// `point` makes a point from a study, without its x.
template <typename PointOf>
std::vector<ChartLine> LinesOf(const Json& studies, const Axis& axis, PointOf point) {
  std::map<uint64_t, ChartLine> lines;
  for (const Json& study : studies) {
    const auto devices = study["devices"].get<uint64_t>();
    ChartLine& line = lines[axis.is_devices ? 0 : devices];
    line.name =
        axis.is_devices ? StrCat("ε = ", Plain(study["epsilon"])) : StrCat(devices, " devices");
    line.points.push_back(point(study));
    line.points.back().x =
        axis.is_devices ? static_cast<double>(devices) : study["epsilon"].get<double>();
  }
  std::vector<ChartLine> result;
  for (auto& [devices, line] : lines) {
    absl::c_sort(line.points, [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    result.push_back(std::move(line));
  }
  return result;
}

// False if there are several mechanisms at one epsilon: the line would double back.
bool CanBeDrawn(const Json& plan) {
  std::map<std::pair<uint64_t, double>, int> seen;
  for (const Json& study : plan["studies"]) {
    if (!study.contains("accuracy")) return false;
    if (++seen[{study["devices"].get<uint64_t>(), study["epsilon"].get<double>()}] > 1)
      return false;
  }
  return !seen.empty();
}

std::string MajorityName(const Json& plan) {
  return StrCat("always “", plan.value("majority_class", ""), "”");
}

std::string Levels(const Json& plan) {
  const Axis axis = AxisOf(plan);
  Chart chart{.title = StrCat("Accuracy to expect over ", axis.name),
              .description = StrCat(axis.lines, ", with its 90 % interval."),
              .x_label = axis.label,
              .y_label = "accuracy to expect",
              .log_x = true,
              .lines = LinesOf(plan["studies"], axis, [](const Json& study) {
                const Json& accuracy = study["accuracy"];
                return ChartPoint{.y = accuracy["mean"].get<double>(),
                                  .low = accuracy["low"].get<double>(),
                                  .high = accuracy["high"].get<double>()};
              })};
  if (plan.contains("public_only")) {
    chart.levels.push_back({"public labels alone", plan["public_only"]["mean"].get<double>()});
  }
  if (plan.contains("majority")) {
    chart.levels.push_back({MajorityName(plan), plan["majority"].get<double>()});
  }
  return Section("The level",
                 StrCat(Paragraph("With few public rows the level is uncertain, and all lines move "
                                  "up or down together: their intervals are wide and overlap even "
                                  "where the gain below is certain."),
                        DrawChart(chart, ChartUse::kPart)));
}

std::string Gains(const Json& plan) {
  const Axis axis = AxisOf(plan);
  Chart chart{.title = StrCat("Gain over public labels alone, over ", axis.name),
              .description = StrCat(axis.lines, ", with the gain's own 90 % interval."),
              .x_label = axis.label,
              .y_label = "gain over public labels alone",
              .log_x = true,
              .lines = LinesOf(plan["studies"], axis,
                               [](const Json& study) {
                                 ChartPoint point{.y = study["gain"].get<double>()};
                                 point.low = point.high = point.y;
                                 if (!IntervalOf(study, "gain_interval").empty()) {
                                   point.low = study["gain_interval"][0].get<double>();
                                   point.high = study["gain_interval"][1].get<double>();
                                 }
                                 return point;
                               }),
              .levels = {{"no gain", 0}}};
  return Section("What reports add", DrawChart(chart, ChartUse::kPart));
}

// A number with its interval below it.
TableCell WithInterval(const std::string& number, const std::string& low, const std::string& high) {
  return {.html = StrCat(Text(number), "<small>", Text(low), " to ", Text(high), "</small>"),
          .css_class = "n"};
}

// Formats a number of any unit.
std::string InUnits(double value) { return absl::StrFormat("%.4g", value); }

bool PredictsNumbers(const Json& plan) { return plan.contains("public_only_rmse"); }

TableCell LevelCell(const Json& study) {
  if (const auto error = study.find("rmse"); error != study.end()) {
    return WithInterval(InUnits((*error)["mean"]), InUnits((*error)["low"]),
                        InUnits((*error)["high"]));
  }
  const auto found = study.find("accuracy");
  if (found == study.end()) return NumberCell("–");
  return WithInterval(DecimalOf(*found, "mean"), DecimalOf(*found, "low"),
                      DecimalOf(*found, "high"));
}

TableCell GainCell(const Json& study) {
  if (!study.contains("gain")) return NumberCell("–");
  if (study.contains("rmse")) {
    const Json& interval = study["gain_interval"];
    return WithInterval(InUnits(study["gain"]), InUnits(interval[0]), InUnits(interval[1]));
  }
  const std::string gain = SignedDecimal(study["gain"].get<double>());
  if (IntervalOf(study, "gain_interval").empty()) return NumberCell(gain);
  return WithInterval(gain, SignedDecimal(study["gain_interval"][0]),
                      SignedDecimal(study["gain_interval"][1]));
}

std::string StudyTable(const Json& plan) {
  TableData table{.caption = "Each study that was asked about; intervals are of 90 %",
                  .columns = {"ε of a report", "devices", "mechanism", "bytes",
                              PredictsNumbers(plan) ? "error (RMSE)" : "accuracy",
                              PredictsNumbers(plan) ? "less error" : "gain", "worth public rows",
                              "one liar moves"},
                  .rows = {}};
  for (const Json& study : plan["studies"]) {
    table.rows.push_back(
        {Cell(Plain(study["epsilon"])), NumberCell(Plain(study["devices"])),
         Cell(study.value("mechanism", "")), NumberCell(Plain(study["payload_bytes"])),
         LevelCell(study), GainCell(study),
         NumberCell(absl::StrFormat("%.1f", study["equivalent_rows"].get<double>())),
         NumberCell(study.contains("influence")
                        ? absl::StrFormat("%.4f", study["influence"].get<double>())
                        : "-")});
  }
  return Section("Studies", RenderTable(table));
}

// What reports in a relay's batches promise towards the curator.
std::string ThroughRelay(const Json& plan) {
  if (!plan.contains("relay")) return "";
  const Json& relay = plan["relay"];
  TableData table{.caption = StrCat("In batches of ", Plain(relay["min_batch"]),
                                    " reports or more, ", Plain(relay["honest_reports"]),
                                    " of them of honest devices, δ = ", Plain(relay["delta"])),
                  .columns = {"ε of a report", "mechanism", "ε towards the curator"},
                  .rows = {}};
  for (const Json& row : relay["studies"]) {
    table.rows.push_back({Cell(Plain(row["epsilon"])), Cell(row.value("mechanism", "")),
                          NumberCell(absl::StrFormat("%.9f", row["batch_epsilon"].get<double>()))});
  }
  return Section(
      "Through a relay",
      StrCat(RenderTable(table),
             Remark("If the relay and the curator collude, only the ε of a report holds. The relay "
                    "must deal tickets at random and tell nobody who has which.")));
}

// What reaching the wanted accuracy takes.
std::string Requirements(const Json& plan) {
  if (!plan.contains("takes")) return "";
  TableData table{.caption = "The smallest ε, or the fewest devices, that reach an accuracy",
                  .columns = {"accuracy", "given", "takes"},
                  .rows = {}};
  for (const Json& one : plan["takes"]) {
    const bool asks_epsilon = one.contains("devices");
    const Json& answer = one[asks_epsilon ? "least_epsilon" : "fewest_devices"];
    const std::string given = asks_epsilon ? StrCat(Plain(one["devices"]), " devices")
                                           : StrCat("ε = ", Plain(one["epsilon"]));
    const std::string takes = answer.is_null() ? "more than was searched"
                              : asks_epsilon   ? absl::StrFormat("ε = %.3g", answer.get<double>())
                                               : StrCat(Plain(answer), " devices");
    table.rows.push_back({Cell(Plain(one["accuracy"])), Cell(given), Cell(takes)});
  }
  return Section("What it takes", RenderTable(table));
}

}  // namespace

std::string PlanPage(const Json& plan) {
  std::vector<Figure> figures = {{"Public rows", Plain(plan["public_rows"]), ""}};
  // The curator's forecast does not say how many trees it rests on.
  if (plan.contains("trees")) figures.push_back({"Trees", Plain(plan["trees"]), ""});
  figures.push_back(
      {"Cells told apart", absl::StrFormat("%.0f", plan["effective_cells"].get<double>()), ""});
  if (plan.contains("public_only")) {
    const Json& level = plan["public_only"];
    figures.insert(figures.begin(),
                   {"Public labels alone", DecimalOf(level, "mean"),
                    StrCat(DecimalOf(level, "low"), " to ", DecimalOf(level, "high"))});
  }
  if (PredictsNumbers(plan)) {
    const Json& error = plan["public_only_rmse"];
    figures.insert(figures.begin(),
                   {"Error (RMSE) of public labels alone", InUnits(error["mean"]),
                    StrCat(InUnits(error["low"]), " to ", InUnits(error["high"]))});
  }
  if (plan.contains("majority")) {
    figures.insert(figures.begin() + 1, {StrCat("Always “", plan.value("majority_class", ""), "”"),
                                         DecimalOf(plan, "majority"), "of the public rows"});
  }
  std::string body = RenderFigures(figures);
  if (CanBeDrawn(plan)) StrAppend(&body, Levels(plan), Gains(plan));
  StrAppend(
      &body, Requirements(plan), StudyTable(plan), ThroughRelay(plan),
      Remark("Predicted from public rows alone: no private row was used. A plan cannot see that "
             "private rows may come from another population. ε is what one report costs: any two "
             "rows that a device may hold are neighbours, if their public features are the same."));
  return RenderDocument({.kind = "Study plan",
                         .title = "What accuracy to expect",
                         .lead = plan.value("advice", ""),
                         .body = std::move(body)});
}

}  // namespace coppice::report
