// Decides who may do what to which resources: bearer tokens and client certificates, with the roles
// and resources of each.

#ifndef COPPICE_SERVER_SERVING_ACCESS_ACCESS_POLICY_H_
#define COPPICE_SERVER_SERVING_ACCESS_ACCESS_POLICY_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/serving/access/caller.h"
#include "server/serving/access/patterns.h"
#include "server/serving/access/quota.h"
#include "server/serving/access/role.h"

namespace coppice::access {

// The credentials that a call shows.
struct Credentials {
  std::optional<std::string> authorization{};        // the header's value
  std::optional<Sha256Digest> certificate_sha256{};  // of a certificate verified by TLS
};

// Roles and the resources they apply to. The two belong together: one grant's roles do not apply to
// another's resources.
struct Grant {
  Grant(RoleSet r = {}, owners::Patterns p = {}) : roles(r), resources(std::move(p)) {}

  RoleSet roles;
  // Empty: what the entry's name owns; for a device every study, for an admin everything.
  owners::Patterns resources;
};

struct PolicyEntry {
  std::string name;       // the owner; entries with the same name are one owner
  Sha256Digest sha256{};  // of a token's text or a certificate's DER form
  RoleSet roles;
  absl::Time expires = absl::InfiniteFuture();
  owners::Patterns resources{};
};

// The name of callers without a listed credential. No entry may have it.
inline constexpr std::string_view kAnonymousName = "anonymous";

// The key in "quotas" for owners that are not listed.
inline constexpr std::string_view kEveryOtherOwner = "*";

// What one credential of a call brings: the name and the grant of its entry.
struct NamedGrant {
  std::string name;
  Grant grant;
};

struct Identity {
  std::vector<NamedGrant> grants;       // the token's, the certificate's, that of everybody
  std::vector<Sha256Digest> entries{};  // of the valid credentials

  // Under whose name a call is refused that none of the grants allows.
  std::string name() const { return grants.empty() ? "" : grants.front().name; }
  RoleSet roles() const;
};

// A token's hash is compared with every entry, each in constant time (CRYPTO_memcmp), without
// stopping early: the time reveals only the number of entries. (Looking the hash up would reveal
// little too, since nobody can choose a token by its hash, but that needs an argument; this needs
// none, at about 20 ns per entry.) Certificates are public and compared plainly.
//
// Guarantee  A caller has the grant of `anonymous` and those of each credential that it shows, and
//            each of them with its own name, roles and resources: no role of one applies to what
//            another owns or was granted. A method missing from the table is refused. An unknown or
//            expired token is refused even where none is needed, so that its bearer learns of it.
//            An unlisted certificate adds nothing.
// Errors     Unauthenticated: no credential, or an invalid one. PermissionDenied: a valid one with
//            another role. Both say what to do, and show nothing of any credential.
// Threads    safe to share: immutable.
class AccessPolicy {
 public:
  AccessPolicy(Grant anonymous, std::vector<PolicyEntry> tokens,
               std::vector<PolicyEntry> certificates,
               std::map<std::string, owners::Quota> quotas = {});

  // Whether a call of `path` ("/package.Service/Method") is allowed, and the identity it is allowed
  // to; an empty one for methods open to everybody.
  StatusOr<Identity> Admit(std::string_view path, const Credentials& credentials,
                           absl::Time now) const;
  Status Check(std::string_view path, const Credentials& credentials, absl::Time now) const {
    return Admit(path, credentials, now).status();
  }

  // The identity with these credentials. Unauthenticated, as above, for an invalid token.
  StatusOr<Identity> Identify(const Credentials& credentials, absl::Time now) const;

  // The caller of a call of `path` and what it may touch, by the grants that allow the call;
  // nothing if none does. It acts as the first of them in the order of Identity.
  owners::Caller CallerOf(std::string_view path, const Credentials& credentials,
                          absl::Time now) const;

  // The quota of a name, else that of kEveryOtherOwner, else none. Resources without an owner have
  // no quota.
  owners::Quota QuotaOf(const std::string& owner) const;

  const Grant& anonymous() const { return anonymous_; }
  const std::vector<PolicyEntry>& tokens() const { return tokens_; }
  const std::vector<PolicyEntry>& certificates() const { return certificates_; }

 private:
  const PolicyEntry* FindToken(const Sha256Digest& hash) const;
  StatusOr<const PolicyEntry*> CheckToken(std::string_view authorization, absl::Time now) const;
  const PolicyEntry* FindCertificate(const Sha256Digest& sha256) const;

  Grant anonymous_;
  std::vector<PolicyEntry> tokens_;
  std::vector<PolicyEntry> certificates_;
  std::shared_ptr<const std::vector<owners::Claim>> claims_;
  std::map<std::string, owners::Quota> quotas_;
};

}  // namespace coppice::access

#endif  // COPPICE_SERVER_SERVING_ACCESS_ACCESS_POLICY_H_
