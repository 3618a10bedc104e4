// What the three renderers say about a node, before they escape it for their format.

#ifndef COPPICE_COMMON_TREE_RENDER_LABEL_H_
#define COPPICE_COMMON_TREE_RENDER_LABEL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/tree/model.h"

namespace coppice::render_internal {

// One tree of a model, as the renderers take it.
struct TreeView {
  const Model& model;
  size_t number;  // of the tree, from 0

  const Tree& tree() const { return model.forest()[number]; }
  const LeafPrediction& prediction(uint32_t leaf) const { return model.leaves()[number][leaf]; }
};

// Characters (code points) of valid UTF-8.
size_t CharacterCount(absl::string_view utf8);

// "tree 1 of 3: income by 7 leaves, depth 4".
std::string Title(const TreeView& view);

// What the certificate says of the privacy, or "" if it names no mechanism.
std::string PrivacyLine(const Model& model);

// The question at an inner node: "age < 37.5", "odor = n", "income is missing". "or missing" is
// added where a missing value can still come and takes the yes branch; elsewhere it takes no.
std::string Question(const TreeView& view, uint32_t node);

// What the leaf alone answers: its class by name, or its number for regression.
std::string Answer(const TreeView& view, uint32_t leaf);

// How sure that is: "0.83 ± 0.02" of the leaf's label, "± 1.2" of its number. And how the leaf was
// pruned: "depth 2". Either may be "".
std::string Certainty(const TreeView& view, uint32_t leaf);
std::string PrunedTo(const TreeView& view, uint32_t leaf);

// The part of the leaf's answer that output number `output` has, from 0 to 1.
double ShareOf(const TreeView& view, uint32_t leaf, uint32_t output);

// "#rrggbb" for a class: hues a golden angle apart, so neighbours differ and none repeats. Light
// enough at 0.85 for dark text (contrast above 10:1).
std::string ClassColor(uint32_t label, double lightness);

}  // namespace coppice::render_internal

#endif  // COPPICE_COMMON_TREE_RENDER_LABEL_H_
