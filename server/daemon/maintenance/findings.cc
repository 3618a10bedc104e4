#include "server/daemon/maintenance/findings.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::maintenance {

bool Findings::Has(Remedy remedy, std::string_view id) const {
  return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
    return problem.remedy == remedy && problem.id == id;
  });
}

std::string ReasonOf(const Status& status, std::string_view key) {
  std::string_view reason = status.message();
  if (ConsumePrefix(&reason, "the stored record ")) {
    ConsumePrefix(&reason, StrCat(key, " "));
  }
  return std::string(reason.substr(0, reason.find("; nothing was changed")));
}

}  // namespace coppice::maintenance
