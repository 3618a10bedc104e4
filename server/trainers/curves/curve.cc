#include "server/trainers/curves/curve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "server/trainers/curves/mean.h"

namespace coppice::curves {
namespace {

using Json = nlohmann::ordered_json;

Json ScoreJson(const std::vector<double>& values) {
  const Mean mean = MeanOf(values);
  return {{"mean", mean.value}, {"std", mean.deviation}, {"n", mean.n}};
}

const char* MeasureName(const Curve& curve) { return curve.numbers ? "rmse" : "accuracy"; }

// ---- the table

// Columns of text, aligned left except the first. All rows must have the same number of cells.
class TextColumns {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string Text() const {
    std::vector<size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Letters(row[i]));
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string pad(widths[i] - Letters(row[i]), ' ');
        StrAppend(&line, i == 0 ? pad : "  ", row[i], i == 0 ? "" : pad);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      StrAppend(&text, line, "\n");
    }
    return text;
  }

 private:
  static size_t Letters(const std::string& utf8) {
    return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
    }));
  }

  std::vector<std::vector<std::string>> rows_;
};

std::string ScoreText(const std::vector<double>& values) {
  const Mean mean = MeanOf(values);
  return mean.n > 1 ? absl::StrFormat("%.3f ± %.3f", mean.value, mean.error())
                    : absl::StrFormat("%.3f", mean.value);
}

using Part = std::vector<double> CurveScores::*;

std::string PartTable(const Curve& curve, Part part) {
  std::map<double, std::vector<std::string>> rows;
  std::vector<std::string> head = {"epsilon"}, without = {"no privacy"};
  for (size_t s = 0; s < curve.series.size(); ++s) {
    const CurveSeries& series = curve.series[s];
    head.push_back(series.Name());
    without.push_back(series.non_private ? ScoreText((*series.non_private).*part) : "-");
    for (const CurvePoint& point : series.points) {
      std::vector<std::string>& row = rows[point.epsilon];
      row.resize(curve.series.size(), "-");
      row[s] = ScoreText(point.scores.*part);
    }
  }
  TextColumns columns;
  columns.Add(head);
  for (auto& [epsilon, row] : rows) {
    row.insert(row.begin(), absl::StrFormat("%g", epsilon));
    columns.Add(std::move(row));
  }
  columns.Add(without);
  std::string text = columns.Text();
  if (part == &CurveScores::measure) {
    absl::StrAppendFormat(&text, "%s: %s\n", curve.BaselineName(), ScoreText(curve.baseline));
  }
  return text;
}

bool HasPart(const Curve& curve, Part part) {
  return std::all_of(curve.series.begin(), curve.series.end(), [&](const CurveSeries& series) {
    return !series.points.empty() && !(series.points[0].scores.*part).empty();
  });
}

}  // namespace

std::string CurveSeries::Name() const {
  return devices == 0 ? algorithm : StrCat(algorithm, ", ", devices, " devices");
}

std::string Curve::BaselineName() const {
  return numbers ? "always answering the mean" : StrCat("always answering ", majority_class);
}

std::vector<Json> CurveLines(const Curve& curve) {
  std::vector<Json> lines;
  for (const CurveSeries& series : curve.series) {
    for (const CurvePoint& point : series.points) {
      Json& line = lines.emplace_back();
      line = {{"algorithm", series.algorithm}, {"epsilon", point.epsilon}};
      if (series.devices > 0) line["devices"] = series.devices;
      line[MeasureName(curve)] = ScoreJson(point.scores.measure);
      if (!point.scores.auc.empty()) line["auc"] = ScoreJson(point.scores.auc);
      if (!point.scores.log_loss.empty()) line["log_loss"] = ScoreJson(point.scores.log_loss);
      line[curve.numbers ? "mean" : "majority"] = MeanOf(curve.baseline).value;
      line["non_private"] =
          series.non_private ? Json(MeanOf(series.non_private->measure).value) : Json();
    }
  }
  return lines;
}

Json CurveJson(const Curve& curve) {
  Json json = {{"label", curve.label},
               {"rows", curve.rows},
               {"test_rows", curve.test_rows},
               {"repeats", curve.baseline.size()},
               {curve.numbers ? "mean" : "majority", MeanOf(curve.baseline).value}};
  if (curve.delta != "0") json["delta"] = curve.delta;
  if (!curve.numbers) json["majority_class"] = curve.majority_class;
  json["lines"] = CurveLines(curve);
  json["series"] = Json::array();
  for (const CurveSeries& series : curve.series) {
    json["series"].push_back(
        {{"name", series.Name()},
         {"neighbours", series.neighbours},
         {"non_private", series.non_private ? ScoreJson(series.non_private->measure) : Json()}});
  }
  json["sentences"] = CurveSentences(curve);
  return json;
}

std::string CurveTable(const Curve& curve) {
  const size_t repeats = curve.baseline.size();
  const std::string splits =
      repeats == 1 ? ", one split" : StrCat(", mean ± standard error of ", repeats, " splits");
  std::string text =
      StrCat(curve.numbers ? "Root mean squared error" : "Accuracy", " on ", curve.test_rows,
             " rows", splits, "\n\n", PartTable(curve, &CurveScores::measure));
  if (HasPart(curve, &CurveScores::auc)) {
    StrAppend(&text, "\nAUC\n\n", PartTable(curve, &CurveScores::auc));
  }
  if (HasPart(curve, &CurveScores::log_loss)) {
    StrAppend(&text, "\nLog loss\n\n", PartTable(curve, &CurveScores::log_loss));
  }
  return text;
}

}  // namespace coppice::curves
