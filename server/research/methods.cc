#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/research/method.h"

namespace coppice::research {

absl::Span<const Method* const> AllMethods() {
  static const std::array kMethods = {&CtW(),   &CtQ(),         &Phist(), &Pglm(), &PsgdL(),
                                      &PsgdN(), &PsgdLaplace(), &Ssrdt(), &Top(),  &Auto()};
  return kMethods;
}

absl::Status CheckLabelled(const Table& rows) {
  for (size_t i = 0; i < rows.labels().size(); ++i) {
    if (rows.label(i) != kUnlabelled) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("row ", i + 1, " to train on has no label: leave out rows without one"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Method*> FindMethod(absl::string_view name) {
  for (const Method* method : AllMethods()) {
    if (method->info().name == name) return method;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no method ", name, "; there are ",
                   absl::StrJoin(AllMethods(), ", ", [](std::string* out, const Method* method) {
                     absl::StrAppend(out, method->info().name);
                   })));
}

}  // namespace coppice::research
