#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/data/read_table.h"
#include "common/data/schema_file.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/privacy/delta.h"
#include "common/tree/votes.h"
#include "server/curator/partition/public_random.h"
#include "server/lab/commands.h"
#include "server/lab/epsilon_flag.h"
#include "server/lab/repetitions.h"
#include "server/lab/report.h"
#include "server/lab/rows.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"

namespace coppice::lab {
namespace {

struct Scores {
  RepeatedClassScores classes;  // or
  RepeatedNumberScores numbers;
  std::vector<double> fit_seconds, fit_cpu_seconds, leaves;
  std::vector<double> questions;  // of models that are votes on questions
  std::string votes;              // of the first
  double epsilon_spent = 0;
  size_t trees = 0;
};

absl::StatusOr<trainers::Settings> ParseSettings(const std::vector<std::string>& texts) {
  trainers::Settings settings;
  for (const std::string& text : texts) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (parts.first.empty() || !settings.emplace(parts).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", text, ": must be name=value, each name once"));
    }
  }
  return settings;
}

absl::StatusOr<std::shared_ptr<const Table>> ReadRows(const std::string& path,
                                                      const SchemaFile& schema,
                                                      const CentralFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(TableFile file, ReadTable(path, schema.schema,
                                                     {.strict = flags.strict,
                                                      .allow_unlabelled = flags.unlabelled,
                                                      .format = schema.format}));
  const std::string notes = file.notes.Summary();
  if (!notes.empty()) std::cerr << path << ": " << notes << "\n";
  return std::make_shared<const Table>(std::move(file.table));
}

absl::StatusOr<RowSource> ResolveRows(const CentralFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema_file));
  COPPICE_ASSIGN_OR_RETURN(const auto rows, ReadRows(flags.data_file, schema, flags));
  if (flags.test_file.empty()) return HoldOut(nullptr, rows, flags.holdout);
  COPPICE_ASSIGN_OR_RETURN(const auto test, ReadRows(flags.test_file, schema, flags));
  return FixedRows({.public_rows = nullptr, .private_rows = rows, .test_rows = test});
}

ClassScores EvaluateClasses(const Model& model, const Table& test) {
  ClassEvaluation evaluation(model.schema().num_classes());
  Row row;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    if (test.label(i) == kUnlabelled) continue;
    test.CopyRow(i, row);
    const Prediction prediction = model.Predict(row);
    evaluation.Add(prediction.label, prediction.probabilities, test.label(i));
  }
  return evaluation.Scores();
}

NumberScores EvaluateNumbers(const Model& model, const Table& test) {
  const Target& target = *model.schema().target();
  NumberEvaluation evaluation(target.min, target.max);
  Row row;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    test.CopyRow(i, row);
    evaluation.Add(model.Predict(row).value, test.target(i));
  }
  return evaluation.Scores();
}

absl::StatusOr<Scores> TrainAndScore(const trainers::Trainer& trainer,
                                     const trainers::TrainOptions& options, const RowSource& source,
                                     const CentralFlags& flags) {
  Scores scores;
  scores.classes.Resize(flags.repeats);
  scores.numbers.Resize(flags.repeats);
  for (auto* values :
       {&scores.fit_seconds, &scores.fit_cpu_seconds, &scores.leaves, &scores.questions}) {
    values->resize(flags.repeats);
  }
  const auto run = [&](uint32_t repetition, PrivateRandom& noise) -> absl::Status {
    curator::PublicRandom seeds(flags.seed, repetition);
    const LabRows rows = source(seeds.Next());
    const Stopwatch fitting;
    COPPICE_ASSIGN_OR_RETURN(
        const Model model,
        trainer.Train(*rows.private_rows, options, noise, [](double) { return absl::OkStatus(); }));
    scores.fit_seconds[repetition] = fitting.clock_seconds();
    scores.fit_cpu_seconds[repetition] = fitting.cpu_seconds();
    double leaves = 0;
    for (const Tree& tree : model.forest()) leaves += tree.num_leaves();
    scores.leaves[repetition] = leaves;
    const absl::StatusOr<std::vector<Vote>> votes = VotesOf(model);
    scores.questions[repetition] = votes.ok() ? static_cast<double>(votes->size()) : 0;
    if (model.schema().target()) {
      scores.numbers.Set(repetition, EvaluateNumbers(model, *rows.test_rows));
    } else {
      scores.classes.Set(repetition, EvaluateClasses(model, *rows.test_rows));
    }
    if (repetition == 0) {
      scores.epsilon_spent = static_cast<double>(model.certificate().epsilon_nanos) / 1e9;
      scores.trees = model.forest().size();
    }
    if (repetition == 0 && flags.votes) {
      COPPICE_ASSIGN_OR_RETURN(scores.votes, RenderVotes(model));
    }
    return absl::OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(RunRepetitions(flags.repeats, flags.threads, run, [&](uint32_t finished) {
    ShowRepetitions(finished, flags.repeats);
  }));
  return scores;
}

nlohmann::ordered_json ReportOf(const CentralFlags& flags, const Schema& schema,
                                const Scores& scores) {
  const bool regression = schema.target().has_value();
  nlohmann::ordered_json report;
  if (regression) {
    AddNumberScores(scores.numbers, report);
  } else {
    AddClassScores(scores.classes, schema.classes(), report);
  }
  report["standard_error"] =
      Summarize(regression ? scores.numbers.rmse : scores.classes.accuracy).standard_error();
  report["algorithm"] = flags.algorithm;
  report["epsilon"] = flags.epsilon;
  if (flags.delta != "0") report["delta"] = flags.delta;
  report["epsilon_spent"] = scores.epsilon_spent;
  report["settings"] = absl::StrJoin(flags.settings, " ");
  report["trees"] = scores.trees;
  report["leaves"] = Summarize(scores.leaves).mean;
  const Summary questions = Summarize(scores.questions);
  if (questions.mean > 0) {
    report["questions"] = questions.mean;
    report["questions_std"] = questions.deviation;
  }
  report["fit_seconds"] = Summarize(scores.fit_seconds).mean;
  report["fit_cpu_seconds"] = Summarize(scores.fit_cpu_seconds).mean;
  return report;
}

}  // namespace

void AddCentralFlags(const Command& command, CentralFlags& flags) {
  command.Add("--data", flags.data_file, "rows to train on (CSV, LIBSVM)").Required();
  command.Add("--schema", flags.schema_file, "schema of all files (JSON)").Required();
  command
      .Add("--algorithm", flags.algorithm,
           absl::StrCat("one of ", absl::StrJoin(trainers::AllTrainers(), ", ",
                                                 [](std::string* out, const trainers::Trainer* t) {
                                                   absl::StrAppend(out, t->info().name);
                                                 })))
      .Required()
      .Check([](const std::string& name) {
        return std::string(trainers::FindTrainer(name).status().message());
      });
  command.Add("--epsilon", flags.epsilon, "privacy of the whole model, or inf for none")
      .Required()
      .Check([](const std::string& text) {
        return std::string(ParseEpsilonFlag(text).status().message());
      });
  command
      .Add("--delta", flags.delta,
           "the same for delta, of algorithms that can use one; 0: pure epsilon-DP")
      .Check(
          [](const std::string& text) { return std::string(ParseDelta(text).status().message()); })
      .ShowDefault();
  command.Add("--set", flags.settings,
              "name=value, a parameter of the algorithm; a wrong name lists those there are, and "
              "coppice train algorithms describes them");
  const Flag test = command.Add("--test", flags.test_file, "rows to score on");
  command.Add("--holdout", flags.holdout, "share of the rows to score on instead")
      .InRange(0.0, 1.0)
      .Excludes(test)
      .ShowDefault();
  command.AddSwitch("--strict", flags.strict, "refuse values outside the schema");
  command.AddSwitch("--unlabelled", flags.unlabelled, "an empty label is a row without one");
  command.Add("--repeats", flags.repeats, "repetitions").InRange(1u, 1'000'000u).ShowDefault();
  command.Add("--threads", flags.threads, "repetitions at a time").InRange(1u, 256u).ShowDefault();
  command.Add("--seed", flags.seed, "of how rows are split; never of noise or groups")
      .ShowDefault();
  command.AddSwitch("--votes", flags.votes,
                    "also show the first model as a table of votes, if it is one (lazybb)");
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

absl::Status RunCentral(const CentralFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer,
                           trainers::FindTrainer(flags.algorithm));
  trainers::TrainOptions options;
  COPPICE_ASSIGN_OR_RETURN(options.epsilon, ParseEpsilonFlag(flags.epsilon));
  COPPICE_ASSIGN_OR_RETURN(options.delta_atto, ParseDelta(flags.delta));
  if (options.delta_atto > 0 && !trainer->info().delta) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--delta: ", flags.algorithm, " is of pure epsilon-DP and takes none; leave it out"));
  }
  COPPICE_ASSIGN_OR_RETURN(options.settings, ParseSettings(flags.settings));
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile file, ReadSchema(flags.schema_file));
  const Schema& schema = *file.schema;
  COPPICE_RETURN_IF_ERROR(trainer->Plan(schema, options).status());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                           trainer->Warnings(schema, options));
  for (const std::string& warning : warnings) std::cerr << "warning: " << warning << "\n";
  COPPICE_ASSIGN_OR_RETURN(const RowSource rows, ResolveRows(flags));
  COPPICE_ASSIGN_OR_RETURN(const Scores scores, TrainAndScore(*trainer, options, rows, flags));
  nlohmann::ordered_json report = ReportOf(flags, schema, scores);
  if (flags.votes && flags.json) report["votes"] = scores.votes;
  if (flags.votes && !flags.json) std::cout << scores.votes << "\n";
  std::cout << (flags.json ? report.dump() + "\n" : ReportText(report)) << std::flush;
  if (!std::cout) return absl::UnavailableError("the result could not be written to stdout");
  return absl::OkStatus();
}

}  // namespace coppice::lab
