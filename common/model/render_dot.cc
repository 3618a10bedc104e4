#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/render.h"
#include "common/model/render_label.h"

namespace coppice::render_internal {
namespace {

// Quotes a DOT string; Printable() has removed control characters already.
std::string Quote(std::string_view text) {
  return StrCat("\"", StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string DotLeafAttributes(const TreeView& view, uint32_t leaf) {
  const uint32_t label = view.prediction(leaf).label;
  const std::string pruned = PrunedTo(view, leaf);
  std::string text = StrCat(Answer(view, leaf), " ", Certainty(view, leaf));
  if (!pruned.empty()) StrAppend(&text, " (pruned to ", pruned, ")");
  return StrCat("label=", Quote(text), ", style=\"rounded,filled", pruned.empty() ? "" : ",dashed",
                "\", fillcolor=\"", ClassColor(label, 0.85), "\", color=\"",
                ClassColor(label, 0.45), "\"");
}

}  // namespace

StatusOr<std::string> RenderDot(const TreeView& view) {
  const std::string note = LeafNote(view.model);
  const std::string title = Title(view);
  std::string out =
      StrCat("digraph tree {\n  label=", Quote(note.empty() ? title : StrCat(title, "; ", note)),
             ";\n  labelloc=t;\n  rankdir=LR;\n"
             "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
             "  edge [fontname=\"sans-serif\", color=\"#8a939c\"];\n");
  const absl::Span<const Node> nodes = view.tree().nodes();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (out.size() > kMaxDrawingBytes) return TooLarge();
    if (nodes[i].kind == SplitKind::kLeaf) {
      StrAppend(&out, "  n", i, " [", DotLeafAttributes(view, view.tree().first_leaf(i)), "];\n");
      continue;
    }
    StrAppend(&out, "  n", i, " [label=", Quote(Question(view, i)), "];\n");
    StrAppend(&out, "  n", i, " -> n", nodes[i].left, " [label=\"yes\"];\n");
    StrAppend(&out, "  n", i, " -> n", nodes[i].right, " [label=\"no\"];\n");
  }
  return StrCat(out, "}\n");
}

}  // namespace coppice::render_internal
