#include <algorithm>
#include <cmath>
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
  std::vector<double> accuracy, mse, rmse;  // one per repetition; of the task's kind
  std::vector<double> auc;                  // of two classes
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

double AccuracyOf(const Model& model, const Table& test) {
  size_t right = 0, labelled = 0;
  Row row;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    if (test.label(i) == kUnlabelled) continue;
    test.CopyRow(i, row);
    ++labelled;
    right += model.Predict(row).label == test.label(i) ? 1 : 0;
  }
  return labelled == 0 ? 0 : static_cast<double>(right) / static_cast<double>(labelled);
}

// How often a row of the second class is given more of it than one of the first, ties half: the
// area under the ROC curve, which says what a model knows of a class that it hardly ever answers.
// A half if there are no two such rows.
double AucOf(const Model& model, const Table& test) {
  std::vector<std::pair<double, uint32_t>> rows;  // probability of the second class, and the class
  Row row;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    if (test.label(i) == kUnlabelled) continue;
    test.CopyRow(i, row);
    rows.emplace_back(model.Predict(row).probabilities[1], test.label(i));
  }
  std::sort(rows.begin(), rows.end());
  double pairs = 0, firsts = 0, seconds = 0;
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    double tied_firsts = 0, tied_seconds = 0;
    for (; end < rows.size() && rows[end].first == rows[begin].first; ++end) {
      ++(rows[end].second == 1 ? tied_seconds : tied_firsts);
    }
    pairs += tied_seconds * (firsts + tied_firsts / 2);
    firsts += tied_firsts;
    seconds += tied_seconds;
  }
  return firsts > 0 && seconds > 0 ? pairs / (firsts * seconds) : 0.5;
}

double SquaredErrorOf(const Model& model, const Table& test) {
  double sum = 0;
  Row row;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    test.CopyRow(i, row);
    sum += std::pow(model.Predict(row).value - test.target(i), 2);
  }
  return sum / static_cast<double>(test.num_rows());
}

absl::StatusOr<Scores> TrainAndScore(const trainers::Trainer& trainer,
                                     const trainers::TrainOptions& options, const RowSource& source,
                                     const CentralFlags& flags) {
  Scores scores;
  for (auto* values :
       {&scores.accuracy, &scores.auc, &scores.mse, &scores.rmse, &scores.fit_seconds,
        &scores.fit_cpu_seconds, &scores.leaves, &scores.questions}) {
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
      scores.mse[repetition] = SquaredErrorOf(model, *rows.test_rows);
      scores.rmse[repetition] = std::sqrt(scores.mse[repetition]);
    } else {
      scores.accuracy[repetition] = AccuracyOf(model, *rows.test_rows);
      if (model.schema().num_classes() == 2) {
        scores.auc[repetition] = AucOf(model, *rows.test_rows);
      }
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
  const auto describe = [](const std::vector<double>& values) -> nlohmann::ordered_json {
    const Summary summary = Summarize(values);
    return {{"mean", summary.mean}, {"std", summary.deviation}, {"n", summary.n}};
  };
  nlohmann::ordered_json report;
  if (regression) {
    report["mse"] = describe(scores.mse);
    report["rmse"] = describe(scores.rmse);
  } else {
    report["accuracy"] = describe(scores.accuracy);
  }
  if (!regression && schema.num_classes() == 2) {
    report["auc"] = describe(scores.auc);
    report["auc_standard_error"] = Summarize(scores.auc).standard_error();
  }
  report["standard_error"] = Summarize(regression ? scores.rmse : scores.accuracy).standard_error();
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
