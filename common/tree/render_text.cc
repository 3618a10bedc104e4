#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/tree/render.h"
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

struct Lines {
  std::vector<Line> lines;
  size_t bytes = 0;

  void Add(Line line) {
    bytes += line.left.size() + line.right.size() + 1;
    lines.push_back(std::move(line));
  }
};

// `lead` is drawn before this node, `indent` before everything below it. Ends early where the
// drawing is too large.
void AddNode(const TreeView& view, uint32_t node, const std::string& lead,
             const std::string& indent, Lines& lines) {
  if (lines.bytes > kMaxDrawingBytes) return;
  const Node& split = view.tree().nodes()[node];
  if (split.kind == SplitKind::kLeaf) {
    return lines.Add(LeafLine(view, view.tree().first_leaf(node), lead));
  }
  lines.Add({absl::StrCat(lead, Question(view, node)), ""});
  AddNode(view, split.left, absl::StrCat(indent, "├─ yes "), absl::StrCat(indent, "│  "), lines);
  AddNode(view, split.right, absl::StrCat(indent, "└─ no  "), absl::StrCat(indent, "   "), lines);
}

}  // namespace

absl::StatusOr<std::string> RenderText(const TreeView& view) {
  Lines drawn;
  AddNode(view, 0, "", "", drawn);
  if (drawn.bytes > kMaxDrawingBytes) return TooLarge();
  const std::vector<Line>& lines = drawn.lines;
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
    if (out.size() > kMaxDrawingBytes) return TooLarge();
  }
  return out;
}

}  // namespace coppice::render_internal
