// The commands that need no rows: the cost of a mechanism, measured and computed.

#include <cmath>
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
#include "common/ldp/amplification.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/delta.h"
#include "server/lab/batch_bound.h"
#include "server/lab/commands.h"
#include "server/lab/measure_epsilon/audit.h"
#include "server/trainers/registry.h"

namespace coppice::lab {
namespace {

// With more outcomes, a million trials say too little about each.
constexpr uint32_t kMaxAuditCells = 8;

// The subject of an audit, and the epsilon and delta that it claims.
struct Audited {
  AuditSubject subject;
  Budget claimed;
  uint64_t delta = 0;
};

void PrintJson(const AuditFlags& flags, const Audited& audited, const AuditResult& result) {
  nlohmann::ordered_json json;
  const bool local = flags.algorithm.empty();
  json[local ? "mechanism" : "algorithm"] = local ? flags.mechanism : flags.algorithm;
  if (flags.reports > 0) {
    json["reports"] = flags.reports;
    json["epsilon0"] = Budget::Parse(flags.epsilon)->epsilon();
    json["delta"] = DeltaNumber(audited.delta);
  }
  json["epsilon_claimed"] = audited.claimed.epsilon();
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

// Describes the two inputs that the audit told apart.
std::string InputsText(const AuditFlags& flags, const AuditResult& result) {
  if (!flags.algorithm.empty()) return "Two neighbouring tables";
  if (flags.reports > 0) return "Two rows of one device, where all others have one known row,";
  const auto name = [&](uint32_t input) {
    return StrCat("(leaf ", input / flags.classes, ", class ", input % flags.classes, ")");
  };
  return StrCat("The rows ", name(result.likely_input), " and ", name(result.unlikely_input));
}

std::string DescribeClaimant(const AuditFlags& flags) {
  if (!flags.algorithm.empty()) return flags.algorithm;
  if (flags.reports == 0) return flags.mechanism;
  return absl::StrFormat("A batch of %d reports by %s of epsilon %s, tickets dealt at random,",
                         flags.reports, flags.mechanism, flags.epsilon);
}

void PrintText(const AuditFlags& flags, const Audited& audited, const AuditResult& result) {
  const std::string delta =
      audited.delta > 0 ? absl::StrFormat(", delta %g", DeltaNumber(audited.delta)) : "";
  std::cout << absl::StrFormat(
      "%s claims epsilon %s%s. It loses at least %.4f (%.0f %% of that), with confidence %g.\n"
      "%s are told apart by an event seen %d and %d times in %d trials each.\n",
      DescribeClaimant(flags), audited.claimed.ToString(), delta, result.epsilon_lower_bound,
      100 * result.epsilon_lower_bound / audited.claimed.epsilon(), result.confidence,
      InputsText(flags, result), result.likely_hits, result.unlikely_hits, result.tested);
}

StatusOr<std::unique_ptr<LocalMechanism>> AuditedMechanism(const AuditFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(flags.mechanism));
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(flags.epsilon));
  return MakeLocalMechanism(kind, epsilon, {.leaves = flags.leaves, .classes = flags.classes});
}

// Reports of such a mechanism show features or an id beside it, by which they can be told apart.
Status CheckShuffles(const LocalMechanism& mechanism) {
  if (!mechanism.window()) return OkStatus();
  return InvalidArgumentError(
      StrCat(MechanismName(mechanism.kind()),
             " is for reports that show features or an id, which shuffling does not hide; take "
             "another mechanism"));
}

// `mechanism` is the flags' mechanism; null if they name none.
StatusOr<Audited> ResolveAuditSubject(const AuditFlags& flags, const LocalMechanism* mechanism) {
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(flags.epsilon));
  if (mechanism == nullptr) {
    COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer,
                             trainers::FindTrainer(flags.algorithm));
    COPPICE_ASSIGN_OR_RETURN(AuditSubject subject, SubjectOf(*trainer, epsilon));
    return Audited{std::move(subject), epsilon};
  }
  if (flags.reports == 0) return Audited{SubjectOf(*mechanism), epsilon};
  COPPICE_RETURN_IF_ERROR(CheckShuffles(*mechanism));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, ShuffleDelta(flags.delta, flags.reports));
  COPPICE_ASSIGN_OR_RETURN(
      const Budget claimed,
      EpsilonBound({flags.reports, epsilon, mechanism->TwoSidedMass()}, delta));
  COPPICE_ASSIGN_OR_RETURN(AuditSubject subject, SubjectOfBatch(*mechanism, flags.reports));
  return Audited{std::move(subject), claimed, delta};
}

// ---- Amplification by shuffling

using Json = nlohmann::ordered_json;

constexpr char kGeneric[] = "generic";  // the bound for any mechanism
constexpr double kMillion = 1e6;

constexpr char kScopeOfBound[] =
    "The guarantee towards someone who sees which ticket got which answer but not which device had "
    "the\nticket, however many other rows they know. Towards someone who can tell, as the curator "
    "of a study\ncan, it is the local epsilon. Neighbours: any value of one device's row and any "
    "other.";

struct AmplifyRow {
  Budget local;
  Budget central;
  uint64_t reports = 0;
  uint64_t honest = 0;
  uint64_t delta = 0;
};

StatusOr<double> MassAt(const AmplifyFlags& flags, const Budget& local) {
  if (flags.mechanism == kGeneric) return MaxTwoSidedMass(local);
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(flags.mechanism));
  const Domain domain{.leaves = flags.leaves, .classes = flags.classes};
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMechanism> mechanism,
                           MakeLocalMechanism(kind, local, domain));
  COPPICE_RETURN_IF_ERROR(CheckShuffles(*mechanism));
  return mechanism->TwoSidedMass();
}

uint64_t HonestOf(const AmplifyFlags& flags, uint64_t reports) {
  return HonestReports(reports,
                       static_cast<uint32_t>(std::ceil(flags.dishonest * kMillion - 1e-6)));
}

StatusOr<AmplifyRow> CentralOf(const AmplifyFlags& flags, uint64_t reports, const Budget& local) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, ShuffleDelta(flags.delta, reports));
  COPPICE_ASSIGN_OR_RETURN(const double mass, MassAt(flags, local));
  const uint64_t honest = HonestOf(flags, reports);
  COPPICE_ASSIGN_OR_RETURN(const Budget central, PromisedEpsilon({honest, local, mass}, delta));
  return AmplifyRow{local, central, reports, honest, delta};
}

StatusOr<AmplifyRow> LocalOf(const AmplifyFlags& flags, uint64_t reports, const Budget& central) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, ShuffleDelta(flags.delta, reports));
  const uint64_t honest = HonestOf(flags, reports);
  COPPICE_ASSIGN_OR_RETURN(const Budget local,
                           LargestLocalEpsilon(honest, central, delta, [&](const Budget& tried) {
                             return MassAt(flags, tried);
                           }));
  return AmplifyRow{local, central, reports, honest, delta};
}

StatusOr<std::vector<AmplifyRow>> AllRows(const AmplifyFlags& flags) {
  std::vector<AmplifyRow> rows;
  for (const uint64_t reports : flags.reports) {
    if (!flags.central_epsilon.empty()) {
      COPPICE_ASSIGN_OR_RETURN(const Budget central, ParseShuffleEpsilon(flags.central_epsilon));
      COPPICE_ASSIGN_OR_RETURN(const AmplifyRow row, LocalOf(flags, reports, central));
      rows.push_back(row);
      continue;
    }
    for (const std::string& epsilon : flags.epsilons) {
      COPPICE_ASSIGN_OR_RETURN(const Budget local, ParseShuffleEpsilon(epsilon));
      COPPICE_ASSIGN_OR_RETURN(const AmplifyRow row, CentralOf(flags, reports, local));
      rows.push_back(row);
    }
  }
  return rows;
}

Json AmplifyJson(const AmplifyFlags& flags, const std::vector<AmplifyRow>& rows) {
  Json report = {{"mechanism", flags.mechanism}, {"dishonest", flags.dishonest}};
  if (flags.mechanism != kGeneric) {
    report["leaves"] = flags.leaves;
    report["classes"] = flags.classes;
  }
  report["rows"] = Json::array();
  for (const AmplifyRow& row : rows) {
    report["rows"].push_back({{"epsilon0", row.local.epsilon()},
                              {"reports", row.reports},
                              {"honest_reports", row.honest},
                              {"delta", DeltaNumber(row.delta)},
                              {"epsilon", row.central.epsilon()}});
  }
  // A single answer also stands at the top level.
  if (rows.size() == 1) {
    const Json only = report["rows"][0];
    report.update(only);
  }
  return report;
}

void PrintAmplifyText(const AmplifyFlags& flags, const std::vector<AmplifyRow>& rows) {
  const bool inverse = !flags.central_epsilon.empty();
  std::cout << absl::StrFormat(
      "Mechanism: %s. %g %% of the reports are assumed to be dishonest, and count for nothing.\n\n",
      flags.mechanism == kGeneric
          ? "any"
          : StrCat(flags.mechanism, ", ", flags.leaves, " leaves, ", flags.classes, " classes"),
      100 * flags.dishonest);
  std::cout << absl::StrFormat("%13s %12s %12s %8s  %15s\n",
                               inverse ? "largest local" : "local epsilon", "reports", "honest",
                               "delta", "central epsilon");
  for (const AmplifyRow& row : rows) {
    std::cout << absl::StrFormat("%13s %12d %12d %8g  %15s\n", row.local.ToString(), row.reports,
                                 row.honest, DeltaNumber(row.delta), row.central.ToString());
  }
  std::cout << "\n" << kScopeOfBound << "\n";
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
      .Add("--reports", flags.reports,
           "of a mechanism: audits what a curator sees of so many that came through a relay, all "
           "rows but one known")
      .InRange(2u, kMaxAuditedReports);
  command
      .Add("--delta", flags.delta,
           "with --reports: of what the batch claims, at most 1 / (10 reports) (default: 1e-8); "
           "events that are hardly rarer show more")
      .Check(
          [](const std::string& text) { return std::string(ParseDelta(text).status().message()); });
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

namespace {

Status CheckAuditedBatch(const AuditFlags& flags, const Budget& epsilon) {
  if (flags.reports == 0) {
    if (flags.delta.empty()) return OkStatus();
    return InvalidArgumentError("--delta needs --reports");
  }
  if (flags.mechanism.empty()) {
    return InvalidArgumentError("--reports needs --mechanism");
  }
  if (epsilon.nanos() > kMaxAmplifiedNanos) {
    return InvalidArgumentError("--epsilon: with --reports it must be from 0.01 to 20");
  }
  return ShuffleDelta(flags.delta, flags.reports).status();
}

}  // namespace

Status CheckAuditFlags(const AuditFlags& flags) {
  if (flags.leaves * flags.classes > kMaxAuditCells) {
    return InvalidArgumentError(StrCat("--leaves times --classes: at most ", kMaxAuditCells,
                                       ", or no event is frequent enough to say anything"));
  }
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(flags.epsilon));
  if (epsilon.nanos() < kMinEpsilonNanos || epsilon.nanos() > kMaxEpsilonNanos) {
    return InvalidArgumentError("--epsilon: must be from 0.01 to 1000");
  }
  return CheckAuditedBatch(flags, epsilon);
}

Status RunAuditCommand(const AuditFlags& flags) {
  std::unique_ptr<LocalMechanism> mechanism;
  if (flags.algorithm.empty()) {
    COPPICE_ASSIGN_OR_RETURN(mechanism, AuditedMechanism(flags));
  }
  COPPICE_ASSIGN_OR_RETURN(const Audited audited, ResolveAuditSubject(flags, mechanism.get()));
  AuditOptions options = flags.options;
  options.delta = DeltaNumber(audited.delta);
  COPPICE_ASSIGN_OR_RETURN(const AuditResult result, RunAudit(audited.subject, options));
  if (flags.json) {
    PrintJson(flags, audited, result);
  } else {
    PrintText(flags, audited, result);
  }
  if (result.epsilon_lower_bound <= audited.claimed.epsilon()) return OkStatus();
  return FailedPreconditionError(
      "it loses more than it claims: do not use this build, and report this");
}

void AddAmplifyFlags(const Command& command, AmplifyFlags& flags) {
  const auto check_epsilon = [](const std::string& text) {
    return std::string(ParseShuffleEpsilon(text).status().message());
  };
  const Command what = command.AddExactlyOneOf("what is given");
  what.Add("--local-epsilon,--epsilon0", flags.epsilons,
           "epsilon of one report, 0.01 to 20; several, separated by commas")
      .SplitAt(',')
      .Check(check_epsilon);
  what.Add("--epsilon", flags.central_epsilon,
           "target central epsilon: prints the largest local epsilon of one report")
      .Check(check_epsilon);
  command
      .Add("--reports", flags.reports,
           "number of reports dealt together; several, separated by commas")
      .Required()
      .SplitAt(',')
      .InRange(uint64_t{1}, kMaxShuffledReports);
  command
      .Add("--delta", flags.delta,
           "of the central epsilon, at most 1 / (10 reports) (default: 1e-8, or that)")
      .Check(
          [](const std::string& text) { return std::string(ParseDelta(text).status().message()); });
  command.Add("--mechanism", flags.mechanism, "a mechanism, or generic: any mechanism")
      .Check([](const std::string& name) {
        return name == kGeneric ? "" : std::string(ParseMechanism(name).status().message());
      })
      .ShowDefault();
  command
      .Add("--leaves", flags.leaves,
           "of a mechanism: leaves of the device's tree; one has the largest bound")
      .InRange(1u, uint32_t{kMaxCells})
      .ShowDefault();
  command.Add("--classes", flags.classes, "of a mechanism: classes of the label")
      .InRange(2u, uint32_t{kMaxCells})
      .ShowDefault();
  command.Add("--dishonest", flags.dishonest, "share of dishonest reports, which hide nobody")
      .InRange(0.0, 0.999999)
      .ShowDefault();
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status CheckAmplifyFlags(const AmplifyFlags& flags) {
  const AmplifyFlags given;
  if (flags.mechanism == kGeneric &&
      (flags.leaves != given.leaves || flags.classes != given.classes)) {
    return InvalidArgumentError("--leaves and --classes need --mechanism");
  }
  for (const uint64_t reports : flags.reports) {
    if (HonestOf(flags, reports) == 0) {
      return InvalidArgumentError(
          StrCat("--dishonest: of ", reports, " reports leaves no honest report; lower it"));
    }
    COPPICE_RETURN_IF_ERROR(ShuffleDelta(flags.delta, reports).status());
  }
  return OkStatus();
}

Status RunAmplify(const AmplifyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<AmplifyRow> rows, AllRows(flags));
  if (flags.json) {
    std::cout << AmplifyJson(flags, rows).dump() << "\n";
  } else {
    PrintAmplifyText(flags, rows);
  }
  if (!std::cout.flush()) {
    return UnavailableError("the bounds could not be written to stdout");
  }
  return OkStatus();
}

}  // namespace coppice::lab
