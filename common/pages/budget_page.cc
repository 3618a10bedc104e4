#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/pages/html.h"
#include "common/pages/pages.h"

namespace coppice::report {
namespace {

std::string TextOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double NumberOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

Json ArrayOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_array() ? *found : Json::array();
}

std::string PlainOf(const Json& json, const char* name) { return Plain(json.value(name, Json())); }

// Returns "0.5", or "" for 0: a column of zeros tells nothing.
std::string UnlessZero(double value) { return value == 0 ? "" : absl::StrFormat("%.6g", value); }

std::string ShareNote(const Json& dataset) {
  const double total = NumberOf(dataset, "epsilon_total");
  if (total <= 0) return "";
  return absl::StrFormat("%.0f %% of %s", 100 * NumberOf(dataset, "epsilon_spent") / total,
                         PlainOf(dataset, "epsilon_total"));
}

std::string Figures(const Json& dataset) {
  std::vector<Figure> figures = {
      {"ε left", PlainOf(dataset, "epsilon_left"), "for one more release"},
      {"ε spent", PlainOf(dataset, "epsilon_spent"), ShareNote(dataset)}};
  if (dataset.contains("epsilon_left_with_delta")) {
    figures.push_back({"ε left with δ", PlainOf(dataset, "epsilon_left_with_delta"),
                       "for one more job with all of the cap's δ"});
  }
  if (dataset.contains("rho_spent"))
    figures.push_back({"ρ spent", PlainOf(dataset, "rho_spent"), ""});
  if (NumberOf(dataset, "delta_total") > 0) {
    figures.push_back({"δ in all", PlainOf(dataset, "delta_total"),
                       dataset.contains("rho_spent")
                           ? "for the sum of all jobs"
                           : StrCat(PlainOf(dataset, "delta_spent"), " spent")});
  }
  if (dataset.contains("rows"))
    figures.push_back({"Rows", PlainOf(dataset, "rows"), "not to be published"});
  return RenderFigures(figures);
}

std::string HoldRemark(const Json& dataset) {
  const std::string hold = TextOf(dataset, "hold");
  if (hold.empty()) return "";
  if (hold == "closed") {
    return Remark(
        "Closed permanently: the ledger was damaged and no longer proves that anything is left.");
  }
  return Remark(
      "On hold: the store was restored or repaired, and entries may be missing from the end of the "
      "ledger. Nothing can be charged until an admin confirms the ledger or writes off what was "
      "lost.");
}

// The job or the evaluation that an entry is of.
std::string SpenderOf(const Json& entry) {
  const std::string job = TextOf(entry, "job");
  return job.empty() ? TextOf(entry, "evaluation") : job;
}

// Jobs whose releases were made; these replace what the jobs had planned.
std::set<std::string> SettledJobs(const Json& ledger) {
  std::set<std::string> settled;
  for (const Json& entry : ledger) {
    if (TextOf(entry, "entry") == "settled") settled.insert(SpenderOf(entry));
  }
  return settled;
}

std::string LedgerTable(const Json& ledger) {
  TableData table{.caption = "What was charged and refunded, oldest first",
                  .columns = {"time", "entry", "job", "ε"},
                  .rows = {}};
  std::vector<const char*> others;  // algorithms or jobs that were charged for
  for (const auto& [name, heading] : {std::pair{"delta", "δ"}, std::pair{"rho", "ρ"}}) {
    const auto charges = [name = name](const Json& entry) { return NumberOf(entry, name) != 0; };
    if (std::none_of(ledger.begin(), ledger.end(), charges)) continue;
    table.columns.emplace_back(heading);
    others.push_back(name);
  }
  for (const Json& entry : ledger) {
    std::vector<TableCell>& cells = table.rows.emplace_back();
    cells = {Cell(TextOf(entry, "time")), Cell(TextOf(entry, "entry")), Cell(SpenderOf(entry)),
             NumberCell(UnlessZero(NumberOf(entry, "epsilon")))};
    for (const char* name : others) cells.push_back(NumberCell(UnlessZero(NumberOf(entry, name))));
  }
  return table.rows.empty() ? "" : Section("Ledger", RenderTable(table));
}

std::string ReleasesTable(const Json& ledger) {
  TableData table{.caption = "Everything that was computed from the rows and released, or will be",
                  .columns = {"job", "what", "mechanism", "ε each", "times", "of the rows"},
                  .rows = {}};
  const std::set<std::string> settled = SettledJobs(ledger);
  for (const Json& entry : ledger) {
    const bool is_plan = TextOf(entry, "entry") == "reserved";
    if (is_plan && settled.count(SpenderOf(entry)) > 0) continue;
    for (const Json& release : ArrayOf(entry, "releases")) {
      table.rows.push_back({Cell(SpenderOf(entry)), Cell(TextOf(release, "what")),
                            Cell(TextOf(release, "mechanism")),
                            NumberCell(PlainOf(release, "epsilon")),
                            NumberCell(PlainOf(release, "times")), Cell(TextOf(release, "part"))});
    }
  }
  return table.rows.empty() ? "" : Section("Releases", RenderTable(table));
}

std::string Lead(const Json& dataset) {
  const std::string neighbours = TextOf(dataset, "neighbours");
  if (neighbours == "change_label")
    return "Protects the label of each row; its features are public.";
  if (neighbours == "add_or_remove_row") return "Protects whether each row is there at all.";
  return "";
}

std::string Remarks(const Json& dataset) {
  std::string html = HoldRemark(dataset);
  const std::string composition = TextOf(dataset, "composition");
  if (composition == "basic")
    html += Remark("The costs of jobs add up: their epsilons, and their deltas.");
  if (composition == "zcdp") {
    html += Remark(
        "The costs of jobs add up as ρ of zero-concentrated differential privacy, so their "
        "epsilons do not.");
  }
  if (NumberOf(dataset, "reserve") > 0) {
    html +=
        Remark(StrCat("A reserve of the rows is read by evaluations alone, and has an account of "
                      "its own under the same cap: ε ",
                      PlainOf(dataset, "reserve_epsilon_spent"), " is spent of it, ",
                      PlainOf(dataset, "reserve_epsilon_left"), " is left."));
  }
  const std::string head = TextOf(dataset, "ledger_head");
  if (!head.empty()) {
    html += Remark(StrCat("Head of the ledger, to be noted: ", head));
  }
  return html;
}

}  // namespace

std::string BudgetPage(const Json& dataset) {
  const Json ledger = ArrayOf(dataset, "ledger");
  const std::string id = TextOf(dataset, "dataset");
  return RenderDocument({.kind = "Privacy budget",
                         .title = id.empty() ? "Budget" : StrCat("Dataset ", id),
                         .lead = Lead(dataset),
                         .body = StrCat(Figures(dataset), Remarks(dataset), LedgerTable(ledger),
                                        ReleasesTable(ledger))});
}

}  // namespace coppice::report
