// The three renderers, and what they say about a node before they escape it for their format.

#ifndef COPPICE_COMMON_TREE_RENDER_LABEL_H_
#define COPPICE_COMMON_TREE_RENDER_LABEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tree/cuts.h"
#include "common/tree/model.h"

namespace coppice::render_internal {

// One tree of a model, as the renderers take it.
struct TreeView {
  const Model& model;
  size_t number;             // of the tree, from 0
  const ReadableCuts& cuts;  // of the model

  const Tree& tree() const { return model.forest()[number]; }
  const LeafPrediction& prediction(uint32_t leaf) const { return model.leaves()[number][leaf]; }
};

// Characters (code points) of valid UTF-8.
size_t CharacterCount(absl::string_view utf8);

// "tree 1 of 0 to 2: income by 7 leaves, depth 4".
std::string Title(const TreeView& view);

// "wage in EUR" if a unit is said, else "wage".
std::string LabelWithUnit(const Schema& schema);

// What the numbers at leaves are if they are no answers: terms of a sum over the trees. "" if they
// are answers.
std::string LeafNote(const Model& model);

// What the certificate says of the privacy, or "" if it names no mechanism.
std::string PrivacyLine(const Model& model);

// The question at an inner node: "age < 37.5 years", "odor = n", "income is missing". "or missing"
// is added where a missing value can still come and takes the yes branch; elsewhere it takes no.
std::string Question(const TreeView& view, uint32_t node);
// The same with another text for the cut of a numeric split.
std::string Question(const TreeView& view, uint32_t node, const Cut& cut);

// Where a chain of questions about one feature's categories goes on if the answer is no: the node's
// right child, if it asks about another category of the same feature. Unset elsewhere.
std::optional<uint32_t> NextOfChain(const TreeView& view, uint32_t node);

// What a question of a chain says beside the feature's name: "= n or missing".
std::string ChainLink(const TreeView& view, uint32_t node);

// A number with the feature's or the target's unit.
std::string WithUnit(absl::string_view number, absl::string_view unit);

// What the leaf alone answers: its class by name, or its number for regression; "+1.2" if that is
// a term.
std::string Answer(const TreeView& view, uint32_t leaf);

// How sure that is: "0.83 ± 0.02" of the leaf's label, "± 1.2" of its number, "+0.12" of a term.
// And how the leaf was pruned: "depth 2". Either may be "".
std::string Certainty(const TreeView& view, uint32_t leaf);
std::string PrunedTo(const TreeView& view, uint32_t leaf);

// The part of the leaf's answer that output number `output` has, from 0 to 1.
double ShareOf(const TreeView& view, uint32_t leaf, uint32_t output);

// "#rrggbb" for a class: hues a golden angle apart, so neighbours differ and none repeats. Light
// enough at 0.85 for dark text (contrast above 10:1).
std::string ClassColor(uint32_t label, double lightness);

// The three renderers behind Render(). Each returns a whole document that ends in a line feed, or
// TooLarge() once it would be longer than kMaxDrawingBytes: they hold little more than that.
absl::StatusOr<std::string> RenderText(const TreeView& view);
absl::StatusOr<std::string> RenderDot(const TreeView& view);
absl::StatusOr<std::string> RenderSvg(const TreeView& view);
absl::Status TooLarge();

}  // namespace coppice::render_internal

#endif  // COPPICE_COMMON_TREE_RENDER_LABEL_H_
