#include "server/serving/access/caller.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace coppice::owners {
namespace {

bool MatchAny(const Patterns& patterns, const Resource& resource) {
  return std::any_of(resource.names.begin(), resource.names.end(),
                     [&](const std::string& name) { return patterns.Match(name); });
}

}  // namespace

bool Caller::Owns(std::string_view owner) const {
  if (is_operator || (!owner.empty() && owner == name)) return true;
  return std::any_of(others.begin(), others.end(),
                     [&](const Caller& other) { return other.Owns(owner); });
}

bool Caller::MaySee(const Resource& resource) const {
  if (sees_all || Owns(resource.owner) || MatchAny(resources, resource)) return true;
  return std::any_of(others.begin(), others.end(),
                     [&](const Caller& other) { return other.MaySee(resource); });
}

bool Caller::MayRelay(const Resource& study) const {
  const bool is_owner = !study.owner.empty() && study.owner == name;
  if (is_operator || (relays && (is_owner || MatchAny(relayed, study)))) return true;
  return std::any_of(others.begin(), others.end(),
                     [&](const Caller& other) { return other.MayRelay(study); });
}

bool Caller::MayMake(std::string_view new_name) const {
  if (sees_all) return true;
  if (!resources.empty()) return resources.Match(new_name);
  if (name.empty()) return false;
  return claims == nullptr || std::none_of(claims->begin(), claims->end(), [&](const Claim& claim) {
           return claim.name != name && !claim.is_for_everybody && claim.patterns.Match(new_name);
         });
}

std::optional<std::string> Caller::PatternOfOthers(std::string_view new_name) const {
  if (claims == nullptr) return std::nullopt;
  for (const Claim& claim : *claims) {
    if (claim.name == name) continue;
    std::optional<std::string> pattern = claim.patterns.FindMatch(new_name);
    if (pattern.has_value()) return pattern;
  }
  return std::nullopt;
}

std::vector<Caller> Caller::Alone() const {
  std::vector<Caller> entries = others;
  entries.insert(entries.begin(), *this);
  entries.front().others.clear();
  return entries;
}

Caller Caller::ActingAs(size_t index) const {
  std::vector<Caller> entries = Alone();
  Caller acting = std::move(entries[index]);
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(index));
  acting.others = std::move(entries);
  return acting;
}

}  // namespace coppice::owners
