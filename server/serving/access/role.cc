#include "server/serving/access/role.h"

#include <string_view>

#include "common/base/text.h"

namespace coppice::access {

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kDevice:
      return "device";
    case Role::kRelay:
      return "relay";
    case Role::kAnalyst:
      return "analyst";
    case Role::kTrainer:
      return "trainer";
    case Role::kAdmin:
      break;
  }
  return "admin";
}

std::optional<Role> RoleOf(std::string_view name) {
  for (const Role role : kAllRoles) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

std::string RoleSet::ToString(std::string_view between) const {
  std::string text;
  for (const Role role : kAllRoles) {
    if (Has(role)) StrAppend(&text, text.empty() ? "" : between, RoleName(role));
  }
  return text.empty() ? "nobody" : text;
}

}  // namespace coppice::access
