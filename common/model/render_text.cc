#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/render.h"
#include "common/model/render_label.h"

namespace coppice::render_internal {
namespace {

// One line of the drawing. Leaves have a second column, which is aligned afterwards.
struct Line {
  std::string left;
  std::string right;
};

Line LeafLine(const TreeView& view, uint32_t leaf, const std::string& indent) {
  Line line{StrCat(indent, "▸ ", Answer(view, leaf)), Certainty(view, leaf)};
  const std::string pruned = PrunedTo(view, leaf);
  if (!pruned.empty()) StrAppend(&line.right, "  (pruned to ", pruned, ")");
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

// A node's place in the drawing: `lead` is drawn before it, `indent` before everything below it.
struct Place {
  std::string lead, indent;

  Place Below(std::string_view branch) const {
    return {StrCat(indent, "├─ ", branch), StrCat(indent, "│  ")};
  }
  Place LastBelow(std::string_view branch) const {
    return {StrCat(indent, "└─ ", branch), StrCat(indent, "   ")};
  }
};

void AddNode(const TreeView& view, uint32_t node, const Place& place, Lines& lines);

// Adds a chain of questions about one feature's categories, each asked if the previous answer was
// no, with one branch per question.
void AddChain(const TreeView& view, uint32_t node, const Place& place, Lines& lines) {
  const absl::Span<const Node> nodes = view.tree().nodes();
  const std::string& name = view.model.tree_schema().features()[nodes[node].feature].name;
  lines.Add({StrCat(place.lead, Printable(name)), ""});
  for (std::optional<uint32_t> link = node; link; link = NextOfChain(view, *link)) {
    node = *link;
    AddNode(view, nodes[node].left, place.Below(StrCat(ChainLink(view, node), ": ")), lines);
  }
  AddNode(view, nodes[node].right, place.LastBelow("else: "), lines);
}

// Stops early if the drawing is too large.
void AddNode(const TreeView& view, uint32_t node, const Place& place, Lines& lines) {
  if (lines.bytes > kMaxDrawingBytes) return;
  const Node& split = view.tree().nodes()[node];
  if (split.kind == SplitKind::kLeaf) {
    return lines.Add(LeafLine(view, view.tree().first_leaf(node), place.lead));
  }
  if (NextOfChain(view, node)) return AddChain(view, node, place, lines);
  lines.Add({StrCat(place.lead, Question(view, node)), ""});
  AddNode(view, split.left, place.Below("yes "), lines);
  AddNode(view, split.right, place.LastBelow("no  "), lines);
}

}  // namespace

StatusOr<std::string> RenderText(const TreeView& view) {
  Lines drawn;
  AddNode(view, 0, {}, drawn);
  if (drawn.bytes > kMaxDrawingBytes) return TooLarge();
  const std::vector<Line>& lines = drawn.lines;
  size_t width = 0;
  for (const Line& line : lines) {
    if (!line.right.empty()) width = std::max(width, CharacterCount(line.left));
  }
  std::string out = StrCat(Title(view), "\n");
  const std::string privacy = PrivacyLine(view.model);
  if (!privacy.empty()) StrAppend(&out, privacy, "\n");
  const std::string note = LeafNote(view.model);
  if (!note.empty()) StrAppend(&out, note, "\n");
  StrAppend(&out, "\n");
  for (const Line& line : lines) {
    StrAppend(&out, line.left);
    if (!line.right.empty()) {
      StrAppend(&out, std::string(width - CharacterCount(line.left) + 2, ' '), line.right);
    }
    StrAppend(&out, "\n");
    if (out.size() > kMaxDrawingBytes) return TooLarge();
  }
  return out;
}

}  // namespace coppice::render_internal
