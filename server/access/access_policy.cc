#include "server/access/access_policy.h"

#include <openssl/crypto.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/access/bearer_token.h"
#include "server/access/method_table.h"

namespace coppice::access {
namespace {

constexpr absl::string_view kScheme = "Bearer ";

absl::Status WrongRole(RoleSet wanted, RoleSet has) {
  return absl::PermissionDeniedError(absl::StrCat("this call is for the role ", wanted.ToString(),
                                                  ", and you have ", has.ToString(" and "),
                                                  ": ask the operator for a token of that role"));
}

absl::Status NoCredential(RoleSet wanted, const Credentials& credentials) {
  return absl::UnauthenticatedError(absl::StrCat(
      "this call is for the role ", wanted.ToString(), ", and ",
      credentials.certificate_sha256 ? "your certificate has none" : "you showed no token",
      ": send one of that role as \"authorization: Bearer ...\" (coppice does with "
      "--token-file FILE)"));
}

}  // namespace

AccessPolicy::AccessPolicy(RoleSet anonymous, std::vector<PolicyEntry> tokens,
                           std::vector<PolicyEntry> certificates)
    : anonymous_(anonymous), tokens_(std::move(tokens)), certificates_(std::move(certificates)) {}

const PolicyEntry* AccessPolicy::FindToken(const Sha256Digest& hash) const {
  const PolicyEntry* found = nullptr;
  for (const PolicyEntry& token : tokens_) {
    if (CRYPTO_memcmp(token.sha256.data(), hash.data(), hash.size()) == 0) found = &token;
  }
  return found;
}

absl::StatusOr<const PolicyEntry*> AccessPolicy::CheckToken(absl::string_view authorization,
                                                            absl::Time now) const {
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) {
    return absl::UnauthenticatedError(
        "the authorization is no bearer token: send \"authorization: Bearer ...\"");
  }
  const absl::string_view token = absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
  const PolicyEntry* known = FindToken(HashOfToken(token));
  if (known == nullptr) {
    return absl::UnauthenticatedError(
        "the token is not known here: check that it was copied whole and is this server's, or ask "
        "the operator for a new one");
  }
  if (known->expires <= now) {
    return absl::UnauthenticatedError("the token has expired: ask the operator for a new one");
  }
  return known;
}

const PolicyEntry* AccessPolicy::FindCertificate(const Sha256Digest& sha256) const {
  for (const PolicyEntry& certificate : certificates_) {
    if (certificate.sha256 == sha256) return &certificate;
  }
  return nullptr;
}

absl::StatusOr<Identity> AccessPolicy::Identify(const Credentials& credentials,
                                                absl::Time now) const {
  Identity found{.name = std::string(kAnonymousName), .roles = anonymous_};
  if (credentials.certificate_sha256) {
    if (const PolicyEntry* listed = FindCertificate(*credentials.certificate_sha256)) {
      found = {.name = listed->name, .roles = found.roles | listed->roles};
    }
  }
  if (credentials.authorization) {
    COPPICE_ASSIGN_OR_RETURN(const PolicyEntry* token, CheckToken(*credentials.authorization, now));
    found = {.name = token->name, .roles = found.roles | token->roles};
  }
  return found;
}

absl::Status AccessPolicy::Check(absl::string_view path, const Credentials& credentials,
                                 absl::Time now) const {
  const Method* method = FindMethod(path);
  if (method != nullptr && method->open) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const Identity caller, Identify(credentials, now));
  if (method == nullptr) {
    return absl::PermissionDeniedError(
        "there is no such method here, or nobody may call it: is the server older than you are?");
  }
  if (caller.roles.Meets(method->roles)) return absl::OkStatus();
  const bool is_listed =
      credentials.authorization || (credentials.certificate_sha256 &&
                                    FindCertificate(*credentials.certificate_sha256) != nullptr);
  return is_listed ? WrongRole(method->roles, caller.roles)
                   : NoCredential(method->roles, credentials);
}

}  // namespace coppice::access
