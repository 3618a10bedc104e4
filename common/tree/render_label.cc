#include "common/tree/render_label.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/schema/number.h"

namespace coppice::render_internal {
namespace {

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
