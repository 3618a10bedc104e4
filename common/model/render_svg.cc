// Draws the root at the left and one row per leaf, so that text is horizontal and has its own line.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/model/render.h"
#include "common/model/render_label.h"

namespace coppice::render_internal {
namespace {

constexpr double kMargin = 24, kHeader = 84, kRow = 38, kBox = 28, kGap = 76, kPadding = 12,
                 kDetailGap = 12;
constexpr size_t kMaxCharacters = 44;

// Escapes `&`, `<` and the like for text and attributes.
std::string Escape(std::string_view text) {
  return StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

// Returns at most `limit` characters, the last an ellipsis if some were cut.
std::string Shorten(const std::string& utf8, size_t limit) {
  if (CharacterCount(utf8) <= limit) return utf8;
  size_t end = 0;
  for (size_t characters = 0; end < utf8.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(utf8[end]) & 0xC0u) != 0x80u;
    if (starts && characters++ == limit - 1) break;
  }
  return StrCat(utf8.substr(0, end), "…");
}

// No font can be measured here: uses advances of DejaVu Sans at 13 px, one of the widest sans-serif
// fonts.
double TextWidth(std::string_view utf8) {
  double width = 0;
  for (const char c : utf8) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte >= 0xE0) {
      width += 13;  // three or four bytes: as wide as high
    } else if (byte >= 0xC0) {
      width += 8.5;
    } else if (StrContains("mwMW@%", c) || byte == '&') {
      width += 12.5;
    } else if (StrContains("ijltfrI.,:;'|()[]! -/", c)) {
      width += 5;
    } else if (byte < 0x80) {
      width += IsAsciiUpper(byte) || StrContains("<=>+~_#", c) ? 10.2 : 8.3;
    }
  }
  return width;
}

struct Box {
  std::string text;                // the question, or the class
  std::string detail;              // leaves: the probability
  std::string hover;               // everything, unshortened
  double x = 0, y = 0, width = 0;  // left edge and middle
};

Box LeafBox(const TreeView& view, uint32_t leaf) {
  Box box;
  const std::string name = Answer(view, leaf);
  const std::string pruned = PrunedTo(view, leaf);
  box.text = Shorten(name, kMaxCharacters / 2);
  box.detail = Certainty(view, leaf);
  if (!pruned.empty()) StrAppend(&box.detail, ", pruned to ", pruned);
  box.hover = StrCat("leaf ", leaf, ": ", name, " ", box.detail);
  // Bold is wider by about a tenth.
  box.width = 2 * kPadding + 1.1 * TextWidth(box.text) + kDetailGap + TextWidth(box.detail);
  return box;
}

Box QuestionBox(const TreeView& view, uint32_t node) {
  Box box;
  box.hover = Question(view, node);
  box.text = Shorten(box.hover, kMaxCharacters);
  box.width = 2 * kPadding + TextWidth(box.text);
  return box;
}

// One column per depth, as wide as its widest box; each leaf in its row, parents between children.
StatusOr<std::vector<Box>> Layout(const TreeView& view) {
  const Tree& tree = view.tree();
  std::vector<Box> boxes(tree.nodes().size());
  size_t bytes = 0;
  std::vector<double> widths(tree.depth() + 1, 0);
  for (uint32_t i = static_cast<uint32_t>(boxes.size()); i-- > 0;) {
    const Node& node = tree.nodes()[i];
    if (node.kind == SplitKind::kLeaf) {
      boxes[i] = LeafBox(view, tree.first_leaf(i));
      boxes[i].y = kMargin + kHeader + kRow * (tree.first_leaf(i) + 0.5);
    } else {
      boxes[i] = QuestionBox(view, i);
      boxes[i].y = (boxes[node.left].y + boxes[node.right].y) / 2;
    }
    bytes += boxes[i].text.size() + boxes[i].hover.size();
    if (bytes > kMaxDrawingBytes) return TooLarge();
    double& width = widths[tree.node_depth(i)];
    width = std::max(width, boxes[i].width);
  }
  std::vector<double> columns(widths.size(), kMargin);
  for (size_t d = 1; d < columns.size(); ++d) columns[d] = columns[d - 1] + widths[d - 1] + kGap;
  for (uint32_t i = 0; i < boxes.size(); ++i) boxes[i].x = columns[tree.node_depth(i)];
  return boxes;
}

// "yes" is above its line and "no" below, away from the curve.
std::string Edge(const Box& from, const Box& to, bool yes) {
  const double start = from.x + from.width, middle = to.x - kGap / 2;
  // Straight to the gap before the child's column, then a curve that ends horizontally.
  return absl::StrFormat(
      "<path class=\"edge\" d=\"M%.1f %.1fH%.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>"
      "<text class=\"answer\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
      start, from.y, to.x - kGap, middle, from.y, middle - 8, to.y, to.x, to.y, to.x - 8,
      to.y + (yes ? -4 : 12), yes ? "yes" : "no");
}

std::string DrawBox(const Box& box, std::string_view attributes) {
  std::string out = absl::StrFormat(
      "<g><title>%s</title><rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
      "height=\"%.1f\" rx=\"7\" %s/><text x=\"%.1f\" y=\"%.1f\">",
      Escape(box.hover), box.x, box.y - kBox / 2, box.width, kBox, attributes, box.x + kPadding,
      box.y + 4.5);
  if (box.detail.empty()) {
    StrAppend(&out, Escape(box.text));
  } else {
    absl::StrAppendFormat(&out, "<tspan class=\"class\">%s</tspan><tspan dx=\"%.0f\">%s</tspan>",
                          Escape(box.text), kDetailGap, Escape(box.detail));
  }
  return StrCat(out, "</text></g>\n");
}

std::string SvgLeafAttributes(const TreeView& view, uint32_t leaf) {
  const bool number = view.model.schema().target().has_value();
  const uint32_t label = number ? 0 : view.prediction(leaf).label;
  const double lightness =
      number ? 0.96 - 0.2 * std::clamp(ShareOf(view, leaf, 1), 0.0, 1.0) : 0.85;
  return absl::StrFormat("fill=\"%s\" stroke=\"%s\"%s", ClassColor(label, lightness),
                         ClassColor(label, 0.45),
                         PrunedTo(view, leaf).empty() ? "" : " stroke-dasharray=\"5 3\"");
}

// Draws a colour swatch and a name per class, if there are classes; returns the right end.
double Legend(const TreeView& view, std::string& out) {
  double x = kMargin;
  const std::vector<std::string>& classes = view.model.schema().classes();
  for (uint32_t k = 0; k < classes.size(); ++k) {
    const std::string name = Shorten(Printable(classes[k]), kMaxCharacters / 2);
    absl::StrAppendFormat(
        &out,
        "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" rx=\"3\" "
        "fill=\"%s\" stroke=\"%s\"/><text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
        x, kMargin + 49, ClassColor(k, 0.85), ClassColor(k, 0.45), x + 20, kMargin + 61,
        Escape(name));
    x += 20 + TextWidth(name) + 22;
  }
  return x;
}

constexpr std::string_view kStyle =
    "<style>text{font:13px system-ui,'Segoe UI','DejaVu Sans',Arial,sans-serif;fill:#1b1f24}"
    ".title{font-size:17px;font-weight:600}.note{fill:#57606a}"
    ".box{stroke-width:1.2}.class{font-weight:600}"
    ".answer{font-size:11px;fill:#57606a;text-anchor:end;paint-order:stroke;stroke:#fff;"
    "stroke-width:3px}.edge{fill:none;stroke:#aab2bb;stroke-width:1.4}</style>\n";

}  // namespace

StatusOr<std::string> RenderSvg(const TreeView& view) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Box> boxes, Layout(view));
  const std::string title = Title(view), note = LeafNote(view.model);
  std::string privacy = PrivacyLine(view.model);
  if (!note.empty()) StrAppend(&privacy, privacy.empty() ? "" : "; ", note);
  std::string body;
  double right = std::max(
      {Legend(view, body), kMargin + 1.45 * TextWidth(title), kMargin + TextWidth(privacy)});
  std::string edges;
  const absl::Span<const Node> nodes = view.tree().nodes();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (body.size() + edges.size() > kMaxDrawingBytes) return TooLarge();
    const bool leaf = nodes[i].kind == SplitKind::kLeaf;
    right = std::max(right, boxes[i].x + boxes[i].width);
    StrAppend(&body, DrawBox(boxes[i], leaf ? SvgLeafAttributes(view, view.tree().first_leaf(i))
                                            : "fill=\"#f6f8fa\" stroke=\"#8a939c\""));
    if (leaf) continue;
    StrAppend(&edges, Edge(boxes[i], boxes[nodes[i].left], true),
              Edge(boxes[i], boxes[nodes[i].right], false));
  }
  const double height = 2 * kMargin + kHeader + kRow * view.tree().num_leaves();
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>%s</title>\n%s"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
      "<text class=\"title\" x=\"%.0f\" y=\"%.0f\">%s</text>\n"
      "<text class=\"note\" x=\"%.0f\" y=\"%.0f\">%s</text>\n%s%s</svg>\n",
      right + kMargin, height, right + kMargin, height, Escape(title), kStyle, kMargin,
      kMargin + 14, Escape(title), kMargin, kMargin + 36, Escape(privacy), edges, body);
}

}  // namespace coppice::render_internal
