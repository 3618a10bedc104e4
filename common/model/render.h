// Draws a tree as text, Graphviz DOT or SVG for people; and summarizes a model, or prints it as a
// table of votes if it is one (votes.h).
//
// The SVG is self-contained (no Graphviz is needed to view it). Names and categories are escaped
// for the format. Cuts are in readable form (cuts.h).
//
// A tree in a model file may have a million nodes, 512 levels and names as long as the file: a
// drawing that exceeds kMaxDrawingBytes is refused, and abandoned early.

#ifndef COPPICE_COMMON_MODEL_RENDER_H_
#define COPPICE_COMMON_MODEL_RENDER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/model/model.h"

namespace coppice {

enum class RenderFormat { kText, kDot, kSvg, kVotes };

inline constexpr size_t kMaxDrawingBytes = size_t{64} << 20;

// Parses "text", "dot", "svg" or "votes"; the InvalidArgument error names them.
StatusOr<RenderFormat> ParseRenderFormat(std::string_view name);

// Draws tree number `tree` of the model; as votes, all trees. InvalidArgument if there is no such
// tree, or the model is not a vote. OutOfRange if the drawing would be too large.
StatusOr<std::string> Render(const Model& model, size_t tree, RenderFormat format);

// Summarizes a forest in lines for people: what it predicts, at which cost in privacy, how large it
// is, and which features its answers depend on (summary.h).
std::string RenderSummary(const Model& model);

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_RENDER_H_
