#include "common/model/render.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/cuts.h"
#include "common/model/render_label.h"
#include "common/model/votes.h"

namespace coppice {

namespace render_internal {

Status TooLarge() {
  return OutOfRangeError(StrCat("the drawing would take more than ", kMaxDrawingBytes >> 20,
                                " MiB; explain single rows instead, or export the model"));
}

}  // namespace render_internal

StatusOr<RenderFormat> ParseRenderFormat(std::string_view name) {
  if (name == "text") return RenderFormat::kText;
  if (name == "dot") return RenderFormat::kDot;
  if (name == "svg") return RenderFormat::kSvg;
  if (name == "votes") return RenderFormat::kVotes;
  return InvalidArgumentError("format must be text, dot, svg or votes");
}

StatusOr<std::string> Render(const Model& model, size_t tree, RenderFormat format) {
  if (tree >= model.forest().size()) {
    return InvalidArgumentError(StrCat(
        "tree ", tree, " does not exist: the model's trees are 0 to ", model.forest().size() - 1));
  }
  const ReadableCuts cuts(model);
  const render_internal::TreeView view{.model = model, .number = tree, .cuts = cuts};
  switch (format) {
    case RenderFormat::kText:
      return render_internal::RenderText(view);
    case RenderFormat::kDot:
      return render_internal::RenderDot(view);
    case RenderFormat::kSvg:
      return render_internal::RenderSvg(view);
    case RenderFormat::kVotes:
      return RenderVotes(model);
  }
  return InvalidArgumentError("format must be text, dot, svg or votes");
}

}  // namespace coppice
