// Who may do what: bearer tokens and client certificates, with the roles of each.

#ifndef COPPICE_SERVER_ACCESS_ACCESS_POLICY_H_
#define COPPICE_SERVER_ACCESS_ACCESS_POLICY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/study/sha256.h"
#include "server/access/role.h"

namespace coppice::access {

// What a call shows of its caller.
struct Credentials {
  std::optional<std::string> authorization{};        // the header's value
  std::optional<Sha256Digest> certificate_sha256{};  // of a certificate that TLS has verified
};

struct PolicyEntry {
  std::string name;       // whose it is; entries of one name are one owner of datasets
  Sha256Digest sha256{};  // of the token's text, or of the certificate's DER form
  RoleSet roles;
  absl::Time expires = absl::InfiniteFuture();
};

// Of whoever shows no credential that is listed.
inline constexpr absl::string_view kAnonymousName = "anonymous";

struct Identity {
  std::string name;  // of the token's entry if one is shown, else of the certificate's
  RoleSet roles;
};

// The hash of a token is compared with every entry, each in constant time (CRYPTO_memcmp), and the
// loop does not end early: how long it takes tells how many entries there are. (Looking the hash up
// would tell little too, for nobody can choose a token by its hash; but that needs an argument, and
// this needs none, at some 20 ns an entry.) Certificates are public, and compared plainly.
//
// Guarantee  a caller has the roles of `anonymous` and those of each credential that it shows; a
//            method that the table does not name is refused. A token that is not known, or has
//            expired, is refused also where nobody needs one: its bearer should learn of it. A
//            certificate that is not listed adds nothing.
// Errors     Unauthenticated: no credential, or one that is not good. PermissionDenied: a good one
//            of another role. Both say what to do, and show nothing of any credential.
// Threads    safe to share: it does not change.
class AccessPolicy {
 public:
  AccessPolicy(RoleSet anonymous, std::vector<PolicyEntry> tokens,
               std::vector<PolicyEntry> certificates);

  // Whether a call of `path` ("/package.Service/Method") is allowed.
  absl::Status Check(absl::string_view path, const Credentials& credentials, absl::Time now) const;

  // Who shows these. Unauthenticated as above, for a token.
  absl::StatusOr<Identity> Identify(const Credentials& credentials, absl::Time now) const;

  RoleSet anonymous() const { return anonymous_; }
  const std::vector<PolicyEntry>& tokens() const { return tokens_; }
  const std::vector<PolicyEntry>& certificates() const { return certificates_; }

 private:
  const PolicyEntry* FindToken(const Sha256Digest& hash) const;
  absl::StatusOr<const PolicyEntry*> CheckToken(absl::string_view authorization,
                                                absl::Time now) const;
  const PolicyEntry* FindCertificate(const Sha256Digest& sha256) const;

  RoleSet anonymous_;
  std::vector<PolicyEntry> tokens_;
  std::vector<PolicyEntry> certificates_;
};

}  // namespace coppice::access

#endif  // COPPICE_SERVER_ACCESS_ACCESS_POLICY_H_
