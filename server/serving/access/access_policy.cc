#include "server/serving/access/access_policy.h"

#include <openssl/crypto.h>

#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/serving/access/bearer_token.h"
#include "server/serving/access/method_table.h"

namespace coppice::access {
namespace {

constexpr std::string_view kScheme = "Bearer ";

Status WrongRole(RoleSet wanted, RoleSet has) {
  return PermissionDeniedError(StrCat("this call needs the role ", wanted.ToString(),
                                      ", but you have ", has.ToString(" and "),
                                      ": ask the operator for a token with that role"));
}

Status NoCredential(RoleSet wanted, const Credentials& credentials) {
  return UnauthenticatedError(
      StrCat("this call needs the role ", wanted.ToString(), ", and ",
             credentials.certificate_sha256 ? "your certificate has none" : "you showed no token",
             ": send one of that role as \"authorization: Bearer ...\" (coppice does with "
             "--token-file FILE)"));
}

// The caller of `method` by this grant alone.
owners::Caller CallerBy(const NamedGrant& by, const Method& method,
                        const std::shared_ptr<const std::vector<owners::Claim>>& claims) {
  const Grant& grant = by.grant;
  owners::Caller caller{.name = by.name, .resources = grant.resources, .claims = claims};
  const bool of_everything = grant.resources.empty() || grant.resources.MatchAll();
  const bool as_device = method.roles.Has(Role::kDevice) && grant.roles.Has(Role::kDevice);
  caller.is_operator = of_everything && grant.roles.Has(Role::kAdmin);
  caller.sees_all =
      grant.resources.MatchAll() || (of_everything && as_device) || caller.is_operator;
  caller.relays = grant.roles.Has(Role::kRelay) || grant.roles.Has(Role::kAdmin);
  if (caller.relays) caller.relayed = grant.resources;
  return caller;
}

std::shared_ptr<const std::vector<owners::Claim>> ClaimsOf(
    const Grant& anonymous, std::initializer_list<const std::vector<PolicyEntry>*> lists) {
  std::vector<owners::Claim> claims = {{.name = std::string(kAnonymousName),
                                        .patterns = anonymous.resources.Claims(),
                                        .is_for_everybody = true}};
  for (const std::vector<PolicyEntry>* entries : lists) {
    for (const PolicyEntry& entry : *entries) {
      owners::Patterns patterns = entry.resources.Claims();
      if (!patterns.empty())
        claims.push_back({.name = entry.name, .patterns = std::move(patterns)});
    }
  }
  return std::make_shared<const std::vector<owners::Claim>>(std::move(claims));
}

}  // namespace

RoleSet Identity::roles() const {
  RoleSet all;
  for (const NamedGrant& by : grants) all = all | by.grant.roles;
  return all;
}

AccessPolicy::AccessPolicy(Grant anonymous, std::vector<PolicyEntry> tokens,
                           std::vector<PolicyEntry> certificates,
                           std::map<std::string, owners::Quota> quotas)
    : anonymous_(std::move(anonymous)),
      tokens_(std::move(tokens)),
      certificates_(std::move(certificates)),
      claims_(ClaimsOf(anonymous_, {&tokens_, &certificates_})),
      quotas_(std::move(quotas)) {}

const PolicyEntry* AccessPolicy::FindToken(const Sha256Digest& hash) const {
  const PolicyEntry* found = nullptr;
  for (const PolicyEntry& token : tokens_) {
    if (CRYPTO_memcmp(token.sha256.data(), hash.data(), hash.size()) == 0) found = &token;
  }
  return found;
}

StatusOr<const PolicyEntry*> AccessPolicy::CheckToken(std::string_view authorization,
                                                      absl::Time now) const {
  if (!StartsWithIgnoreCase(authorization, kScheme)) {
    return UnauthenticatedError(
        "the authorization is not a bearer token: send \"authorization: Bearer ...\"");
  }
  const std::string_view token = StripAsciiWhitespace(authorization.substr(kScheme.size()));
  const PolicyEntry* known = FindToken(HashOfToken(token));
  if (known == nullptr) {
    return UnauthenticatedError(
        "the token is not known here: check that it was copied whole and is this server's, or ask "
        "the operator for a new one");
  }
  if (known->expires <= now) {
    return UnauthenticatedError("the token has expired: ask the operator for a new one");
  }
  return known;
}

const PolicyEntry* AccessPolicy::FindCertificate(const Sha256Digest& sha256) const {
  for (const PolicyEntry& certificate : certificates_) {
    if (certificate.sha256 == sha256) return &certificate;
  }
  return nullptr;
}

StatusOr<Identity> AccessPolicy::Identify(const Credentials& credentials, absl::Time now) const {
  Identity found;
  const auto add = [&found](const PolicyEntry& entry) {
    found.grants.push_back({entry.name, Grant(entry.roles, entry.resources)});
    found.entries.push_back(entry.sha256);
  };
  if (credentials.authorization) {
    COPPICE_ASSIGN_OR_RETURN(const PolicyEntry* token, CheckToken(*credentials.authorization, now));
    add(*token);
  }
  if (credentials.certificate_sha256) {
    if (const PolicyEntry* listed = FindCertificate(*credentials.certificate_sha256)) add(*listed);
  }
  found.grants.push_back({std::string(kAnonymousName), anonymous_});
  return found;
}

owners::Quota AccessPolicy::QuotaOf(const std::string& owner) const {
  if (owner.empty()) return {};
  auto found = quotas_.find(owner);
  if (found == quotas_.end()) found = quotas_.find(std::string(kEveryOtherOwner));
  return found == quotas_.end() ? owners::Quota() : found->second;
}

owners::Caller AccessPolicy::CallerOf(std::string_view path, const Credentials& credentials,
                                      absl::Time now) const {
  const Method* const method = FindMethod(path);
  const StatusOr<Identity> identity = Identify(credentials, now);
  if (method == nullptr || !identity.ok()) return {};
  std::vector<owners::Caller> entries;
  for (const NamedGrant& by : identity->grants) {
    if (by.grant.roles.Meets(method->roles)) entries.push_back(CallerBy(by, *method, claims_));
  }
  if (entries.empty()) return {};
  owners::Caller caller = std::move(entries.front());
  caller.others.assign(std::make_move_iterator(entries.begin() + 1),
                       std::make_move_iterator(entries.end()));
  return caller;
}

StatusOr<Identity> AccessPolicy::Admit(std::string_view path, const Credentials& credentials,
                                       absl::Time now) const {
  const Method* method = FindMethod(path);
  if (method != nullptr && method->open) return Identity();
  COPPICE_ASSIGN_OR_RETURN(Identity caller, Identify(credentials, now));
  if (method == nullptr) {
    return PermissionDeniedError(
        "there is no such method here, or nobody may call it: is the server older than your "
        "client?");
  }
  if (caller.roles().Meets(method->roles)) return caller;
  const bool is_listed =
      credentials.authorization || (credentials.certificate_sha256 &&
                                    FindCertificate(*credentials.certificate_sha256) != nullptr);
  return is_listed ? WrongRole(method->roles, caller.roles())
                   : NoCredential(method->roles, credentials);
}

}  // namespace coppice::access
