#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/model/cuts.h"
#include "common/model/render_label.h"
#include "common/model/summary.h"
#include "common/pages/html.h"
#include "common/pages/pages.h"

namespace coppice::report {
namespace {

using render_internal::TreeView;

constexpr uint32_t kOpenDepth = 2;  // splits above this depth are open at first
constexpr size_t kShownFeatures = 20;

std::string Way(const TreeView& view, uint32_t node) {
  const uint32_t parent = view.tree().parent(node);
  if (parent == kNoParent) return "";
  const bool yes = view.tree().nodes()[parent].left == node;
  return StrCat("<span class=\"way\">", yes ? "yes" : "no", "</span> ");
}

std::string Leaf(const TreeView& view, uint32_t node) {
  const uint32_t leaf = view.tree().first_leaf(node);
  std::string sure = render_internal::Certainty(view, leaf);
  const std::string pruned = render_internal::PrunedTo(view, leaf);
  if (!pruned.empty()) StrAppend(&sure, " (pruned to ", pruned, ")");
  return StrCat("<div class=\"leaf\">", Way(view, node), "<b>",
                Text(render_internal::Answer(view, leaf)), "</b> <span class=\"sure\">", Text(sure),
                "</span></div>\n");
}

void AddSplits(const TreeView& view, uint32_t node, std::string& html) {
  const Node& split = view.tree().nodes()[node];
  if (split.kind == SplitKind::kLeaf) {
    html += Leaf(view, node);
    return;
  }
  const bool open = view.tree().node_depth(node) < kOpenDepth;
  StrAppend(&html, "<details", open ? " open" : "", "><summary>", Way(view, node),
            Text(render_internal::Question(view, node)), "</summary>\n");
  AddSplits(view, split.left, html);
  AddSplits(view, split.right, html);
  html += "</details>\n";
}

std::string OneTree(const TreeView& view) {
  std::string html =
      StrCat("<details", view.number == 0 ? " open" : "", "><summary><b>",
             Text(render_internal::Title(view)), "</b></summary>\n<div class=\"tree\">\n");
  AddSplits(view, 0, html);
  return StrCat(html, "</div>\n</details>\n");
}

std::string Trees(const Model& model) {
  const ReadableCuts cuts(model);
  const std::string note = render_internal::LeafNote(model);
  std::string html = note.empty() ? "" : Remark(StrCat("Here ", note, "."));
  size_t nodes = 0, shown = 0;
  for (; shown < model.forest().size(); ++shown) {
    nodes += model.forest()[shown].nodes().size();
    if (nodes > kMaxPageNodes) break;
    html += OneTree({model, shown, cuts});
  }
  const size_t left = model.forest().size() - shown;
  if (left > 0) {
    html += Remark(StrCat(left, left == 1 ? " tree is" : " trees are",
                          " left out: with it the page would have more than ", kMaxPageNodes,
                          " nodes. `coppice model show --tree ", shown,
                          "` draws the next one by itself."));
  }
  return Section("The trees", html);
}

std::string Features(const Model& model) {
  const std::vector<Importance> importances = Summarize(model).importances;
  if (importances.empty()) return "";
  TableData table{.caption =
                      "How much of the answer each feature decides, as a share of the whole, with "
                      "one standard error of the privacy noise",
                  .columns = {"feature", "importance", "± noise"},
                  .rows = {}};
  for (const Importance& one : importances) {
    if (table.rows.size() == kShownFeatures) break;
    table.rows.push_back(
        {Cell(model.tree_schema().features()[one.feature].name),
         NumberCell(Decimal(one.importance)),
         NumberCell(one.standard_error ? Decimal(*one.standard_error) : "not known")});
  }
  std::string html = RenderTable(table);
  if (importances.size() > kShownFeatures) {
    html += Paragraph(StrCat(importances.size() - kShownFeatures, " more features decide less."));
  }
  return Section("What decides", html);
}

std::string Overview(const Model& model) {
  size_t leaves = 0;
  uint32_t depth = 0;
  for (const Tree& tree : model.forest()) {
    leaves += tree.num_leaves();
    depth = std::max(depth, tree.depth());
  }
  const auto& target = model.schema().target();
  return RenderFigures({{"Trees", StrCat(model.forest().size()), ""},
                        {"Leaves", StrCat(leaves), "of all trees"},
                        {"Depth", StrCat(depth), "of the deepest"},
                        {"Predicts", model.schema().label(),
                         target ? "a number" : StrCat(model.schema().num_classes(), " classes")}});
}

}  // namespace

std::string TreePage(const std::string& id, const Model& model) {
  return RenderDocument({.kind = "Model",
                         .title = StrCat("Model ", id),
                         .lead = render_internal::PrivacyLine(model),
                         .body = StrCat(Overview(model), Features(model), Trees(model))});
}

}  // namespace coppice::report
