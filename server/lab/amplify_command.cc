#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/amplification/amplification.h"
#include "common/base/status_macros.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/delta.h"
#include "server/lab/commands.h"

namespace coppice::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kGeneric[] = "generic";  // any mechanism
constexpr double kMillion = 1e6;

constexpr char kWhoIsMeant[] =
    "For whoever sees which ticket got which answer and cannot know which device had it, and "
    "however\nmany other rows they know. Whoever can tell, as the curator of a study can, has the "
    "local epsilon.\nNeighbours: any value of one device's row for any other.";

struct AmplifyRow {
  Budget local;
  Budget central;
  uint64_t reports = 0;
  uint64_t honest = 0;
  uint64_t delta = 0;
};

absl::StatusOr<double> MassAt(const AmplifyFlags& flags, const Budget& local) {
  if (flags.mechanism == kGeneric) return MaxTwoSidedMass(local);
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(flags.mechanism));
  const Domain domain{.leaves = flags.leaves, .classes = flags.classes};
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMechanism> mechanism,
                           MakeLocalMechanism(kind, local, domain));
  return mechanism->TwoSidedMass();
}

uint64_t HonestOf(const AmplifyFlags& flags, uint64_t reports) {
  return HonestReports(reports,
                       static_cast<uint32_t>(std::ceil(flags.dishonest * kMillion - 1e-6)));
}

absl::StatusOr<uint64_t> DeltaFor(const AmplifyFlags& flags, uint64_t reports) {
  if (flags.delta.empty()) return DefaultShuffleDelta(reports);
  return ParseDelta(flags.delta);
}

absl::StatusOr<Budget> ParseAmplifyEpsilon(const std::string& text) {
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(text));
  if (epsilon.nanos() < kMinEpsilonNanos || epsilon.nanos() > kMaxAmplifiedNanos) {
    return absl::InvalidArgumentError("must be from 0.01 to 20");
  }
  return epsilon;
}

absl::StatusOr<AmplifyRow> CentralOf(const AmplifyFlags& flags, uint64_t reports,
                                     const Budget& local) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, DeltaFor(flags, reports));
  COPPICE_ASSIGN_OR_RETURN(const double mass, MassAt(flags, local));
  const uint64_t honest = HonestOf(flags, reports);
  COPPICE_ASSIGN_OR_RETURN(const Budget central, EpsilonBound({honest, local, mass}, delta));
  return AmplifyRow{local, central, reports, honest, delta};
}

absl::StatusOr<AmplifyRow> LocalOf(const AmplifyFlags& flags, uint64_t reports,
                                   const Budget& central) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, DeltaFor(flags, reports));
  const uint64_t honest = HonestOf(flags, reports);
  COPPICE_ASSIGN_OR_RETURN(const Budget local,
                           LargestLocalEpsilon(honest, central, delta, [&](const Budget& tried) {
                             return MassAt(flags, tried);
                           }));
  return AmplifyRow{local, central, reports, honest, delta};
}

absl::StatusOr<std::vector<AmplifyRow>> AllRows(const AmplifyFlags& flags) {
  std::vector<AmplifyRow> rows;
  for (const uint64_t reports : flags.reports) {
    if (!flags.central_epsilon.empty()) {
      COPPICE_ASSIGN_OR_RETURN(const Budget central, ParseAmplifyEpsilon(flags.central_epsilon));
      COPPICE_ASSIGN_OR_RETURN(const AmplifyRow row, LocalOf(flags, reports, central));
      rows.push_back(row);
      continue;
    }
    for (const std::string& epsilon : flags.epsilons) {
      COPPICE_ASSIGN_OR_RETURN(const Budget local, ParseAmplifyEpsilon(epsilon));
      COPPICE_ASSIGN_OR_RETURN(const AmplifyRow row, CentralOf(flags, reports, local));
      rows.push_back(row);
    }
  }
  return rows;
}

double DeltaNumber(uint64_t delta) { return static_cast<double>(delta) / kDeltaOne; }

Json AmplifyJson(const AmplifyFlags& flags, const std::vector<AmplifyRow>& rows) {
  Json report = {{"mechanism", flags.mechanism}, {"dishonest", flags.dishonest}};
  if (flags.mechanism != kGeneric) {
    report["leaves"] = flags.leaves;
    report["classes"] = flags.classes;
  }
  report["rows"] = Json::array();
  for (const AmplifyRow& row : rows) {
    report["rows"].push_back({{"local_epsilon", row.local.epsilon()},
                              {"reports", row.reports},
                              {"honest_reports", row.honest},
                              {"delta", DeltaNumber(row.delta)},
                              {"central_epsilon", row.central.epsilon()}});
  }
  return report;
}

void PrintAmplifyText(const AmplifyFlags& flags, const std::vector<AmplifyRow>& rows) {
  const bool inverse = !flags.central_epsilon.empty();
  std::cout << absl::StrFormat(
      "Mechanism: %s. %g %% of the reports are assumed to be dishonest, and count for nothing.\n\n",
      flags.mechanism == kGeneric ? "any"
                                  : absl::StrCat(flags.mechanism, ", ", flags.leaves, " leaves, ",
                                                 flags.classes, " classes"),
      100 * flags.dishonest);
  std::cout << absl::StrFormat("%13s %12s %12s %8s  %15s\n",
                               inverse ? "largest local" : "local epsilon", "reports", "honest",
                               "delta", "central epsilon");
  for (const AmplifyRow& row : rows) {
    std::cout << absl::StrFormat("%13s %12d %12d %8g  %15s\n", row.local.ToString(), row.reports,
                                 row.honest, DeltaNumber(row.delta), row.central.ToString());
  }
  std::cout << "\n" << kWhoIsMeant << "\n";
}

}  // namespace

void AddAmplifyFlags(const Command& command, AmplifyFlags& flags) {
  const auto check_epsilon = [](const std::string& text) {
    return std::string(ParseAmplifyEpsilon(text).status().message());
  };
  const Command what = command.AddExactlyOneOf("what is given");
  what.Add("--epsilon", flags.epsilons, "of one report, 0.01 to 20, several by commas")
      .SplitAt(',')
      .Check(check_epsilon);
  what.Add("--central-epsilon", flags.central_epsilon,
           "wanted: prints the largest epsilon of one report")
      .Check(check_epsilon);
  command.Add("--reports", flags.reports, "how many are dealt together, several by commas")
      .Required()
      .SplitAt(',')
      .InRange(uint64_t{1}, kMaxShuffledReports);
  command
      .Add("--delta", flags.delta,
           "of the central epsilon, at most 1 / (10 reports) (default: 1e-8, or that)")
      .Check(
          [](const std::string& text) { return std::string(ParseDelta(text).status().message()); });
  command.Add("--mechanism", flags.mechanism, "one, or generic: whatever it is")
      .Check([](const std::string& name) {
        return name == kGeneric ? "" : std::string(ParseMechanism(name).status().message());
      })
      .ShowDefault();
  command.Add("--leaves", flags.leaves, "of a mechanism: leaves of the device's tree")
      .InRange(1u, uint32_t{kMaxCells});
  command.Add("--classes", flags.classes, "of a mechanism: classes of the label")
      .InRange(2u, uint32_t{kMaxCells});
  command.Add("--dishonest", flags.dishonest, "share of the reports that hide nobody")
      .InRange(0.0, 0.999999)
      .ShowDefault();
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

absl::Status CheckAmplifyFlags(const AmplifyFlags& flags) {
  const bool generic = flags.mechanism == kGeneric;
  if (generic != (flags.leaves == 0) || generic != (flags.classes == 0)) {
    return absl::InvalidArgumentError(
        generic ? "--leaves and --classes are of a --mechanism; name it"
                : "--mechanism needs --leaves and --classes, on which its bound depends");
  }
  for (const uint64_t reports : flags.reports) {
    if (HonestOf(flags, reports) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dishonest: of ", reports, " reports none is left that is honest"));
    }
    COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, DeltaFor(flags, reports));
    if (delta == 0 || delta > kDeltaOne / 10 / reports) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--delta: must be above 0 and at most 1 / (10 reports), for ", reports, " reports ",
          DeltaNumber(kDeltaOne / 10 / reports), "; with more the promise may fail for somebody"));
    }
  }
  return absl::OkStatus();
}

absl::Status RunAmplify(const AmplifyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<AmplifyRow> rows, AllRows(flags));
  if (flags.json) {
    std::cout << AmplifyJson(flags, rows).dump() << "\n";
  } else {
    PrintAmplifyText(flags, rows);
  }
  if (!std::cout.flush()) {
    return absl::UnavailableError("the bounds could not be written to stdout");
  }
  return absl::OkStatus();
}

}  // namespace coppice::lab
