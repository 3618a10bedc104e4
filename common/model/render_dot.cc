#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/model/render.h"
#include "common/model/render_label.h"

namespace coppice::render_internal {
namespace {

// Quotes a DOT string; Printable() has removed control characters already.
std::string Quote(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string LeafAttributes(const TreeView& view, uint32_t leaf) {
  const uint32_t label = view.prediction(leaf).label;
  const std::string pruned = PrunedTo(view, leaf);
  std::string text = absl::StrCat(Answer(view, leaf), " ", Certainty(view, leaf));
  if (!pruned.empty()) absl::StrAppend(&text, " (pruned to ", pruned, ")");
  return absl::StrCat("label=", Quote(text), ", style=\"rounded,filled",
                      pruned.empty() ? "" : ",dashed", "\", fillcolor=\"", ClassColor(label, 0.85),
                      "\", color=\"", ClassColor(label, 0.45), "\"");
}

}  // namespace

absl::StatusOr<std::string> RenderDot(const TreeView& view) {
  const std::string note = LeafNote(view.model);
  const std::string title = Title(view);
  std::string out = absl::StrCat(
      "digraph tree {\n  label=", Quote(note.empty() ? title : absl::StrCat(title, "; ", note)),
      ";\n  labelloc=t;\n  rankdir=LR;\n"
      "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", color=\"#8a939c\"];\n");
  const absl::Span<const Node> nodes = view.tree().nodes();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (out.size() > kMaxDrawingBytes) return TooLarge();
    if (nodes[i].kind == SplitKind::kLeaf) {
      absl::StrAppend(&out, "  n", i, " [", LeafAttributes(view, view.tree().first_leaf(i)),
                      "];\n");
      continue;
    }
    absl::StrAppend(&out, "  n", i, " [label=", Quote(Question(view, i)), "];\n");
    absl::StrAppend(&out, "  n", i, " -> n", nodes[i].left, " [label=\"yes\"];\n");
    absl::StrAppend(&out, "  n", i, " -> n", nodes[i].right, " [label=\"no\"];\n");
  }
  return absl::StrCat(out, "}\n");
}

}  // namespace coppice::render_internal
