#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "server/lab/audit/audit.h"
#include "server/lab/commands.h"
#include "server/trainers/registry.h"

namespace coppice::lab {
namespace {

// More outcomes than this, and a million trials say little of each.
constexpr uint32_t kMaxAuditCells = 8;

void PrintJson(const AuditFlags& flags, const Budget& claimed, const AuditResult& result) {
  nlohmann::ordered_json json;
  const bool local = flags.algorithm.empty();
  json[local ? "mechanism" : "algorithm"] = local ? flags.mechanism : flags.algorithm;
  json["epsilon_claimed"] = claimed.epsilon();
  json["epsilon_lower_bound"] = result.epsilon_lower_bound;
  json["confidence"] = result.confidence;
  json["trials"] = result.trials;
  if (local) {
    json["leaves"] = flags.leaves;
    json["classes"] = flags.classes;
  }
  json["tested"] = result.tested;
  json["likely_hits"] = result.likely_hits;
  json["unlikely_hits"] = result.unlikely_hits;
  std::cout << json.dump() << "\n";
}

// What the audit told apart.
std::string InputsText(const AuditFlags& flags, const AuditResult& result) {
  if (!flags.algorithm.empty()) return "Two tables that are neighbours";
  const auto name = [&](uint32_t input) {
    return absl::StrCat("(leaf ", input / flags.classes, ", class ", input % flags.classes, ")");
  };
  return absl::StrCat("The rows ", name(result.likely_input), " and ", name(result.unlikely_input));
}

void PrintText(const AuditFlags& flags, const Budget& claimed, const AuditResult& result) {
  std::cout << absl::StrFormat(
      "%s claims epsilon %s. It loses at least %.4f (%.0f %% of that), with confidence %g.\n"
      "%s are told apart by an event seen %d and %d times in %d trials each.\n",
      flags.algorithm.empty() ? flags.mechanism : flags.algorithm, claimed.ToString(),
      result.epsilon_lower_bound, 100 * result.epsilon_lower_bound / claimed.epsilon(),
      result.confidence, InputsText(flags, result), result.likely_hits, result.unlikely_hits,
      result.tested);
}

absl::StatusOr<AuditResult> AuditMechanism(const AuditFlags& flags, const Budget& claimed) {
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(flags.mechanism));
  const Domain domain{.leaves = flags.leaves, .classes = flags.classes};
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMechanism> mechanism,
                           MakeLocalMechanism(kind, claimed, domain));
  return RunAudit(SubjectOf(*mechanism), flags.options);
}

absl::StatusOr<AuditResult> AuditAlgorithm(const AuditFlags& flags, const Budget& claimed) {
  COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer,
                           trainers::FindTrainer(flags.algorithm));
  COPPICE_ASSIGN_OR_RETURN(const AuditSubject subject, SubjectOf(*trainer, claimed));
  return RunAudit(subject, flags.options);
}

}  // namespace

void AddAuditFlags(const Command& command, AuditFlags& flags) {
  const Command what = command.AddExactlyOneOf("what to audit");
  what.Add("--mechanism", flags.mechanism, "a local mechanism").Check([](const std::string& name) {
    return std::string(ParseMechanism(name).status().message());
  });
  what.Add("--algorithm", flags.algorithm,
           "a central trainer, with one small tree on two tables of a few rows")
      .Check([](const std::string& name) {
        return std::string(trainers::FindTrainer(name).status().message());
      });
  command
      .Add("--epsilon", flags.epsilon,
           "what one report, or one model, claims to cost, 0.01 to 1000")
      .Required()
      .Check([](const std::string& text) {
        return std::string(Budget::Parse(text).status().message());
      });
  command.Add("--leaves", flags.leaves, "leaves of the device's tree")
      .InRange(1u, kMaxAuditCells)
      .ShowDefault();
  command.Add("--classes", flags.classes, "classes of its label")
      .InRange(2u, kMaxAuditCells)
      .ShowDefault();
  command
      .Add("--trials", flags.options.trials,
           "of each of two rows; more bring the bound nearer to the truth")
      .InRange(uint64_t{1000}, uint64_t{1'000'000'000})
      .ShowDefault();
  command
      .Add("--confidence", flags.options.confidence, "that the true epsilon is not below the bound")
      .InRange(0.5, 0.999999999)
      .ShowDefault();
  command.Add("--threads", flags.options.threads, "trials at a time")
      .InRange(1u, 256u)
      .ShowDefault();
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

absl::Status CheckAuditFlags(const AuditFlags& flags) {
  if (flags.leaves * flags.classes > kMaxAuditCells) {
    return absl::InvalidArgumentError(
        absl::StrCat("--leaves times --classes: at most ", kMaxAuditCells,
                     ", or no event is frequent enough to say anything"));
  }
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(flags.epsilon));
  if (epsilon.nanos() < kMinEpsilonNanos || epsilon.nanos() > kMaxEpsilonNanos) {
    return absl::InvalidArgumentError("--epsilon: must be from 0.01 to 1000");
  }
  return absl::OkStatus();
}

absl::Status RunAuditCommand(const AuditFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Budget claimed, Budget::Parse(flags.epsilon));
  COPPICE_ASSIGN_OR_RETURN(const AuditResult result, flags.algorithm.empty()
                                                         ? AuditMechanism(flags, claimed)
                                                         : AuditAlgorithm(flags, claimed));
  if (flags.json) {
    PrintJson(flags, claimed, result);
  } else {
    PrintText(flags, claimed, result);
  }
  if (result.epsilon_lower_bound <= claimed.epsilon()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "it loses more than it claims: do not use this build, and report it");
}

}  // namespace coppice::lab
