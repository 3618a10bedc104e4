#include "common/tree/render_label.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/schema/number.h"

namespace coppice::render_internal {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the well-formed, printable UTF-8 character at the start of `text`, or 0.
// The ranges are those of the Unicode standard, table 3-7; noncharacters are not for XML.
size_t PrintableLength(absl::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&byte](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return 0;
  if (lead < 0xE0) return lead == 0xC2 && byte(1) < 0xA0 ? 0 : 2;  // U+0080..9F are controls.
  if (!continues(2)) return 0;
  if (lead < 0xF0) {
    const unsigned code = (lead & 0xFu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < 0x800 || surrogate || code >= 0xFFFE ? 0 : 3;
  }
  if (!continues(3) || (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) {
    return 0;
  }
  return 4;
}

// Whether a row whose value of `feature` is missing can come to `node`.
bool MissingArrives(const Tree& tree, uint32_t node, uint32_t feature) {
  for (uint32_t child = node, up = tree.parent(node); up != kNoParent;
       child = up, up = tree.parent(up)) {
    const Node& split = tree.nodes()[up];
    if (split.feature == feature && GoesLeft(split, kMissingValue) != (split.left == child)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = PrintableLength(text);
    absl::StrAppend(&out, length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

size_t CharacterCount(absl::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  }));
}

std::string Title(const TreeView& view) {
  const uint32_t leaves = view.tree().num_leaves();
  return absl::StrCat("tree ", view.number + 1, " of ", view.model.forest().size(), ": ",
                      Printable(view.model.schema().label()), " by ", leaves,
                      leaves == 1 ? " leaf" : " leaves", ", depth ", view.tree().depth());
}

std::string PrivacyLine(const Model& model) {
  const Certificate& c = model.certificate();
  if (c.mechanism.empty()) return "";
  const std::string epsilon = ShortestNumber(static_cast<double>(c.epsilon_nanos) / 1e9);
  if (c.reports == 0 && c.public_rows == 0) {  // not of a study
    return absl::StrCat("ε = ", epsilon, ", ", Printable(c.mechanism),
                        ", neighbours: ", Printable(c.neighbouring));
  }
  return absl::StrCat("ε = ", epsilon, " a report, ", Printable(c.mechanism), ", ", c.reports,
                      " reports, ", c.public_rows, " public rows");
}

std::string Question(const TreeView& view, uint32_t node) {
  const Tree& tree = view.tree();
  const Node& split = tree.nodes()[node];
  const Feature& feature = view.model.tree_schema().features()[split.feature];
  const std::string name = Printable(feature.name);
  if (split.kind == SplitKind::kMissing) return absl::StrCat(name, " is missing");
  std::string question;
  if (split.kind == SplitKind::kNumeric) {
    question = absl::StrCat(name, " < ", ShortestNumber(split.threshold));
  } else if (split.threshold == feature.other()) {
    question = absl::StrCat(name, " is none of the known");
  } else {
    question =
        absl::StrCat(name, " = ", Printable(feature.values[static_cast<size_t>(split.threshold)]));
  }
  if (split.missing_left && MissingArrives(tree, node, split.feature)) {
    absl::StrAppend(&question, " or missing");
  }
  return question;
}

double ShareOf(const TreeView& view, uint32_t leaf, uint32_t output) {
  const std::vector<double>& numbers = view.prediction(leaf).probabilities;
  if (view.model.leaf_kind() != LeafKind::kWeights) return numbers[output];
  double total = 0;
  for (const double x : numbers) total += std::max(x, 0.0);
  return total > 0 ? std::max(numbers[output], 0.0) / total
                   : 1 / static_cast<double>(numbers.size());
}

// A tree of scores answers with others only: what its leaf adds is all there is to say.
static std::string Scores(const LeafPrediction& leaf) {
  return absl::StrFormat("%+.3f", leaf.probabilities[leaf.label]);
}

std::string Certainty(const TreeView& view, uint32_t number) {
  const LeafPrediction& leaf = view.prediction(number);
  const std::optional<Target>& target = view.model.schema().target();
  const bool weights = view.model.leaf_kind() == LeafKind::kWeights;
  if (view.model.leaf_kind() == LeafKind::kScores) return Scores(leaf);
  if (target) {
    if (weights || !std::isfinite(leaf.standard_error)) return "";
    return absl::StrFormat("± %.3g", leaf.standard_error * target->span());
  }
  const double p = ShareOf(view, number, leaf.label);
  if (weights) return absl::StrFormat("%.2f", p);
  if (!std::isfinite(leaf.standard_error)) return absl::StrFormat("%.2f ± ?", p);
  return absl::StrFormat("%.2f ± %.2f", p, leaf.standard_error);
}

std::string PrunedTo(const TreeView& view, uint32_t leaf) {
  const uint32_t source = view.prediction(leaf).source_node;
  if (source == view.tree().leaf_node(leaf)) return "";
  return absl::StrCat("depth ", view.tree().node_depth(source));
}

std::string Answer(const TreeView& view, uint32_t leaf) {
  if (const auto& target = view.model.schema().target()) {
    return absl::StrFormat("%.4g", target->min + target->span() * ShareOf(view, leaf, 1));
  }
  return Printable(view.model.schema().classes()[view.prediction(leaf).label]);
}

std::string ClassColor(uint32_t label, double lightness) {
  constexpr double kBlue = 212, kGoldenAngle = 137.50776, kSaturation = 0.62;
  const double hue = std::fmod(kBlue + kGoldenAngle * label, 360.0);
  const double chroma = kSaturation * std::min(lightness, 1 - lightness);
  const auto channel = [&](double offset) {  // CSS Color 4, "HSL to RGB".
    const double k = std::fmod(offset + hue / 30, 12.0);
    const double value = lightness - chroma * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<int>(std::lround(value * 255));
  };
  return absl::StrFormat("#%02x%02x%02x", channel(0), channel(8), channel(4));
}

}  // namespace coppice::render_internal
