// A tree as text, Graphviz DOT or SVG, for people; and a whole model at a glance, or as a table of
// votes, if it is one (votes.h).
//
// The SVG is complete by itself (no Graphviz needed to see it). Names and categories are escaped
// for the format. Cuts are printed as people read them (cuts.h).
//
// A tree of a model file may have a million nodes, 512 levels and names as long as the file: what
// would take more than kMaxDrawingBytes is refused, and not begun in full.

#ifndef COPPICE_COMMON_TREE_RENDER_H_
#define COPPICE_COMMON_TREE_RENDER_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tree/model.h"

namespace coppice {

enum class RenderFormat { kText, kDot, kSvg, kVotes };

inline constexpr size_t kMaxDrawingBytes = size_t{64} << 20;

// "text", "dot", "svg" or "votes"; InvalidArgument names them.
absl::StatusOr<RenderFormat> ParseRenderFormat(absl::string_view name);

// Tree number `tree` of the model; of votes, all of them. InvalidArgument if there is no such tree,
// or the model is no vote. OutOfRange if the drawing would be too large.
absl::StatusOr<std::string> Render(const Model& model, size_t tree, RenderFormat format);

// A forest at a glance, in lines for people: what it predicts, at which cost in privacy, how large
// it is, and what its answers hang on (summary.h).
std::string RenderSummary(const Model& model);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_RENDER_H_
