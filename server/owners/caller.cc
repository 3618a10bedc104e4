#include "server/owners/caller.h"

#include <algorithm>

namespace coppice::owners {

bool Caller::MaySee(const Resource& resource) const {
  if (sees_all || Owns(resource.owner)) return true;
  return std::any_of(resource.names.begin(), resource.names.end(),
                     [this](const std::string& granted) { return resources.Match(granted); });
}

bool Caller::MayRelay(const Resource& study) const {
  if (is_operator) return true;
  return relays && (Owns(study.owner) || std::any_of(study.names.begin(), study.names.end(),
                                                     [this](const std::string& granted) {
                                                       return relayed.Match(granted);
                                                     }));
}

bool Caller::MayMake(absl::string_view new_name) const {
  if (sees_all) return true;
  if (!resources.empty()) return resources.Match(new_name);
  if (name.empty()) return false;
  return claims == nullptr || std::none_of(claims->begin(), claims->end(), [&](const Claim& claim) {
           return claim.name != name && claim.patterns.Match(new_name);
         });
}

}  // namespace coppice::owners
