// Measures what numbers of even cuts are worth to `auto` on one table: mean scores over random
// held-out tenths, the same for every number, with standard errors. Prints tab-separated fields,
// one line per number; "rule" is the product's own choice. docs/research/cuts.sh runs it.
//
//   cuts_bench --data FILE --schema FILE [--epsilon 1] [--delta 1e-6] [--repeats 40] [--seed 1]
//              [--cuts 0,15,31,63,127,255,511]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/privacy/openssl_random.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "server/trainers/boosting/boosting.h"

namespace coppice {
namespace {

struct Flags {
  std::string data, schema;
  std::string epsilon = "1";
  std::string delta = "0";
  uint32_t repeats = 40;
  uint64_t seed = 1;
  std::vector<uint32_t> cuts = {0, 15, 31, 63, 127, 255, 511};  // 0 is the rule
};

// The scores of one number of cuts, one per repetition.
using Values = std::vector<double>;
struct Scores {
  Values accuracy, auc, log_loss, rmse;
};

double Mean(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double StandardError(const Values& values) {
  double squares = 0;
  const double mean = Mean(values), n = static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n * (n - 1)));
}

struct TwoTables {
  Table train, test;
};

TwoTables Split(const Table& rows, uint64_t seed) {
  std::vector<size_t> order(rows.num_rows());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 engine(seed);
  std::shuffle(order.begin(), order.end(), engine);
  const size_t held_out = order.size() / 10;
  const auto all = absl::MakeConstSpan(order);
  return {.train = rows.Select(all.subspan(held_out)), .test = rows.Select(all.first(held_out))};
}

void Evaluate(const Model& model, const Table& test, Scores& scores) {
  Row row;
  if (const auto& target = test.schema().target()) {
    NumberEvaluation evaluation(target->min, target->max);
    for (size_t i = 0; i < test.num_rows(); ++i) {
      test.CopyRow(i, row);
      evaluation.Add(model.Predict(row).value, test.target(i));
    }
    scores.rmse.push_back(evaluation.Scores().rmse);
    return;
  }
  ClassEvaluation evaluation(test.schema().num_classes());
  for (size_t i = 0; i < test.num_rows(); ++i) {
    test.CopyRow(i, row);
    const Prediction prediction = model.Predict(row);
    evaluation.Add(prediction.label, prediction.probabilities, test.label(i));
  }
  const ClassScores classes = evaluation.Scores();
  scores.accuracy.push_back(classes.accuracy);
  if (classes.auc) scores.auc.push_back(*classes.auc);
  scores.log_loss.push_back(classes.log_loss);
}

void Print(const char* what, const Values& values) {
  if (values.size() > 1) std::printf("\t%s\t%.5f\t%.5f", what, Mean(values), StandardError(values));
}

Status Run(const Flags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema));
  COPPICE_ASSIGN_OR_RETURN(const TableFile file, ReadTable(flags.data, schema.schema));
  trainers::TrainOptions options;
  COPPICE_ASSIGN_OR_RETURN(options.epsilon, Budget::Parse(flags.epsilon));
  if (flags.delta != "0") {
    COPPICE_ASSIGN_OR_RETURN(options.delta_atto, ParseDelta(flags.delta));
  }
  OpenSslRandom random;
  std::vector<Scores> scores(flags.cuts.size());
  for (uint32_t repeat = 0; repeat < flags.repeats; ++repeat) {
    const TwoTables rows = Split(file.table, flags.seed + repeat);
    for (size_t i = 0; i < flags.cuts.size(); ++i) {
      const auto trainer = trainers::AutoWithCuts(flags.cuts[i]);
      COPPICE_ASSIGN_OR_RETURN(
          const Model model,
          trainer->Train(rows.train, options, random, [](double) { return OkStatus(); }));
      Evaluate(model, rows.test, scores[i]);
    }
  }
  for (size_t i = 0; i < flags.cuts.size(); ++i) {
    std::printf("%s", flags.cuts[i] == 0 ? "rule" : std::to_string(flags.cuts[i]).c_str());
    Print("accuracy", scores[i].accuracy);
    Print("auc", scores[i].auc);
    Print("log_loss", scores[i].log_loss);
    Print("rmse", scores[i].rmse);
    std::printf("\n");
  }
  return OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("What numbers of even cuts are worth to auto", "cuts_bench");
  app.add_option("--data", flags.data)->required();
  app.add_option("--schema", flags.schema)->required();
  app.add_option("--epsilon", flags.epsilon)->capture_default_str();
  app.add_option("--delta", flags.delta)->capture_default_str();
  app.add_option("--repeats", flags.repeats)->capture_default_str();
  app.add_option("--seed", flags.seed, "of the rows that are held out")->capture_default_str();
  app.add_option("--cuts", flags.cuts, "0 is the rule")->delimiter(',')->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Status status = Run(flags);
  if (status.ok()) return 0;
  std::cerr << status << "\n";
  return 1;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
