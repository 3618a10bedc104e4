// Pages that commands write for people: each a complete HTML file; html.h says what that holds.
//
// Their input is what a command prints with --json, so that a page says nothing that its command
// does not. A member that is missing or null is left out.
//
// Threads    plain functions.

#ifndef COPPICE_COMMON_PAGES_PAGES_H_
#define COPPICE_COMMON_PAGES_PAGES_H_

#include <string>

#include <nlohmann/json.hpp>

#include "common/model/model.h"
#include "common/pages/chart.h"

namespace coppice::report {

// `coppice model evaluate --json`: classes or a number.
std::string EvaluationPage(const nlohmann::ordered_json& evaluation);

// `coppice-lab curve`: {"label", "rows", "repeats", "majority", "majority_class", or "mean";
// "lines": as `curve --json` prints them; "series": [{"name", "neighbours", "non_private": {"mean",
// "std", "n"} or null}]; "sentences"}.
std::string CurvePage(const nlohmann::ordered_json& curve);
// The drawing on that page.
std::string CurveDrawing(const nlohmann::ordered_json& curve, ChartUse use);

// `coppice-lab plan --json`.
std::string PlanPage(const nlohmann::ordered_json& plan);

// A forest in figures, and its trees, which open at a click; of a large forest the first trees.
std::string TreePage(const std::string& id, const Model& model);

// Limit of nodes in all trees of a page, so that a browser shows it at once.
inline constexpr size_t kMaxPageNodes = 20'000;

// `coppice model verify --json`: what a model cost in privacy, in "words" of sections with a
// "title" and "sentences", and everything that was released.
std::string CertificatePage(const nlohmann::ordered_json& verdict);

// `coppice dataset show --json`: what is left of a budget, its ledger, and every release. For a
// budget without a dataset leave out the members "dataset", "state" and "rows".
std::string BudgetPage(const nlohmann::ordered_json& dataset);

// Any object that a command describes, such as `coppice study show --json` or `coppice train show
// --json`: its members in a table, and those that are lists of objects in tables of their own.
// `kind` and `title` are plain text.
std::string RecordPage(const std::string& kind, const std::string& title,
                       const nlohmann::ordered_json& record);

}  // namespace coppice::report

#endif  // COPPICE_COMMON_PAGES_PAGES_H_
