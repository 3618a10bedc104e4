#include <array>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/research/method.h"

namespace coppice::research {

absl::Span<const Method* const> AllMethods() {
  static const std::array kMethods = {&CtW(),   &CtQ(),         &Phist(), &Pglm(), &PsgdL(),
                                      &PsgdN(), &PsgdLaplace(), &Ssrdt(), &Top(),  &Srt(),
                                      &DpLr(),  &DpBag(),       &Auto()};
  return kMethods;
}

Status CheckLabelled(const Table& rows) {
  for (size_t i = 0; i < rows.labels().size(); ++i) {
    if (rows.label(i) != kUnlabelled) continue;
    return InvalidArgumentError(
        StrCat("row ", i + 1, " to train on has no label: leave out rows without one"));
  }
  return OkStatus();
}

StatusOr<const Method*> FindMethod(std::string_view name) {
  for (const Method* method : AllMethods()) {
    if (method->info().name == name) return method;
  }
  return NotFoundError(
      StrCat("there is no method ", name, "; there are ",
             StrJoin(AllMethods(), ", ", [](std::string* out, const Method* method) {
               StrAppend(out, method->info().name);
             })));
}

}  // namespace coppice::research
