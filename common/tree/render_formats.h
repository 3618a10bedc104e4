// The three renderers behind Render(). Each returns a whole document that ends in a line feed.

#ifndef COPPICE_COMMON_TREE_RENDER_FORMATS_H_
#define COPPICE_COMMON_TREE_RENDER_FORMATS_H_

#include <string>

#include "common/tree/render_label.h"

namespace coppice::render_internal {

std::string RenderText(const TreeView& view);
std::string RenderDot(const TreeView& view);
std::string RenderSvg(const TreeView& view);

}  // namespace coppice::render_internal

#endif  // COPPICE_COMMON_TREE_RENDER_FORMATS_H_
