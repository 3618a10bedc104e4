// Who may do what to which resources: bearer tokens and client certificates, with the roles and the
// resources of each.

#ifndef COPPICE_SERVER_ACCESS_ACCESS_POLICY_H_
#define COPPICE_SERVER_ACCESS_ACCESS_POLICY_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/study/sha256.h"
#include "server/access/role.h"
#include "server/owners/caller.h"
#include "server/owners/patterns.h"
#include "server/owners/quota.h"

namespace coppice::access {

// What a call shows of its caller.
struct Credentials {
  std::optional<std::string> authorization{};        // the header's value
  std::optional<Sha256Digest> certificate_sha256{};  // of a certificate that TLS has verified
};

// Roles, and what they are for. The two belong together: the roles of one grant do nothing for the
// resources of another.
struct Grant {
  Grant(RoleSet r = {}, owners::Patterns p = {}) : roles(r), resources(std::move(p)) {}

  RoleSet roles;
  // None: what the entry's name owns; for a device every study, and for an admin everything.
  owners::Patterns resources;
};

struct PolicyEntry {
  std::string name;       // whose it is; entries of one name are one owner
  Sha256Digest sha256{};  // of the token's text, or of the certificate's DER form
  RoleSet roles;
  absl::Time expires = absl::InfiniteFuture();
  owners::Patterns resources{};
};

// Of whoever shows no credential that is listed. No entry may have this name.
inline constexpr absl::string_view kAnonymousName = "anonymous";

// The name in "quotas" for owners that are not in it.
inline constexpr absl::string_view kEveryOtherOwner = "*";

struct Identity {
  std::string name;  // of the token's entry if one is shown, else of the certificate's
  std::vector<Grant> grants;
  std::vector<Sha256Digest> entries{};  // of the credentials that are good

  RoleSet roles() const;
};

// The hash of a token is compared with every entry, each in constant time (CRYPTO_memcmp), and the
// loop does not end early: how long it takes tells how many entries there are. (Looking the hash up
// would tell little too, for nobody can choose a token by its hash; but that needs an argument, and
// this needs none, at some 20 ns an entry.) Certificates are public, and compared plainly.
//
// Guarantee  a caller has the grant of `anonymous` and those of each credential that it shows; a
//            method that the table does not name is refused. A token that is not known, or has
//            expired, is refused also where nobody needs one: its bearer should learn of it. A
//            certificate that is not listed adds nothing.
// Errors     Unauthenticated: no credential, or one that is not good. PermissionDenied: a good one
//            of another role. Both say what to do, and show nothing of any credential.
// Threads    safe to share: it does not change.
class AccessPolicy {
 public:
  AccessPolicy(Grant anonymous, std::vector<PolicyEntry> tokens,
               std::vector<PolicyEntry> certificates,
               std::map<std::string, owners::Quota> quotas = {});

  // Whether a call of `path` ("/package.Service/Method") is allowed, and to whom: nobody for what
  // is open to everybody.
  absl::StatusOr<Identity> Admit(absl::string_view path, const Credentials& credentials,
                                 absl::Time now) const;
  absl::Status Check(absl::string_view path, const Credentials& credentials, absl::Time now) const {
    return Admit(path, credentials, now).status();
  }

  // Who shows these. Unauthenticated as above, for a token.
  absl::StatusOr<Identity> Identify(const Credentials& credentials, absl::Time now) const;

  // Whose call of `path` it is and what it may touch, by the grants that allow the call: nothing if
  // none does.
  owners::Caller CallerOf(absl::string_view path, const Credentials& credentials,
                          absl::Time now) const;

  // The quota of a name, else that of kEveryOtherOwner, else none. What has no owner has none
  // either.
  owners::Quota QuotaOf(const std::string& owner) const;

  const Grant& anonymous() const { return anonymous_; }
  const std::vector<PolicyEntry>& tokens() const { return tokens_; }
  const std::vector<PolicyEntry>& certificates() const { return certificates_; }

 private:
  const PolicyEntry* FindToken(const Sha256Digest& hash) const;
  absl::StatusOr<const PolicyEntry*> CheckToken(absl::string_view authorization,
                                                absl::Time now) const;
  const PolicyEntry* FindCertificate(const Sha256Digest& sha256) const;

  Grant anonymous_;
  std::vector<PolicyEntry> tokens_;
  std::vector<PolicyEntry> certificates_;
  std::shared_ptr<const std::vector<owners::Claim>> claims_;
  std::map<std::string, owners::Quota> quotas_;
};

}  // namespace coppice::access

#endif  // COPPICE_SERVER_ACCESS_ACCESS_POLICY_H_
