#include "server/daemon/maintenance/findings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace coppice::maintenance {

bool Findings::Has(Remedy remedy, absl::string_view id) const {
  return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
    return problem.remedy == remedy && problem.id == id;
  });
}

std::string ReasonOf(const absl::Status& status, absl::string_view key) {
  absl::string_view reason = status.message();
  if (absl::ConsumePrefix(&reason, "the stored record ")) {
    absl::ConsumePrefix(&reason, absl::StrCat(key, " "));
  }
  return std::string(reason.substr(0, reason.find("; nothing was changed")));
}

}  // namespace coppice::maintenance
