// The three renderers, and their texts for a node before they escape them for their format.

#ifndef COPPICE_COMMON_MODEL_RENDER_LABEL_H_
#define COPPICE_COMMON_MODEL_RENDER_LABEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/model/cuts.h"
#include "common/model/model.h"

namespace coppice::render_internal {

// One tree of a model, as input of the renderers.
struct TreeView {
  const Model& model;
  size_t number;             // the tree's index, from 0
  const ReadableCuts& cuts;  // the model's cuts

  const Tree& tree() const { return model.forest()[number]; }
  const LeafPrediction& prediction(uint32_t leaf) const { return model.leaves()[number][leaf]; }
};

// Counts characters (code points) of valid UTF-8.
size_t CharacterCount(std::string_view utf8);

// "tree 1 of 0 to 2: income by 7 leaves, depth 4".
std::string Title(const TreeView& view);

// "wage in EUR" if there is a unit, otherwise "wage".
std::string LabelWithUnit(const Schema& schema);

// Says what the numbers at leaves are if they are not answers: terms of a sum over the trees. "" if
// they are answers.
std::string LeafNote(const Model& model);

// What the certificate says about privacy, or "" if it names no mechanism.
std::string PrivacyLine(const Model& model);

// The question at an inner node: "age < 37.5 years", "odor = n", "income is missing". Adds "or
// missing" if a missing value can still arrive and takes the yes branch; otherwise it takes no.
std::string Question(const TreeView& view, uint32_t node);
// As above, with another text for the cut of a numeric split.
std::string Question(const TreeView& view, uint32_t node, const Cut& cut);

// Where a chain of questions about one feature's categories continues if the answer is no: the
// node's right child, if it asks about another category of the same feature. Otherwise unset.
std::optional<uint32_t> NextOfChain(const TreeView& view, uint32_t node);

// A chain's question without the feature's name: "= n or missing".
std::string ChainLink(const TreeView& view, uint32_t node);

// A number with the feature's or the target's unit.
std::string WithUnit(std::string_view number, std::string_view unit);

// What the leaf alone answers: its class by name, or its number for regression; "+1.2" if that is a
// term.
std::string Answer(const TreeView& view, uint32_t leaf);

// How certain that is: "0.83 ± 0.02" for the leaf's label, "± 1.2" for its number, "+0.12" for a
// term. PrunedTo() says how the leaf was pruned: "depth 2". Either may be "".
std::string Certainty(const TreeView& view, uint32_t leaf);
std::string PrunedTo(const TreeView& view, uint32_t leaf);

// The share of output number `output` in the leaf's answer, from 0 to 1.
double ShareOf(const TreeView& view, uint32_t leaf, uint32_t output);

// "#rrggbb" for a class: hues are a golden angle apart, so neighbours differ and none repeats. At
// lightness 0.85 it suits dark text (contrast above 10:1).
std::string ClassColor(uint32_t label, double lightness);

// The three renderers behind Render(). Each returns a complete document that ends in a line feed,
// or TooLarge() as soon as it exceeds kMaxDrawingBytes, so memory stays near that.
StatusOr<std::string> RenderText(const TreeView& view);
StatusOr<std::string> RenderDot(const TreeView& view);
StatusOr<std::string> RenderSvg(const TreeView& view);
Status TooLarge();

}  // namespace coppice::render_internal

#endif  // COPPICE_COMMON_MODEL_RENDER_LABEL_H_
