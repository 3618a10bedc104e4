#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/evaluation/class_evaluation.h"
#include "common/ldp/local_mechanism.h"
#include "server/lab/grid.h"
#include "server/lab/report.h"
#include "server/lab/show_repetitions.h"
#include "server/research/commands.h"
#include "server/research/method.h"
#include "server/trainers/curves/repetitions.h"

namespace coppice::research {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNoRelease[] =
    "no release: a reference for comparison, and an accuracy on private rows is itself a release";

ClassScores Evaluate(const Answers& answers, const Table& test) {
  ClassEvaluation evaluation(answers.classes);
  for (size_t i = 0; i < test.num_rows(); ++i) {
    const absl::Span<const double> p = answers.of(i);
    const auto label = std::distance(p.begin(), std::max_element(p.begin(), p.end()));
    evaluation.Add(static_cast<uint32_t>(label), p, test.label(i));
  }
  return evaluation.Scores();
}

StatusOr<std::optional<Budget>> EpsilonOf(const RunFlags& flags) {
  if (flags.epsilon.empty()) return std::optional<Budget>();
  const StatusOr<Budget> epsilon = Budget::Parse(flags.epsilon);
  if (!epsilon.ok() || epsilon->nanos() < kMinEpsilonNanos || epsilon->nanos() > kMaxEpsilonNanos) {
    return InvalidArgumentError(
        StrCat("--epsilon ", flags.epsilon, ": must be a number from 0.01 to 1000"));
  }
  return std::optional<Budget>(*epsilon);
}

StatusOr<std::vector<double>> SettingsOf(const RunFlags& flags, const Method& method,
                                         const Schema& schema) {
  const MethodInfo& info = method.info();
  if (!flags.settings.empty()) return flags.settings;
  if (!flags.grid || info.paper_settings.empty()) return std::vector<double>{info.default_setting};
  std::vector<double> settings;
  for (const double setting : info.paper_settings) {
    if (method.Fits(schema, setting)) settings.push_back(setting);
  }
  if (!settings.empty()) return settings;
  return InvalidArgumentError(
      StrCat("no ", info.setting, " of the paper's can be run on these features"));
}

// Makes an empty result, with one grid cell of the lab per setting.
lab::RunResult EmptyResult(size_t settings, uint32_t repeats) {
  lab::RunResult result;
  result.cells.resize(settings);
  for (lab::GridCell& cell : result.cells) {
    cell.scores.Resize(repeats);
    cell.fit_seconds.resize(repeats);
    cell.fit_cpu_seconds.resize(repeats);
  }
  return result;
}

// Draws the seeds as coppice-lab local does, so that the rows are the same.
StatusOr<lab::RunResult> RunMethod(const Method& method, const lab::RowSource& source,
                                   const std::vector<double>& settings,
                                   const std::optional<Budget>& epsilon, const RunFlags& flags) {
  lab::RunResult result = EmptyResult(settings.size(), flags.rows.repeats);
  const auto run = [&](uint32_t repetition, PrivateRandom& noise) -> Status {
    PublicRandom seeds(flags.rows.seed, repetition);
    const lab::LabRows rows = source(seeds.Next());
    PublicRandom public_random(seeds.Next());
    if (repetition == 0) result.classes = rows.test_rows->schema().classes();
    for (size_t s = 0; s < settings.size(); ++s) {
      const curves::Stopwatch fitting;
      COPPICE_ASSIGN_OR_RETURN(
          const Answers answers,
          method.Fit(rows, {.epsilon = epsilon, .setting = settings[s]}, public_random, noise));
      result.cells[s].fit_seconds[repetition] = fitting.clock_seconds();
      result.cells[s].fit_cpu_seconds[repetition] = fitting.cpu_seconds();
      result.cells[s].scores.Set(repetition, Evaluate(answers, *rows.test_rows));
    }
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(curves::RunRepetitions(
      flags.rows.repeats, flags.rows.threads, run,
      [&](uint32_t finished) { lab::ShowRepetitions(finished, flags.rows.repeats); }));
  return result;
}

Json SummaryJson(const std::vector<double>& values) {
  const curves::Summary summary = curves::Summarize(values);
  return {{"mean", summary.mean}, {"std", summary.deviation}, {"n", summary.n}};
}

void AddGuarantee(const MethodInfo& info, const std::optional<Budget>& epsilon, Json& report) {
  report["method"] = info.name;
  report["protects"] = info.protects;
  report["epsilon"] =
      info.is_private() && epsilon.has_value() ? Json(epsilon->epsilon()) : Json("none");
  report["guarantee"] = info.guarantee;
  if (!info.reason.empty()) report["reason"] = info.reason;
  if (!info.neighbours.empty()) report["neighbours"] = info.neighbours;
  report["sampler"] = info.sampler;
  report["release"] = kNoRelease;
}

Json Report(const Method& method, const std::vector<double>& settings,
            const std::optional<Budget>& epsilon, const lab::RunResult& result) {
  const lab::GridCell& best = lab::BestCell(result);
  Json report;
  lab::AddClassScores(best.scores, result.classes, report);
  report["standard_error"] = curves::Summarize(best.scores.accuracy).standard_error();
  report["auc_standard_error"] = curves::Summarize(best.scores.auc).standard_error();
  if (settings.size() > 1) {
    report["tuned_on_test"] = true;
    report["grid_cells"] = settings.size();
    if (best.scores.accuracy.size() > 1) {
      report["accuracy_split_half"] = SummaryJson(lab::SplitHalfAccuracies(result));
    }
  }
  AddGuarantee(method.info(), epsilon, report);
  if (!method.info().setting.empty()) {
    report["setting"] = method.info().setting;
    report["value"] = settings[static_cast<size_t>(&best - result.cells.data())];
  }
  report["fit_seconds"] = curves::Summarize(best.fit_seconds).mean;
  report["fit_cpu_seconds"] = curves::Summarize(best.fit_cpu_seconds).mean;
  return report;
}

Status Print(const std::string& text) {
  std::cout << text << std::flush;
  if (!std::cout) return UnavailableError("the result could not be written to stdout");
  return OkStatus();
}

Status Print(const Json& report, bool json) {
  return Print(json ? report.dump() + "\n" : lab::ReportText(report));
}

// A line for each, which begins with the name that --method takes.
Status PrintMethods() {
  std::string text;
  for (const Method* method : AllMethods()) {
    const MethodInfo& info = method->info();
    StrAppend(&text, absl::StrFormat("%-12s", info.name), "  ", info.summary, "; protects ",
              info.protects, ", ", info.guarantee,
              info.reason.empty() ? "" : StrCat(" (", info.reason, ")"), "; ", info.sampler, "\n");
  }
  return Print(text);
}

std::string NamesOfMethods() {
  return StrJoin(AllMethods(), ", ", [](std::string* out, const Method* method) {
    StrAppend(out, method->info().name);
  });
}

}  // namespace

void AddRunFlags(const Command& command, RunFlags& flags) {
  command.Add("--method", flags.method, StrCat("one of ", NamesOfMethods()))
      .Required()
      .Check(
          [](const std::string& name) { return std::string(FindMethod(name).status().message()); });
  lab::AddLocalRowFlags(command, flags.rows);
  command.Add("--epsilon", flags.epsilon,
              "0.01 to 1000, of one report or of all labels; for methods that protect something");
  command
      .Add("--setting", flags.settings,
           "value of what the method tunes; coppice-research methods says what that is")
      .SplitAt(',');
  command.AddSwitch("--grid", flags.grid,
                    "search the paper's settings, or those given, for the best mean on the test "
                    "rows");
  command.Add("--repeats", flags.rows.repeats, "repetitions").InRange(1u, 1'000'000u).ShowDefault();
  command.Add("--threads", flags.rows.threads, "repetitions at a time")
      .InRange(1u, 256u)
      .ShowDefault();
  command
      .Add("--seed", flags.rows.seed,
           "seed seed of rows, splits and public draws, as in coppice-lab local; never of noise")
      .ShowDefault();
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status CheckRunFlags(const RunFlags& flags) {
  COPPICE_RETURN_IF_ERROR(lab::CheckLocalRowFlags(flags.rows));
  if (flags.rows.public_file == lab::kNone) {
    return InvalidArgumentError("--public none: every method here needs public rows");
  }
  COPPICE_ASSIGN_OR_RETURN(const Method* method, FindMethod(flags.method));
  const MethodInfo& info = method->info();
  if (info.is_private() && flags.epsilon.empty()) {
    return InvalidArgumentError(StrCat("--epsilon: ", info.name, " needs one"));
  }
  COPPICE_RETURN_IF_ERROR(EpsilonOf(flags).status());
  if (flags.settings.size() > 1 && !flags.grid) {
    return InvalidArgumentError("--setting takes several values only with --grid");
  }
  if (!flags.settings.empty() && info.setting.empty()) {
    return InvalidArgumentError(StrCat("--setting: ", info.name, " tunes nothing"));
  }
  for (const double setting : flags.settings) {
    if (!std::isfinite(setting) || setting < 0 ||
        (info.whole_settings && setting != std::floor(setting))) {
      return InvalidArgumentError(
          StrCat("--setting ", setting, ": ", info.setting, " must be a whole number, 0 or more"));
    }
  }
  return OkStatus();
}

Status Run(const RunFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Method* method, FindMethod(flags.method));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> epsilon, EpsilonOf(flags));
  COPPICE_ASSIGN_OR_RETURN(const lab::RowSource source,
                           lab::ResolveLocalRows(flags.rows, [](const std::string& note) {
                             std::cerr << note << "\n";
                           }));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<double> settings,
                           SettingsOf(flags, *method, source(0).test_rows->schema()));
  COPPICE_ASSIGN_OR_RETURN(const lab::RunResult result,
                           RunMethod(*method, source, settings, epsilon, flags));
  return Print(Report(*method, settings, epsilon, result), flags.json);
}

void AddMethodsFlags(const Command& command, MethodsFlags& flags) {
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status ListMethods(const MethodsFlags& flags) {
  if (!flags.json) return PrintMethods();
  Json methods = Json::object();
  for (const Method* method : AllMethods()) {
    const MethodInfo& info = method->info();
    methods[info.name] = {
        {"summary", info.summary},         {"source", info.source},
        {"protects", info.protects},       {"neighbours", info.neighbours},
        {"guarantee", info.guarantee},     {"reason", info.reason},
        {"sampler", info.sampler},         {"setting", info.setting},
        {"default", info.default_setting}, {"paper_settings", info.paper_settings}};
  }
  return Print(methods, /*json=*/true);
}

}  // namespace coppice::research
