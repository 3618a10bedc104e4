// The three renderers behind Render(). Each returns a whole document that ends in a line feed, or
// TooLarge() once it would be longer than kMaxDrawingBytes: they hold little more than that.

#ifndef COPPICE_COMMON_TREE_RENDER_FORMATS_H_
#define COPPICE_COMMON_TREE_RENDER_FORMATS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tree/render_label.h"

namespace coppice::render_internal {

absl::Status TooLarge();

absl::StatusOr<std::string> RenderText(const TreeView& view);
absl::StatusOr<std::string> RenderDot(const TreeView& view);
absl::StatusOr<std::string> RenderSvg(const TreeView& view);

}  // namespace coppice::render_internal

#endif  // COPPICE_COMMON_TREE_RENDER_FORMATS_H_
