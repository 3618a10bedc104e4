#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/write_file.h"
#include "common/pages/pages.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "server/curator/estimation/planning/plan.h"
#include "server/curator/estimation/planning/plan_json.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/partition/from_schema.h"
#include "server/lab/batch_bound.h"
#include "server/lab/commands.h"
#include "server/lab/report.h"
#include "server/lab/rows.h"

namespace coppice::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kAutoMechanism[] = "auto";
constexpr char kAll[] = "all";

StatusOr<Budget> ParsePlanEpsilon(const std::string& text) {
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(text));
  if (epsilon.nanos() < kMinEpsilonNanos || epsilon.nanos() > kMaxStudyEpsilonNanos) {
    return InvalidArgumentError("must be from 0.01 to 20");
  }
  return epsilon;
}

// Returns the named mechanism, "the best for each epsilon" (unset), or all mechanisms.
std::vector<std::optional<MechanismKind>> MechanismsOf(const PlanFlags& flags) {
  if (flags.mechanism == kAutoMechanism) return {std::nullopt};
  if (flags.mechanism != kAll) return {*ParseMechanism(flags.mechanism)};
  std::vector<std::optional<MechanismKind>> kinds;
  for (const MechanismKind kind : AllMechanismKinds()) kinds.push_back(kind);
  return kinds;
}

// Plans every study asked for; leaves out mechanisms that cannot serve the forest.
StatusOr<std::vector<curator::PlannedStudy>> LookAround(const curator::Planner& planner,
                                                        const Schema& schema,
                                                        const PlanFlags& flags) {
  std::vector<curator::PlannedStudy> rows;
  Status refused;
  for (const std::optional<MechanismKind>& kind : MechanismsOf(flags)) {
    for (const std::string& text : flags.epsilons) {
      COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, ParsePlanEpsilon(text));
      const StatusOr<curator::MechanismCost> cost = planner.Cost(epsilon, kind, flags.max_payload);
      if (!cost.ok()) {
        refused.Update(cost.status());
        continue;
      }
      for (const uint64_t devices : flags.devices) {
        COPPICE_ASSIGN_OR_RETURN(curator::PlannedStudy study,
                                 curator::PlanStudy(planner, schema, epsilon, *cost, devices));
        rows.push_back(std::move(study));
      }
    }
  }
  if (rows.empty()) return refused;
  return rows;
}

// Returns the smallest of the rising values that reaches the wanted one, if any does.
template <typename Value, typename Reaches>
StatusOr<std::optional<Value>> FirstThat(const std::vector<Value>& rising, Reaches reaches) {
  for (const Value& value : rising) {
    COPPICE_ASSIGN_OR_RETURN(const bool reached, reaches(value));
    if (reached) return std::optional<Value>(value);
  }
  return std::optional<Value>();
}

std::vector<Budget> RisingEpsilons() {
  std::vector<Budget> epsilons;
  for (double epsilon = 0.1; epsilon < 17; epsilon *= std::sqrt(std::sqrt(2.0))) {
    epsilons.push_back(*Budget::FromEpsilon(epsilon));
  }
  return epsilons;
}

std::vector<uint64_t> RisingDevices() {
  std::vector<uint64_t> devices;
  for (uint64_t ten = 100; ten <= 100'000'000; ten *= 10) {
    for (const uint64_t step : {1, 2, 5}) devices.push_back(step * ten);
  }
  return devices;
}

// Finds the smallest epsilon for each number of devices, and the fewest devices for each epsilon,
// at which the expected accuracy reaches the wanted one.
StatusOr<Json> FindRequirements(const curator::Planner& planner, const PlanFlags& flags) {
  const auto kind = flags.mechanism == kAutoMechanism || flags.mechanism == kAll
                        ? std::optional<MechanismKind>()
                        : std::optional<MechanismKind>(*ParseMechanism(flags.mechanism));
  const auto reached = [&](const Budget& epsilon, uint64_t devices) -> StatusOr<bool> {
    const auto cost = planner.Cost(epsilon, kind, flags.max_payload);
    if (!cost.ok()) return false;  // no mechanism serves the forest at this epsilon
    COPPICE_ASSIGN_OR_RETURN(const curator::StudyForecast forecast,
                             planner.Forecast(static_cast<double>(devices), *cost));
    return forecast.accuracy.mean >= flags.accuracy;
  };
  Json rows = Json::array();
  for (const uint64_t devices : flags.devices) {
    COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> least,
                             FirstThat(RisingEpsilons(), [&](const Budget& epsilon) {
                               return reached(epsilon, devices);
                             }));
    rows.push_back({{"accuracy", flags.accuracy},
                    {"devices", devices},
                    {"least_epsilon", least ? Json(least->epsilon()) : Json(nullptr)}});
  }
  for (const std::string& text : flags.epsilons) {
    COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, ParsePlanEpsilon(text));
    COPPICE_ASSIGN_OR_RETURN(
        const std::optional<uint64_t> fewest,
        FirstThat(RisingDevices(), [&](uint64_t devices) { return reached(epsilon, devices); }));
    rows.push_back({{"accuracy", flags.accuracy},
                    {"epsilon", epsilon.epsilon()},
                    {"fewest_devices", fewest ? Json(*fewest) : Json(nullptr)}});
  }
  return rows;
}

void PrintBaseline(const curator::Interval& level, const std::vector<curator::PlannedStudy>& rows,
                   const curator::Baseline& baseline) {
  if (baseline.numbers) {
    std::cout << absl::StrFormat("Public labels alone: an error (RMSE) of %.4g (%.4g to %.4g)\n",
                                 level.mean, level.low, level.high)
              << absl::StrFormat("Always answering the mean, %s: %.4g\n", baseline.answer,
                                 baseline.score);
    return;
  }
  std::cout << absl::StrFormat("Public labels alone: %.3f (%.3f to %.3f)\n", level.mean, level.low,
                               level.high);
  const bool is_beaten =
      std::any_of(rows.begin(), rows.end(), [&](const curator::PlannedStudy& row) {
        return row.forecast.accuracy.mean > baseline.score;
      });
  std::cout << absl::StrFormat("Always answering %s: %.3f of the public rows%s\n",
                               Printable(baseline.answer), baseline.score,
                               is_beaten ? "" : "; none of these studies is expected to beat that");
}

void PrintText(const curator::Planner& planner, const std::vector<curator::PlannedStudy>& rows,
               const Json& takes, const std::optional<curator::Baseline>& baseline) {
  std::cout << absl::StrFormat("%d public rows, %d trees; they tell %.0f cells apart.\n",
                               curator::PublicRowsOf(planner), planner.forest().size(),
                               planner.effective_cells());
  if (baseline) PrintBaseline(planner.public_only(), rows, *baseline);
  std::cout << absl::StrFormat("\n%8s %10s  %-18s %6s %10s %10s %12s", "epsilon", "devices",
                               "mechanism", "bytes", "worth rows", "one liar", "readers' eps");
  const bool numbers = baseline && baseline->numbers;
  std::cout << (!baseline ? "\n"
                : numbers ? "  error, RMSE (90 %)      less than of public labels (90 %)\n"
                          : "  accuracy (90 %)         gain over public labels (90 %)\n");
  for (const curator::PlannedStudy& row : rows) {
    std::cout << absl::StrFormat(
        "%8s %10d  %-18s %6d %10.1f %10s %12s", row.epsilon.ToString(), row.devices,
        MechanismName(row.cost.kind), row.cost.payload_bytes, row.forecast.equivalent_rows,
        row.forecast.influence > 0 ? absl::StrFormat("%.4f", row.forecast.influence) : "-",
        row.readers.epsilon_nanos == 0 ? "-"
                                       : Budget::FromNanos(row.readers.epsilon_nanos)->ToString());
    const curator::Interval& level = numbers ? row.forecast.rmse : row.forecast.accuracy;
    const curator::Interval& gain = row.forecast.gain;
    if (numbers) {
      std::cout << absl::StrFormat("  %.4g (%.4g to %.4g)  %+.2g (%+.2g to %+.2g)", level.mean,
                                   level.low, level.high, gain.mean, gain.low, gain.high);
    } else if (baseline) {
      std::cout << absl::StrFormat("  %.3f (%.3f to %.3f)  %+.3f (%+.3f to %+.3f)", level.mean,
                                   level.low, level.high, gain.mean, gain.low, gain.high);
    }
    std::cout << "\n";
  }
  std::cout << "\nreaders' eps: towards people who see only models built after sealing, if 90 % of "
               "the devices are\nhonest and the curator keeps tickets and arrival times to itself; "
               "its delta is in --json.\n";
  std::cout << "\n" << curator::AdviceOn(planner, rows) << "\n";
  for (const Json& one : takes) std::cout << TakesText(one);
}

// Computed for the first study asked for; see Planner.
StatusOr<Json> WorthOfPublicFeatures(const curator::Planner& planner,
                                     const curator::PlannedStudy& row) {
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<curator::FeatureWorth> worths,
      planner.WorthOfPublicFeatures(static_cast<double>(row.devices), row.cost));
  return curator::WorthsJson(worths);
}

bool WithoutLabels(const PlanFlags& flags) {
  return flags.public_file == kNone || flags.public_labels == kNone;
}

StatusOr<Table> ReadPublicRows(const PlanFlags& flags, const SchemaFile& schema) {
  if (flags.public_file == kNone) return curator::RowsFromSchema(schema.schema, flags.seed);
  COPPICE_ASSIGN_OR_RETURN(TableFile file, ReadTable(flags.public_file, schema.schema,
                                                     {.strict = flags.strict,
                                                      .ignore_labels = WithoutLabels(flags),
                                                      .format = schema.format}));
  const std::string notes = file.notes.Summary();
  if (!notes.empty()) std::cerr << flags.public_file << ": " << notes << "\n";
  return std::move(file.table);
}

Status CheckNumberFlags(const PlanFlags& flags, const Schema& schema) {
  if (!schema.target().has_value()) {
    if (flags.rounding.empty()) return OkStatus();
    return InvalidArgumentError("--rounding is for numbers; the schema has classes");
  }
  if (flags.accuracy == 0 && flags.plot_file.empty() && flags.html_file.empty()) {
    return OkStatus();
  }
  return InvalidArgumentError(
      "--accuracy, --plot and --html are for classes: an error of numbers has no natural scale");
}

}  // namespace

void AddPlanFlags(const Command& command, PlanFlags& flags) {
  command
      .Add("--public", flags.public_file,
           "public rows (CSV, LIBSVM), or none: the schema's bounds alone")
      .Required();
  command.Add("--schema", flags.schema_file, "their schema (JSON)").Required();
  command
      .Add("--public-labels", flags.public_labels,
           "as_given, or none if they are missing or cannot be trusted")
      .OneOf({"as_given", kNone})
      .ShowDefault();
  command
      .Add("--rounding", flags.rounding,
           "LOW:HIGH, for numbers: the range within which devices round (default: as in coppice "
           "study create)")
      .Check([](const std::string& text) {
        return std::string(ParseNumberRange(text).status().message());
      });
  command.Add("--epsilon", flags.epsilons, "epsilon of one report; several, separated by commas")
      .SplitAt(',')
      .Check([](const std::string& text) {
        return std::string(ParsePlanEpsilon(text).status().message());
      })
      .ShowDefault();
  command.Add("--devices", flags.devices, "number of devices; several, separated by commas")
      .SplitAt(',')
      .InRange(uint64_t{1}, uint64_t{10'000'000'000})
      .ShowDefault();
  command.Add("--mechanism", flags.mechanism, "one, auto (the best for each epsilon) or all")
      .Check([](const std::string& name) {
        if (name == kAutoMechanism || name == kAll) return std::string();
        return std::string(ParseMechanism(name).status().message());
      })
      .ShowDefault();
  command.Add("--max-payload", flags.max_payload, "for auto: largest payload of a report, in bytes")
      .ForResearch();
  command
      .Add("--accuracy", flags.accuracy,
           "target: prints the smallest epsilon and the fewest devices that reach it")
      .InRange(0.0, 1.0);
  command.Add("--plot", flags.plot_file,
              "draw accuracy over epsilon into this SVG file (needs gnuplot)");
  command.Add("--html", flags.html_file, "write the plan as a page into this file, for people");
  command.AddSwitch("--force", flags.force, "replace the page if there is one");
  command.Add("--seed", flags.seed, "seed seed of partitions and of the simulation; public")
      .ShowDefault()
      .ForResearch();
  command.AddSwitch("--strict", flags.strict, "refuse values outside the schema");
  AddBatchFlags(command, flags);
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status CheckPlanFlags(const PlanFlags& flags) {
  if (WithoutLabels(flags) && (flags.accuracy > 0 || !flags.plot_file.empty())) {
    return InvalidArgumentError(
        "--accuracy and --plot need public labels: without them no accuracy can be foreseen");
  }
  return CheckBatchFlags(flags);
}

Status RunPlan(const PlanFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema_file));
  COPPICE_RETURN_IF_ERROR(CheckNumberFlags(flags, *schema.schema));
  COPPICE_RETURN_IF_ERROR(CheckBatchSchema(flags, *schema.schema));
  COPPICE_ASSIGN_OR_RETURN(const Table public_rows, ReadPublicRows(flags, schema));
  COPPICE_ASSIGN_OR_RETURN(const Budget first, ParsePlanEpsilon(flags.epsilons.front()));
  const curator::PartitionChoice partition =
      curator::ChoosePartition({.seed = flags.seed,
                                .use_labels = !WithoutLabels(flags),
                                .from_schema = flags.public_file == kNone});
  curator::Planner::Options options{.partition = partition.options,
                                    .expected_devices = static_cast<double>(flags.devices.front()),
                                    .seed = flags.seed};
  if (!flags.rounding.empty()) {
    COPPICE_ASSIGN_OR_RETURN(options.rounding, ParseNumberRange(flags.rounding));
  }
  COPPICE_ASSIGN_OR_RETURN(const curator::Planner planner,
                           curator::Planner::Create(public_rows, first, options));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<curator::PlannedStudy> rows,
                           LookAround(planner, *schema.schema, flags));
  Json takes = Json::array();
  if (flags.accuracy > 0) {
    COPPICE_ASSIGN_OR_RETURN(takes, FindRequirements(planner, flags));
  }
  std::optional<curator::Baseline> baseline;
  if (options.partition.use_labels) baseline = curator::BaselineAmong(public_rows);
  Json report = curator::PlanJson(planner, rows, baseline);
  if (!takes.empty()) report["takes"] = takes;
  COPPICE_ASSIGN_OR_RETURN(const Json worths, WorthOfPublicFeatures(planner, rows.front()));
  if (!worths.empty()) report["public_features"] = worths;
  COPPICE_ASSIGN_OR_RETURN(const Json batches, BatchJson(flags, planner, MechanismsOf(flags)));
  if (!batches.is_null()) report["relay"] = batches;
  if (!flags.plot_file.empty()) {
    COPPICE_RETURN_IF_ERROR(PlotPlan(report, flags.plot_file));
  }
  if (!flags.html_file.empty()) {
    COPPICE_RETURN_IF_ERROR(
        WriteFileAtomically(flags.html_file, report::PlanPage(report), {.replace = flags.force}));
  }
  if (flags.json) {
    std::cout << report.dump() << "\n";
  } else {
    PrintText(planner, rows, takes, baseline);
    for (const Json& worth : worths) std::cout << WorthText(worth, planner.predicts_numbers());
    std::cout << BatchText(batches);
  }
  if (!std::cout.flush()) {
    return UnavailableError("the plan could not be written to stdout");
  }
  return OkStatus();
}

}  // namespace coppice::lab
