#include "common/model/render_label.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/text.h"
#include "common/model/certificate_text.h"
#include "common/model/explain.h"
#include "common/schema/number.h"

namespace coppice::render_internal {
namespace {

// Whether a row with a missing value of `feature` can reach `node`.
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

// "= n", "is not in the schema".
std::string CategoryText(const Feature& feature, double category) {
  if (category == feature.other()) return "is not in the schema";
  return StrCat("= ", Printable(feature.values[static_cast<size_t>(category)]));
}

std::string OrMissing(const TreeView& view, uint32_t node) {
  const Node& split = view.tree().nodes()[node];
  return split.missing_left && MissingArrives(view.tree(), node, split.feature) ? " or missing"
                                                                                : "";
}

const Feature& FeatureOfSplit(const TreeView& view, uint32_t node) {
  return view.model.tree_schema().features()[view.tree().nodes()[node].feature];
}

}  // namespace

size_t CharacterCount(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  }));
}

std::string Title(const TreeView& view) {
  const uint32_t leaves = view.tree().num_leaves();
  const size_t trees = view.model.forest().size();
  return StrCat("tree ", view.number, trees == 1 ? "" : StrCat(" of 0 to ", trees - 1), ": ",
                LabelWithUnit(view.model.schema()), " by ", leaves,
                leaves == 1 ? " leaf" : " leaves", ", depth ", view.tree().depth());
}

std::string LabelWithUnit(const Schema& schema) {
  const std::string label = Printable(schema.label());
  if (!schema.target() || schema.target()->unit.empty()) return label;
  return StrCat(label, " in ", Printable(schema.target()->unit));
}

std::string LeafNote(const Model& model) {
  if (!LeavesAreTerms(model)) return "";
  const std::string without =
      absl::StrFormat(", which is %.4g without any tree", AnswerWithoutTrees(model));
  if (model.schema().target()) return StrCat("leaves add to the number", without);
  return model.leaf_kind() == LeafKind::kScores
             ? "leaves add to the score of the class that they name"
             : StrCat("leaves add to the probability of the class that they name", without);
}

std::string WithUnit(std::string_view number, std::string_view unit) {
  return unit.empty() ? std::string(number) : StrCat(number, " ", Printable(unit));
}

std::string PrivacyLine(const Model& model) {
  const Certificate& c = model.certificate();
  if (c.mechanism.empty()) return "";
  const bool is_of_study = c.reports > 0 || EndsWith(c.neighbouring, "(local)");
  if (!is_of_study) {
    return StrCat(CostText(c), ", ", Printable(c.mechanism),
                  ", neighbours: ", Printable(c.neighbouring));
  }
  return StrCat(CostText(c), " per report, ", Printable(c.mechanism), ", ", c.reports, " reports, ",
                c.public_rows, " public rows");
}

std::string Question(const TreeView& view, uint32_t node) {
  const Node& split = view.tree().nodes()[node];
  if (split.kind != SplitKind::kNumeric) return Question(view, node, Cut());
  return Question(view, node, view.cuts.Of(split.feature, split.threshold));
}

std::string Question(const TreeView& view, uint32_t node, const Cut& cut) {
  const Feature& feature = FeatureOfSplit(view, node);
  const std::string name = Printable(feature.name);
  switch (view.tree().nodes()[node].kind) {
    case SplitKind::kNumeric:
      return StrCat(name, cut.inclusive ? " <= " : " < ",
                    WithUnit(ReadableNumber(cut.number), feature.unit), OrMissing(view, node));
    case SplitKind::kCategory:
      return StrCat(name, " ", ChainLink(view, node));
    case SplitKind::kMissing:
      return StrCat(name, " is missing");
    case SplitKind::kLeaf:
      break;
  }
  return "";
}

std::optional<uint32_t> NextOfChain(const TreeView& view, uint32_t node) {
  const absl::Span<const Node> nodes = view.tree().nodes();
  const Node& next = nodes[nodes[node].right];
  if (nodes[node].kind != SplitKind::kCategory || next.kind != SplitKind::kCategory ||
      nodes[node].feature != next.feature) {
    return std::nullopt;
  }
  return nodes[node].right;
}

std::string ChainLink(const TreeView& view, uint32_t node) {
  return StrCat(CategoryText(FeatureOfSplit(view, node), view.tree().nodes()[node].threshold),
                OrMissing(view, node));
}

double ShareOf(const TreeView& view, uint32_t leaf, uint32_t output) {
  const std::vector<double>& numbers = view.prediction(leaf).probabilities;
  if (view.model.leaf_kind() == LeafKind::kAdditive) return std::clamp(numbers[output], 0.0, 1.0);
  if (view.model.leaf_kind() != LeafKind::kWeights) return numbers[output];
  double total = 0;
  for (const double x : numbers) total += std::max(x, 0.0);
  return total > 0 ? std::max(numbers[output], 0.0) / total
                   : 1 / static_cast<double>(numbers.size());
}

// What the leaf adds to the class that it names. Scores are shown unchanged, so that votes stay
// whole numbers; `explain` compares them with the other classes'.
static std::string ClassTerm(const TreeView& view, const LeafPrediction& leaf) {
  if (view.model.leaf_kind() == LeafKind::kScores) {
    return absl::StrFormat("%+.3f", leaf.probabilities[leaf.label]);
  }
  return absl::StrFormat("%+.3g", ContributionOf(view.model, leaf, leaf.label));
}

// A term has no error of its own: the errors at leaves are those of the whole answer.
std::string Certainty(const TreeView& view, uint32_t number) {
  const LeafPrediction& leaf = view.prediction(number);
  const std::optional<Target>& target = view.model.schema().target();
  const bool weights = view.model.leaf_kind() == LeafKind::kWeights;
  if (LeavesAreTerms(view.model)) return target ? "" : ClassTerm(view, leaf);
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
  return StrCat("depth ", view.tree().node_depth(source));
}

std::string Answer(const TreeView& view, uint32_t leaf) {
  if (const auto& target = view.model.schema().target()) {
    const std::string number =
        LeavesAreTerms(view.model)
            ? absl::StrFormat("%+.4g", ContributionOf(view.model, view.prediction(leaf), 1))
            : absl::StrFormat("%.4g", target->min + target->span() * ShareOf(view, leaf, 1));
    return WithUnit(number, target->unit);
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
