#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/tree/render_formats.h"

namespace coppice::render_internal {
namespace {

// One line of the drawing. Leaves have a second column that is lined up afterwards.
struct Line {
  std::string left;
  std::string right;
};

Line LeafLine(const TreeView& view, uint32_t leaf, const std::string& indent) {
  Line line{absl::StrCat(indent, "▸ ", Answer(view, leaf)), Certainty(view, leaf)};
  const std::string pruned = PrunedTo(view, leaf);
  if (!pruned.empty()) absl::StrAppend(&line.right, "  (pruned to ", pruned, ")");
  return line;
}

// `lead` is drawn before this node, `indent` before everything below it.
void AddNode(const TreeView& view, uint32_t node, const std::string& lead,
             const std::string& indent, std::vector<Line>& lines) {
  const Node& split = view.tree().nodes()[node];
  if (split.kind == SplitKind::kLeaf) {
    lines.push_back(LeafLine(view, view.tree().first_leaf(node), lead));
    return;
  }
  lines.push_back({absl::StrCat(lead, Question(view, node)), ""});
  AddNode(view, split.left, absl::StrCat(indent, "├─ yes "), absl::StrCat(indent, "│  "), lines);
  AddNode(view, split.right, absl::StrCat(indent, "└─ no  "), absl::StrCat(indent, "   "), lines);
}

}  // namespace

std::string RenderText(const TreeView& view) {
  std::vector<Line> lines;
  AddNode(view, 0, "", "", lines);
  size_t width = 0;
  for (const Line& line : lines) {
    if (!line.right.empty()) width = std::max(width, CharacterCount(line.left));
  }
  std::string out = absl::StrCat(Title(view), "\n");
  const std::string privacy = PrivacyLine(view.model);
  if (!privacy.empty()) absl::StrAppend(&out, privacy, "\n");
  absl::StrAppend(&out, "\n");
  for (const Line& line : lines) {
    absl::StrAppend(&out, line.left);
    if (!line.right.empty()) {
      absl::StrAppend(&out, std::string(width - CharacterCount(line.left) + 2, ' '), line.right);
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace coppice::render_internal
