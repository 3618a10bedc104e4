// What an epsilon buys: the scores of several algorithms at several epsilons on the same splits of
// one table, compared with always answering the majority class (or the mean) and with no privacy.
//
// Every repetition scores all runs on the same rows, so differences are taken within repetitions
// and what the splits have in common cancels out. A difference counts if it exceeds twice its
// standard error; splits of one file overlap, so this is a rule of thumb and not a test.
//
// Guarantee  none: scores on private rows are themselves releases.
// Threads    plain values and functions.

#ifndef COPPICE_SERVER_TRAINERS_CURVES_CURVE_H_
#define COPPICE_SERVER_TRAINERS_CURVES_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace coppice::curves {

// The scores of one algorithm at one epsilon; one entry per repetition.
struct CurveScores {
  std::vector<double> measure;        // accuracy of classes, root mean squared error of numbers
  std::vector<double> auc, log_loss;  // for classes; empty for numbers
  // The part of the gain's standard error that is due to the test rows, and that no further
  // repetition on the same rows reduces.
  double row_error = 0;
};

struct CurvePoint {
  double epsilon = 0;
  CurveScores scores;
};

struct CurveSeries {
  std::string algorithm;
  std::string neighbours{};        // how two neighbouring tables, or a device's rows, differ
  uint64_t devices = 0;            // in a local study; 0: all rows are in one place
  std::vector<CurvePoint> points;  // by rising epsilon
  std::optional<CurveScores> non_private{};

  std::string Name() const;  // "auto"; "local, 1000 devices"
};

struct Curve {
  std::string label;        // the predicted column
  bool numbers = false;     // numbers are predicted: the measure is an error, and less is better
  size_t rows = 0;          // in the whole table
  size_t test_rows = 0;     // scored in each repetition
  std::string delta = "0";  // the same in all runs
  std::string majority_class;
  std::vector<double> baseline;  // the measure of always answering the majority class or the mean
  std::vector<CurveSeries> series;

  std::string BaselineName() const;  // "always answering no"
};

// One object per series and epsilon, as --json prints them.
std::vector<nlohmann::ordered_json> CurveLines(const Curve& curve);

// The whole curve, as curve.json stores it and common/pages/pages.h takes it.
nlohmann::ordered_json CurveJson(const Curve& curve);

// Says what each series buys, step by step: "auto: ε = 0.5 buys 0.031 over always answering no; ε =
// 2 buys 0.004 more; without privacy 0.012 more."
std::vector<std::string> CurveSentences(const Curve& curve);

// A table for the terminal: one row per epsilon, one column per series.
std::string CurveTable(const Curve& curve);

}  // namespace coppice::curves

#endif  // COPPICE_SERVER_TRAINERS_CURVES_CURVE_H_
