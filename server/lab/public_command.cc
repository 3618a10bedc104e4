#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/predictor/fitted_predictor.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "server/lab/commands.h"
#include "server/lab/public_only.h"
#include "server/lab/report.h"

namespace coppice::lab {
namespace {

StatusOr<Table> ReadRowsOf(const std::string& path, const SchemaFile& schema, bool strict) {
  COPPICE_ASSIGN_OR_RETURN(
      TableFile file, ReadTable(path, schema.schema, {.strict = strict, .format = schema.format}));
  if (file.table.num_rows() == 0) return InvalidArgumentError(StrCat(path, ": has no rows"));
  return std::move(file.table);
}

void AddScoresOfClasses(const Table& rows, absl::Span<const double> predictions,
                        nlohmann::ordered_json& report) {
  const ClassScores scores = ScoresOfClasses(rows, predictions);
  report["accuracy"] = scores.accuracy;
  report["log_loss"] = scores.log_loss;
  report["calibration_error"] = scores.calibration_error;
  report["majority"] = scores.majority.share;
}

void AddScoresOfNumbers(const Table& rows, absl::Span<const double> predictions,
                        nlohmann::ordered_json& report) {
  const NumberScores scores = ScoresOfNumbers(rows, predictions);
  report["rmse"] = scores.rmse;
  report["mean_rmse"] = scores.mean.rmse;
}

nlohmann::ordered_json LearnersOf(const FittedPredictor& fitted) {
  nlohmann::ordered_json learners = nlohmann::ordered_json::array();
  for (const LearnerReport& learner : fitted.learners) {
    learners.push_back({{"name", std::string(learner.name)},
                        {"weight", learner.weight},
                        {"temperature", learner.temperature},
                        {"held_out_loss", learner.held_out_loss},
                        {"trees", learner.trees},
                        {"leaves", learner.leaves}});
  }
  return learners;
}

// A line for each row, with a probability for each class in the schema's order, or the number.
Status WritePredictions(const std::string& path, absl::Span<const double> predictions,
                        size_t columns) {
  std::string text;
  for (size_t i = 0; i < predictions.size(); ++i) {
    absl::StrAppendFormat(&text, "%.17g%c", predictions[i], (i + 1) % columns == 0 ? '\n' : ',');
  }
  return WriteFileAtomically(path, text, {.replace = true});
}

}  // namespace

void AddPublicFlags(const Command& command, PublicFlags& flags) {
  command.Add("--public", flags.public_file, "rows to learn from").Required().ExistingFile();
  command.Add("--test", flags.test_file, "rows to predict and to score").Required().ExistingFile();
  command.Add("--schema", flags.schema_file, "their schema").Required().ExistingFile();
  command.Add("--predictions", flags.predictions_file,
              "write a line for each row of --test: the classes' probabilities, or the number");
  command
      .Add("--max-model-bytes", flags.options.max_model_bytes,
           "size of the model; trees and leaves that help least are left out")
      .Positive()
      .ShowDefault();
  command.Add("--seed", flags.options.seed, "seed of bags, cuts and folds; public").ShowDefault();
  command.Add("--threads", flags.options.threads, "threads; they change nothing but the time")
      .InRange(1u, 1024u)
      .ShowDefault();
  command.AddSwitch("--strict", flags.strict, "refuse values outside the schema");
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status RunPublic(const PublicFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema_file));
  COPPICE_ASSIGN_OR_RETURN(const Table public_rows,
                           ReadRowsOf(flags.public_file, schema, flags.strict));
  COPPICE_ASSIGN_OR_RETURN(const Table test_rows,
                           ReadRowsOf(flags.test_file, schema, flags.strict));
  COPPICE_ASSIGN_OR_RETURN(const FittedPredictor fitted, FitPredictor(public_rows, flags.options));
  const std::vector<double> predictions = PredictionsOf(fitted.predictor, test_rows);
  if (!flags.predictions_file.empty()) {
    COPPICE_RETURN_IF_ERROR(
        WritePredictions(flags.predictions_file, predictions, fitted.predictor.columns()));
  }
  nlohmann::ordered_json report = {{"public_rows", public_rows.num_rows()},
                                   {"test_rows", test_rows.num_rows()}};
  if (fitted.predictor.predicts_number()) {
    AddScoresOfNumbers(test_rows, predictions, report);
  } else {
    AddScoresOfClasses(test_rows, predictions, report);
  }
  report["held_out_loss"] = fitted.held_out_loss;
  report["held_out_loss_of_any_size"] = fitted.unbounded_held_out_loss;
  report["model_bytes"] = fitted.predictor.model_bytes();
  if (flags.json) {
    report["learners"] = LearnersOf(fitted);
    std::cout << report.dump() << "\n";
  } else {
    std::cout << ReportText(report);
    for (const LearnerReport& learner : fitted.learners) {
      std::cout << absl::StrFormat("%s: weight %.3f, held-out loss %.4g, %d trees, %d leaves\n",
                                   learner.name, learner.weight, learner.held_out_loss,
                                   learner.trees, learner.leaves);
    }
  }
  if (!std::cout.flush()) return UnavailableError("the scores could not be written to stdout");
  return OkStatus();
}

}  // namespace coppice::lab
