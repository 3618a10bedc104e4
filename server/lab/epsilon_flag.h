// The lab's --epsilon: a budget, or "inf" for no privacy, which experiments compare with.

#ifndef COPPICE_SERVER_LAB_EPSILON_FLAG_H_
#define COPPICE_SERVER_LAB_EPSILON_FLAG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/privacy/budget.h"

namespace coppice::lab {

inline constexpr char kNoPrivacy[] = "inf";

// Nothing for kNoPrivacy. InvalidArgument: neither that nor a budget.
absl::StatusOr<std::optional<Budget>> ParseEpsilonFlag(const std::string& text);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_EPSILON_FLAG_H_
