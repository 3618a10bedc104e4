// The roles of callers, and sets of them.

#ifndef COPPICE_SERVER_SERVING_ACCESS_ROLE_H_
#define COPPICE_SERVER_SERVING_ACCESS_ROLE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace coppice::access {

enum class Role : uint8_t {
  kDevice,   // fetches offers, sends reports
  kRelay,    // fetches offers of relayed studies, delivers batches
  kAnalyst,  // reads studies and models, predicts
  kTrainer,  // as analysts; also datasets, jobs, models of studies
  kAdmin,    // everything
};
inline constexpr std::array<Role, 5> kAllRoles = {Role::kDevice, Role::kRelay, Role::kAnalyst,
                                                  Role::kTrainer, Role::kAdmin};

// Converts between roles and their names: "device", ...
std::string_view RoleName(Role role);
std::optional<Role> RoleOf(std::string_view name);

class RoleSet {
 public:
  constexpr RoleSet() = default;
  constexpr RoleSet(std::initializer_list<Role> roles) {
    for (const Role role : roles) Add(role);
  }

  constexpr void Add(Role role) { bits_ |= Bit(role); }
  constexpr bool Has(Role role) const { return (bits_ & Bit(role)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Meets(RoleSet other) const { return (bits_ & other.bits_) != 0; }
  friend constexpr RoleSet operator|(RoleSet a, RoleSet b) {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr bool operator==(RoleSet, RoleSet) = default;

  // "device or admin"; "nobody" if empty.
  std::string ToString(std::string_view between = " or ") const;

 private:
  static constexpr uint8_t Bit(Role role) {
    return static_cast<uint8_t>(1u << static_cast<uint8_t>(role));
  }
  uint8_t bits_ = 0;
};

}  // namespace coppice::access

#endif  // COPPICE_SERVER_SERVING_ACCESS_ROLE_H_
