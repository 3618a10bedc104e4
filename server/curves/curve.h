// What an epsilon buys: the scores of several algorithms at several epsilons over the same splits
// of one table, beside always answering the majority's class (or the mean) and beside no privacy.
//
// Every repetition scores all runs on the same rows, so differences are taken within repetitions
// and what the splits have in common drops out. A difference is said to be one if it is above twice
// its standard error; splits of one file overlap, so that is a rule of thumb and no test.
//
// Guarantee  none: scores on private rows are themselves releases.
// Threads    plain values and functions.

#ifndef COPPICE_SERVER_CURVES_CURVE_H_
#define COPPICE_SERVER_CURVES_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace coppice::curves {

// One algorithm at one epsilon; an entry for each repetition.
struct CurveScores {
  std::vector<double> measure;        // the accuracy; of numbers, the root mean squared error
  std::vector<double> auc, log_loss;  // of classes; empty otherwise
  // The standard error of the gain over the baseline that the test rows leave open, however often
  // they are scored on.
  double row_error = 0;
};

struct CurvePoint {
  double epsilon = 0;
  CurveScores scores;
};

struct CurveSeries {
  std::string algorithm;
  std::string neighbours{};        // what two tables, or a device's rows, differ in
  uint64_t devices = 0;            // of a local study; 0: a table in one place
  std::vector<CurvePoint> points;  // by rising epsilon
  std::optional<CurveScores> non_private{};

  std::string Name() const;  // "auto"; "local, 1000 devices"
};

struct Curve {
  std::string label;        // what is predicted
  bool numbers = false;     // the measure is an error: less is better
  size_t rows = 0;          // of the table
  size_t test_rows = 0;     // that each repetition is scored on
  std::string delta = "0";  // of all runs
  std::string majority_class;
  std::vector<double> baseline;  // the measure of the majority's class or the mean
  std::vector<CurveSeries> series;

  std::string BaselineName() const;  // "always answering no"
};

// One object for each series and epsilon, as --json prints them.
std::vector<nlohmann::ordered_json> CurveLines(const Curve& curve);

// All of it, as curve.json has it and common/report/pages.h takes it.
nlohmann::ordered_json CurveJson(const Curve& curve);

// What each series buys, step by step: "auto: ε = 0.5 buys 0.031 over always answering no; ε = 2
// buys 0.004 more; without privacy 0.012 more."
std::vector<std::string> CurveSentences(const Curve& curve);

// For a terminal: a row for each epsilon, a column for each series.
std::string CurveTable(const Curve& curve);

}  // namespace coppice::curves

#endif  // COPPICE_SERVER_CURVES_CURVE_H_
