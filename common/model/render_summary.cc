#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/text.h"
#include "common/model/certificate_text.h"
#include "common/model/render.h"
#include "common/model/render_label.h"
#include "common/model/summary.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

using render_internal::CharacterCount;
using render_internal::WithUnit;

constexpr size_t kMaxFeaturesShown = 20;

using Table = std::vector<std::pair<std::string, std::string>>;

std::string AsColumns(const Table& table) {
  size_t width = 0;
  for (const auto& [name, text] : table) width = std::max(width, CharacterCount(name));
  std::string out;
  for (const auto& [name, text] : table) {
    StrAppend(&out, "  ", name, std::string(width - CharacterCount(name) + 2, ' '), text, "\n");
  }
  return out;
}

// "7", "7 to 15".
std::string RangeText(uint32_t min, uint32_t max) {
  return min == max ? StrCat(min) : StrCat(min, " to ", max);
}

std::string WhatIsPredicted(const Schema& schema) {
  const std::string label = Printable(schema.label());
  if (!schema.target()) return StrCat(label, ": ", Printable(ListOf(schema.classes())));
  return StrCat(label, ": ", ReadableNumber(schema.target()->min), " to ",
                WithUnit(ReadableNumber(schema.target()->max), schema.target()->unit));
}

Table Facts(const Model& model, const ForestSummary& summary) {
  const Certificate& certificate = model.certificate();
  Table facts = {{"predicts", WhatIsPredicted(model.schema())}};
  if (!certificate.mechanism.empty()) {
    facts.emplace_back("mechanism", Printable(certificate.mechanism));
  }
  if (!certificate.estimator.empty()) {
    facts.emplace_back("estimator", Printable(certificate.estimator));
  }
  facts.emplace_back("privacy", PrivacyInALine(certificate));
  facts.emplace_back("trees", StrCat(summary.trees));
  facts.emplace_back(
      "leaves",
      StrCat(summary.leaves, ", ", RangeText(summary.min_leaves, summary.max_leaves), " per tree"));
  facts.emplace_back("depth", RangeText(summary.min_depth, summary.max_depth));
  const size_t derived = model.derived().size();
  facts.emplace_back(
      "features",
      StrCat(summary.features, " of ", model.tree_schema().num_features(),
             derived > 0 ? StrCat(" (", derived, " of them derived)") : "", " are in a split"));
  if (!certificate.diagnosis.empty()) {
    facts.emplace_back("diagnosis", Printable(certificate.diagnosis));
  }
  const std::string note = render_internal::LeafNote(model);
  if (!note.empty()) facts.emplace_back("note", note);
  return facts;
}

std::string ImportancesText(const Model& model, const std::vector<Importance>& importances) {
  if (importances.empty()) return "\nno split decides anything\n";
  const bool known = importances[0].standard_error.has_value();
  Table table;
  double rest = 1;
  for (size_t i = 0; i < std::min(importances.size(), kMaxFeaturesShown); ++i) {
    const Importance& one = importances[i];
    rest -= one.importance;
    table.emplace_back(Printable(model.tree_schema().features()[one.feature].name),
                       absl::StrFormat("%.3f", one.importance));
    if (known) absl::StrAppendFormat(&table.back().second, " ± %.3f", *one.standard_error);
  }
  if (importances.size() > kMaxFeaturesShown) {
    table.emplace_back(StrCat(importances.size() - kMaxFeaturesShown, " more"),
                       absl::StrFormat("%.3f", std::max(rest, 0.0)));
  }
  return StrCat("\nimportance, as a part of all that splits decide",
                known ? ", ± one standard error" : "; its noise is not known", "\n",
                AsColumns(table));
}

std::string DerivedText(const Model& model, const std::vector<Importance>& importances) {
  const size_t own = model.schema().num_features();
  Table table;
  for (size_t i = 0; i < std::min(importances.size(), kMaxFeaturesShown); ++i) {
    const uint32_t feature = importances[i].feature;
    if (feature < own) continue;
    table.emplace_back(Printable(model.tree_schema().features()[feature].name),
                       InWords(model.schema(), model.derived()[feature - own]));
  }
  return table.empty() ? "" : StrCat("\nderived features\n", AsColumns(table));
}

}  // namespace

std::string RenderSummary(const Model& model) {
  const ForestSummary summary = Summarize(model);
  return StrCat(render_internal::LabelWithUnit(model.schema()), " by ", summary.trees,
                summary.trees == 1 ? " tree\n" : " trees\n", AsColumns(Facts(model, summary)),
                ImportancesText(model, summary.importances),
                DerivedText(model, summary.importances));
}

}  // namespace coppice
