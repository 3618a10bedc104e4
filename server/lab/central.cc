#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/schema_file.h"
#include "server/lab/commands.h"
#include "server/lab/public_only.h"
#include "server/lab/report.h"
#include "server/lab/scores.h"
#include "server/lab/show_repetitions.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/curves/repetitions.h"
#include "server/trainers/registry.h"

namespace coppice::lab {
namespace {

nlohmann::ordered_json ReportOf(const CentralFlags& flags, const Schema& schema,
                                const curves::TrainedScores& scores) {
  const bool regression = schema.target().has_value();
  nlohmann::ordered_json report;
  if (regression) {
    AddNumberScores(scores.numbers, report);
  } else {
    AddClassScores(scores.classes, schema.classes(), report);
  }
  report["standard_error"] =
      curves::Summarize(regression ? scores.numbers.rmse : scores.classes.accuracy)
          .standard_error();
  report["algorithm"] = flags.algorithm;
  report["epsilon"] = flags.epsilon;
  if (flags.delta != "0") report["delta"] = flags.delta;
  report["epsilon_spent"] = scores.epsilon_spent;
  if (!flags.public_source.empty()) {
    report["public"] = flags.public_source;
    // A share is of other rows in each repetition.
    double share = 0;
    if (!SimpleAtod(flags.public_source, &share)) {
      report["public_rows_sha256"] = scores.public_rows_sha256;
    }
  }
  if (flags.public_rows > 0) report["public_rows"] = flags.public_rows;
  report["settings"] = StrJoin(flags.settings, " ");
  report["trees"] = scores.trees;
  report["leaves"] = curves::Summarize(scores.leaves).mean;
  const curves::Summary questions = curves::Summarize(scores.questions);
  if (questions.mean > 0) {
    report["questions"] = questions.mean;
    report["questions_std"] = questions.deviation;
  }
  report["fit_seconds"] = curves::Summarize(scores.fit_seconds).mean;
  report["fit_cpu_seconds"] = curves::Summarize(scores.fit_cpu_seconds).mean;
  if (flags.per_repetition && flags.json) {
    if (regression) {
      AddRepetitions(scores.numbers, report);
    } else {
      AddRepetitions(scores.classes, report);
    }
  }
  return report;
}

}  // namespace

void AddCentralFlags(const Command& command, CentralFlags& flags) {
  AddFileFlags(command, flags);
  command.Add("--algorithm", flags.algorithm, StrCat("one of ", TrainerNames()))
      .Required()
      .Check([](const std::string& name) {
        return std::string(trainers::FindTrainer(name).status().message());
      });
  command.Add("--epsilon", flags.epsilon, "privacy of the whole model, or inf for none")
      .Required()
      .Check([](const std::string& text) {
        return std::string(ParseEpsilonFlag(text).status().message());
      });
  AddRunFlags(command, flags);
  const Flag file =
      command.Add("--public", flags.public_source,
                  "start from public rows: a file of them, or the share of the rows to train on "
                  "that is public instead of private");
  command
      .Add("--public-rows", flags.public_rows,
           "the same: how many of the rows to train on are public instead of private")
      .Positive()
      .Excludes(file);
  command.AddSwitch("--votes", flags.votes,
                    "also show the first model as a table of votes, if it is one (lazybb)");
  command.AddSwitch("--per-repetition", flags.per_repetition,
                    "with --json: also the scores of every repetition");
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status RunCentral(const CentralFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer,
                           trainers::FindTrainer(flags.algorithm));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> epsilon, ParseEpsilonFlag(flags.epsilon));
  COPPICE_ASSIGN_OR_RETURN(const trainers::TrainOptions options,
                           TrainOptionsOf(*trainer, flags, epsilon));
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile file, ReadSchema(flags.schema_file));
  const Schema& schema = *file.schema;
  COPPICE_RETURN_IF_ERROR(trainer->Plan(schema, options).status());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                           trainer->Warnings(schema, options));
  for (const std::string& warning : warnings) std::cerr << "warning: " << warning << "\n";
  COPPICE_ASSIGN_OR_RETURN(const RowSource rows, ResolveTableRows(flags));
  COPPICE_ASSIGN_OR_RETURN(
      const curves::TrainedScores scores,
      curves::TrainAndScore(*trainer, options, SplitsOf(rows), RunsOf(flags),
                            [&](uint32_t finished) { ShowRepetitions(finished, flags.repeats); }));
  nlohmann::ordered_json report = ReportOf(flags, schema, scores);
  if (flags.public_rows > 0 || !flags.public_source.empty()) {
    COPPICE_ASSIGN_OR_RETURN(report["public_only"], ScorePublicOnly(rows, RunsOf(flags)));
  }
  if (flags.votes && flags.json) report["votes"] = scores.votes;
  if (flags.votes && !flags.json) std::cout << scores.votes << "\n";
  std::cout << (flags.json ? report.dump() + "\n" : ReportText(report)) << std::flush;
  if (!std::cout) return UnavailableError("the result could not be written to stdout");
  return OkStatus();
}

}  // namespace coppice::lab
