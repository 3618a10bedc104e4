#include "server/lab/epsilon_flag.h"

#include "common/base/status_macros.h"

namespace coppice::lab {

absl::StatusOr<std::optional<Budget>> ParseEpsilonFlag(const std::string& text) {
  if (text == kNoPrivacy) return std::optional<Budget>();
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(text));
  return std::optional<Budget>(epsilon);
}

}  // namespace coppice::lab
