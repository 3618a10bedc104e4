#include "server/serving/access/policy_file.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/nearest_word.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::access {
namespace {

using nlohmann::json;

constexpr size_t kMaxPolicyBytes = size_t{1} << 24;

Status Wrong(std::string_view where, std::string_view problem) {
  return InvalidArgumentError(StrCat(where, " ", problem));
}

// nlohmann's parser keeps the last of two members with one name; here both are rejected.
StatusOr<json> ParseJson(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto notice = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  json root = json::parse(text.begin(), text.end(), notice, /*allow_exceptions=*/false);
  if (root.is_discarded()) return Wrong("the policy", "is not valid JSON");
  if (!twice.empty()) return Wrong("the policy", StrCat("has the member \"", twice, "\" twice"));
  return root;
}

Status CheckMembers(const json& object, std::string_view where,
                    std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return Wrong(where, "must be a JSON object");
  for (const auto& [name, value] : object.items()) {
    const auto same = [&name = name](std::string_view other) { return other == name; };
    if (std::none_of(known.begin(), known.end(), same)) {
      const std::string meant = DidYouMean(name, {known.begin(), known.end()});
      return Wrong(
          where,
          StrCat("has the member \"", name, "\"",
                 meant.empty() ? StrCat(", which is not one of ", StrJoin(known, ", ")) : meant));
    }
  }
  return OkStatus();
}

std::string RoleNames() {
  return StrJoin(kAllRoles, ", ",
                 [](std::string* out, Role role) { StrAppend(out, RoleName(role)); });
}

StatusOr<RoleSet> ParseRoles(const json& list, std::string_view where) {
  if (!list.is_array()) return Wrong(where, "must be a list of roles");
  RoleSet roles;
  for (const json& name : list) {
    const std::optional<Role> role =
        name.is_string() ? RoleOf(name.get<std::string>()) : std::nullopt;
    if (!role) {
      return Wrong(where, StrCat("has ", name.dump(-1, ' ', true, json::error_handler_t::replace),
                                 ", which is not one of ", RoleNames()));
    }
    roles.Add(*role);
  }
  return roles;
}

// Parses "roles": [...] or "role": "...", with at least one role.
StatusOr<RoleSet> RolesOfEntry(const json& entry, const std::string& where) {
  const bool one = entry.contains("role");
  if (one == entry.contains("roles")) {
    return Wrong(where, "needs \"roles\", a list, or \"role\", one name");
  }
  COPPICE_ASSIGN_OR_RETURN(const RoleSet roles,
                           one ? ParseRoles(json::array({entry["role"]}), StrCat(where, ".role"))
                               : ParseRoles(entry["roles"], StrCat(where, ".roles")));
  if (roles.empty()) return Wrong(where, "needs at least one role");
  return roles;
}

StatusOr<Sha256Digest> HashOfEntry(const json& entry, const std::string& where) {
  const Status error = Wrong(where, "needs \"sha256\", 64 hexadecimal digits that are not all 0");
  const auto found = entry.find("sha256");
  if (found == entry.end() || !found->is_string()) return error;
  const std::string text = StrReplaceAll(found->get<std::string>(), {{":", ""}});
  Sha256Digest digest{};
  if (text.size() != 2 * digest.size()) return error;
  for (const char digit : text) {
    if (!IsAsciiXdigit(digit)) return error;
  }
  const std::string bytes = HexStringToBytes(text);
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  if (digest == Sha256Digest{}) return error;
  return digest;
}

StatusOr<absl::Time> ExpiryOfEntry(const json& entry, const std::string& where) {
  const auto found = entry.find("expires");
  if (found == entry.end()) return absl::InfiniteFuture();
  absl::Time expires;
  std::string ignored;
  if (!found->is_string() ||
      !absl::ParseTime(absl::RFC3339_full, found->get<std::string>(), &expires, &ignored) ||
      expires == absl::InfiniteFuture()) {
    return Wrong(where, "has \"expires\" in another form than 2027-01-31T00:00:00Z (RFC 3339)");
  }
  return expires;
}

// Parses the optional "resources": [...].
StatusOr<owners::Patterns> ResourcesOfEntry(const json& entry, const std::string& where) {
  const auto found = entry.find("resources");
  if (found == entry.end()) return owners::Patterns();
  const std::string in = StrCat(where, ".resources");
  if (!found->is_array() || found->empty()) {
    return Wrong(in,
                 "must be a list of patterns such as \"datasets/team-a-*\"; leave it out for an "
                 "entry that sees only what it owns");
  }
  std::vector<std::string> texts;
  for (const json& text : *found) {
    if (!text.is_string()) return Wrong(in, "must be a list of texts");
    texts.push_back(text.get<std::string>());
  }
  StatusOr<owners::Patterns> patterns = owners::Patterns::Parse(texts);
  if (!patterns.ok()) return Wrong(StrCat(in, ":"), patterns.status().message());
  return patterns;
}

StatusOr<std::string> NameOfEntry(const json& entry, const std::string& where) {
  const auto name = entry.find("name");
  if (name == entry.end() || !name->is_string() || name->get<std::string>().empty()) {
    return Wrong(where, "needs \"name\", a text that says whose it is");
  }
  if (name->get<std::string>() == kAnonymousName) {
    return Wrong(where,
                 "has the name \"anonymous\", which stands for callers without a credential: "
                 "choose another");
  }
  return name->get<std::string>();
}

StatusOr<PolicyEntry> ParseEntry(const json& entry, const std::string& where) {
  PolicyEntry parsed;
  COPPICE_ASSIGN_OR_RETURN(parsed.name, NameOfEntry(entry, where));
  COPPICE_ASSIGN_OR_RETURN(parsed.sha256, HashOfEntry(entry, where));
  COPPICE_ASSIGN_OR_RETURN(parsed.roles, RolesOfEntry(entry, where));
  COPPICE_ASSIGN_OR_RETURN(parsed.resources, ResourcesOfEntry(entry, where));
  COPPICE_ASSIGN_OR_RETURN(parsed.expires, ExpiryOfEntry(entry, where));
  return parsed;
}

StatusOr<std::vector<PolicyEntry>> ParseEntries(const json& root, const std::string& list,
                                                std::initializer_list<std::string_view> members) {
  std::vector<PolicyEntry> entries;
  const auto found = root.find(list);
  if (found == root.end()) return entries;
  if (!found->is_array()) return Wrong(list, "must be a list");
  std::set<Sha256Digest> seen;
  for (const json& element : *found) {
    const std::string where = StrCat(list, "[", entries.size(), "]");
    COPPICE_RETURN_IF_ERROR(CheckMembers(element, where, members));
    COPPICE_ASSIGN_OR_RETURN(PolicyEntry entry, ParseEntry(element, where));
    if (!seen.insert(entry.sha256).second) {
      return Wrong(where, "has the same \"sha256\" as another entry: combine their roles in one");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Parses "anonymous": [roles] or {"roles": [...], "resources": [...]}.
StatusOr<Grant> ParseAnonymous(const json& root) {
  const auto found = root.find("anonymous");
  if (found == root.end()) return Grant();
  if (!found->is_object()) return ParseRoles(*found, "anonymous");
  COPPICE_RETURN_IF_ERROR(CheckMembers(*found, "anonymous", {"role", "roles", "resources"}));
  COPPICE_ASSIGN_OR_RETURN(const RoleSet roles, RolesOfEntry(*found, "anonymous"));
  COPPICE_ASSIGN_OR_RETURN(owners::Patterns resources, ResourcesOfEntry(*found, "anonymous"));
  return Grant(roles, std::move(resources));
}

StatusOr<owners::Quota> ParseQuota(const json& members, const std::string& where) {
  owners::Quota quota;
  COPPICE_RETURN_IF_ERROR(CheckMembers(
      members, where,
      {"studies", "datasets", "bytes", "jobs", "models", "model_bytes", "tickets_per_second"}));
  for (const auto& [name, value] : members.items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() == 0) {
      return Wrong(StrCat(where, ".", name),
                   "must be a whole number, 1 or more; leave it out for no limit");
    }
    uint64_t& limit = name == "studies"       ? quota.studies
                      : name == "datasets"    ? quota.datasets
                      : name == "bytes"       ? quota.bytes
                      : name == "jobs"        ? quota.jobs
                      : name == "models"      ? quota.models
                      : name == "model_bytes" ? quota.model_bytes
                                              : quota.tickets_per_second;
    limit = value.get<uint64_t>();
  }
  return quota;
}

// Parses "quotas": {"team-a": {"studies": 10}, "*": {...}}. Rejects names that no entry has.
StatusOr<std::map<std::string, owners::Quota>> ParseQuotas(
    const json& root, std::initializer_list<const std::vector<PolicyEntry>*> lists) {
  std::map<std::string, owners::Quota> quotas;
  const auto found = root.find("quotas");
  if (found == root.end()) return quotas;
  if (!found->is_object()) return Wrong("quotas", "must be a JSON object");
  std::set<std::string> owners = {std::string(kAnonymousName), std::string(kEveryOtherOwner)};
  for (const std::vector<PolicyEntry>* entries : lists) {
    for (const PolicyEntry& entry : *entries) owners.insert(entry.name);
  }
  for (const auto& [owner, members] : found->items()) {
    const std::string where = StrCat("quotas[\"", owner, "\"]");
    if (owners.count(owner) == 0) {
      return Wrong(where,
                   "does not belong to an entry: use an entry's name, \"anonymous\", or \"*\" for "
                   "all others");
    }
    COPPICE_ASSIGN_OR_RETURN(quotas[owner], ParseQuota(members, where));
  }
  return quotas;
}

}  // namespace

StatusOr<AccessPolicy> ParsePolicy(std::string_view text) {
  COPPICE_ASSIGN_OR_RETURN(const json root, ParseJson(text));
  COPPICE_RETURN_IF_ERROR(
      CheckMembers(root, "the policy", {"anonymous", "tokens", "certificates", "quotas"}));
  COPPICE_ASSIGN_OR_RETURN(Grant anonymous, ParseAnonymous(root));
  COPPICE_ASSIGN_OR_RETURN(
      std::vector<PolicyEntry> tokens,
      ParseEntries(root, "tokens", {"name", "sha256", "role", "roles", "resources", "expires"}));
  COPPICE_ASSIGN_OR_RETURN(
      std::vector<PolicyEntry> certificates,
      ParseEntries(root, "certificates", {"name", "sha256", "role", "roles", "resources"}));
  COPPICE_ASSIGN_OR_RETURN(auto quotas, ParseQuotas(root, {&tokens, &certificates}));
  return AccessPolicy(std::move(anonymous), std::move(tokens), std::move(certificates),
                      std::move(quotas));
}

StatusOr<AccessPolicy> ReadPolicy(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  if (text.size() > kMaxPolicyBytes) return Wrong(path, "has more than 16 megabytes");
  StatusOr<AccessPolicy> policy = ParsePolicy(text);
  if (!policy.ok()) return Wrong(StrCat(path, ":"), policy.status().message());
  return policy;
}

}  // namespace coppice::access
