// The lab's --epsilon: a budget, or "inf" for no privacy, which experiments compare with.

#ifndef COPPICE_SERVER_LAB_EPSILON_FLAG_H_
#define COPPICE_SERVER_LAB_EPSILON_FLAG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/privacy/budget.h"

namespace coppice::lab {

inline constexpr char kNoPrivacy[] = "inf";

// Nothing for kNoPrivacy. InvalidArgument: neither that nor a budget.
inline absl::StatusOr<std::optional<Budget>> ParseEpsilonFlag(const std::string& text) {
  if (text == kNoPrivacy) return std::optional<Budget>();
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(text));
  return std::optional<Budget>(epsilon);
}

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_EPSILON_FLAG_H_
