// Datasets: their budget, and the ledger of what was spent.

#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "common/base/time_text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice {
namespace {

bool IsZeroConcentrated(const v1::Dataset& dataset) {
  return dataset.cap().composition() == v1::COMPOSITION_ZERO_CONCENTRATED;
}

std::string CompositionText(v1::Composition composition) {
  return composition == v1::COMPOSITION_ZERO_CONCENTRATED ? "zcdp" : EnumText(composition);
}

Description DescribeSchema(const v1::Schema& schema) {
  Description json = {{"label", schema.label()}, {"features", Description::array()}};
  for (const v1::Feature& feature : schema.features()) json["features"].push_back(feature.name());
  if (schema.has_target()) {
    json["target_min"] = schema.target().min();
    json["target_max"] = schema.target().max();
    if (!schema.target().unit().empty()) json["unit"] = schema.target().unit();
  } else {
    json["classes"] = schema.classes();
  }
  Description leaked = Description::array();
  for (const v1::Feature& feature : schema.features()) {
    if (feature.from_private_rows()) leaked.push_back(feature.name());
  }
  if (schema.answers_from_private_rows()) leaked.push_back(schema.label());
  if (!leaked.empty()) json["from_private_rows"] = leaked;
  return json;
}

bool IsEvaluation(const v1::LedgerEntry& entry) {
  return entry.job().rfind("evaluations/", 0) == 0;
}

Description DescribeEntry(const v1::LedgerEntry& entry) {
  Description json = {{"time", TimeText(entry.unix_seconds())},
                      {"entry", EnumText(entry.kind())},
                      {IsEvaluation(entry) ? "evaluation" : "job", IdOf(entry.job())}};
  if (entry.account() != v1::ACCOUNT_KIND_UNSPECIFIED) json["account"] = EnumText(entry.account());
  if (!entry.submitter().empty()) json["submitter"] = entry.submitter();
  json.update(DescribeCost(entry.cost()));
  json["releases"] = Description::array();
  for (const v1::Release& release : entry.releases()) {
    json["releases"].push_back(DescribeRelease(release));
  }
  json["hash"] = absl::BytesToHexString(entry.hash());
  return json;
}

bool HasSubmitters(const v1::Dataset& dataset) {
  return absl::c_any_of(dataset.ledger(),
                        [](const v1::LedgerEntry& entry) { return !entry.submitter().empty(); });
}

bool HasReserve(const v1::Dataset& dataset) { return dataset.cap().reserve_millionths() > 0; }

// Every line of the ledger's table has these cells.
Description BlankLine(const v1::Dataset& dataset) {
  Description line = {{"time", ""}, {"entry", ""}, {"job", ""}};
  if (HasSubmitters(dataset)) line["by"] = "";
  if (HasReserve(dataset)) line["account"] = "";
  line["epsilon"] = "";
  if (dataset.cap().delta_atto() > 0) line["delta"] = "";
  if (IsZeroConcentrated(dataset)) line["rho"] = "";
  line.update({{"release", ""}, {"mechanism", ""}, {"times", ""}, {"each", ""}, {"part", ""}});
  return line;
}

Description EntryLine(const v1::Dataset& dataset, const v1::LedgerEntry& entry) {
  Description line = BlankLine(dataset);
  line["time"] = TimeText(entry.unix_seconds());
  line["entry"] = EnumText(entry.kind());
  line["job"] = IdOf(entry.job());
  if (line.contains("by")) line["by"] = entry.submitter();
  if (entry.kind() == v1::LEDGER_ENTRY_KIND_OPENED) return line;
  if (line.contains("account")) line["account"] = EnumText(entry.account());
  line["epsilon"] = EpsilonNumber(entry.cost().epsilon_nanos());
  if (line.contains("delta")) line["delta"] = DeltaNumber(entry.cost().delta_atto());
  if (line.contains("rho")) line["rho"] = RhoNumber(entry.cost().rho_pico());
  return line;
}

Description ReleaseLine(const v1::Dataset& dataset, const v1::Release& release) {
  Description line = BlankLine(dataset);
  line["release"] = release.what();
  line["mechanism"] = release.mechanism();
  line["times"] = release.times();
  line["each"] = EpsilonNumber(release.epsilon_nanos());
  line["part"] = release.part().empty() ? "all" : release.part();
  return line;
}

}  // namespace

Description DescribeCost(const v1::Cost& cost) {
  Description json = {{"epsilon", EpsilonNumber(cost.epsilon_nanos())},
                      {"delta", DeltaNumber(cost.delta_atto())}};
  if (cost.rho_pico() > 0 && cost.rho_pico() != UINT64_MAX)
    json["rho"] = RhoNumber(cost.rho_pico());
  return json;
}

Description DescribeDatasetBriefly(const v1::Dataset& dataset) {
  const v1::BudgetCap& cap = dataset.cap();
  const Description rows =
      dataset.rows_hidden() ? Description("hidden") : Description(dataset.rows());
  return {
      {"dataset", IdOf(dataset.name())},
      {"state", EnumText(dataset.state())},
      {"rows", rows},
      {"epsilon_total", EpsilonNumber(cap.epsilon_nanos())},
      {"epsilon_spent", EpsilonNumber(dataset.spent().epsilon_nanos())},
      {"epsilon_left", EpsilonNumber(dataset.epsilon_left_nanos())},
      {"delta_total", DeltaNumber(cap.delta_atto())},
      // Under zCDP rhos are spent: the jobs' deltas do not add up.
      {"delta_spent", IsZeroConcentrated(dataset) ? 0 : DeltaNumber(dataset.spent().delta_atto())},
      {"composition", CompositionText(cap.composition())},
      {"neighbours", EnumText(cap.neighbours())},
      {"created", TimeText(dataset.created_unix_seconds())}};
}

Description DescribeDataset(const v1::Dataset& dataset) {
  Description json = DescribeDatasetBriefly(dataset);
  if (IsZeroConcentrated(dataset)) {
    json["rho_spent"] = RhoNumber(dataset.spent().rho_pico());
    json["epsilon_left_with_delta"] = EpsilonNumber(dataset.epsilon_left_at_delta_nanos());
  }
  if (HasReserve(dataset)) {
    json["reserve"] = static_cast<double>(dataset.cap().reserve_millionths()) / 1e6;
    if (!dataset.rows_hidden()) json["reserve_rows"] = dataset.reserve_rows();
    json["reserve_epsilon_spent"] = EpsilonNumber(dataset.reserve_spent().epsilon_nanos());
    json["reserve_epsilon_left"] = EpsilonNumber(dataset.reserve_epsilon_left_nanos());
    if (IsZeroConcentrated(dataset)) {
      json["reserve_rho_spent"] = RhoNumber(dataset.reserve_spent().rho_pico());
    } else {
      json["reserve_delta_spent"] = DeltaNumber(dataset.reserve_spent().delta_atto());
    }
  }
  if (dataset.hold() != v1::LEDGER_HOLD_UNSPECIFIED) {
    json["hold"] = EnumText(dataset.hold());
  }
  if (dataset.public_rows() > 0) {
    json["public_rows"] = dataset.public_rows();
    json["public_rows_sha256"] = dataset.public_rows_sha256();
  }
  if (!dataset.owner().empty()) json["owner"] = dataset.owner();
  if (dataset.has_hold_lost()) json["hold_lost"] = DescribeCost(dataset.hold_lost());
  if (!dataset.ledger().empty() && !dataset.ledger().rbegin()->hash().empty()) {
    json["ledger_head"] = absl::BytesToHexString(dataset.ledger().rbegin()->hash());
  }
  return json;
}

Description DescribeDatasetWithLedger(const v1::Dataset& dataset) {
  Description json = DescribeDataset(dataset);
  if (dataset.has_schema()) json["schema"] = DescribeSchema(dataset.schema());
  json["ledger_entries"] = dataset.ledger_entries();
  json["ledger"] = Description::array();
  for (const v1::LedgerEntry& entry : dataset.ledger()) {
    json["ledger"].push_back(DescribeEntry(entry));
    if (!IsZeroConcentrated(dataset)) json["ledger"].back().erase("rho");
  }
  return json;
}

std::vector<Description> LedgerTable(const v1::Dataset& dataset) {
  std::set<std::string> settled;
  for (const v1::LedgerEntry& entry : dataset.ledger()) {
    if (entry.kind() == v1::LEDGER_ENTRY_KIND_SETTLED) settled.insert(entry.job());
  }
  std::vector<Description> lines;
  for (const v1::LedgerEntry& entry : dataset.ledger()) {
    lines.push_back(EntryLine(dataset, entry));
    const bool is_plan = entry.kind() == v1::LEDGER_ENTRY_KIND_RESERVED;
    if (is_plan && settled.count(entry.job()) > 0) continue;
    for (const v1::Release& release : entry.releases()) {
      lines.push_back(ReleaseLine(dataset, release));
    }
  }
  return lines;
}

}  // namespace coppice
