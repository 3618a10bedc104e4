// The JSON file that an AccessPolicy is read from:
//
//   {"anonymous": ["device"],
//    "tokens": [{"name": "ops", "sha256": "...", "roles": ["admin"],
//                "expires": "2027-01-31T00:00:00Z"}],
//    "certificates": [{"name": "team-a", "sha256": "...", "roles": ["analyst", "trainer"],
//                      "resources": ["*/team-a-*"]}],
//    "quotas": {"team-a": {"studies": 10, "datasets": 100, "bytes": 8000000000, "jobs": 2,
//                          "models": 200, "model_bytes": 2000000000,
//                          "tickets_per_second": 1000}, "*": {"studies": 3}}}
//
// Each of the four members may be left out, which then allows nothing. "sha256" is 64 hexadecimal
// digits, with or without colons between the bytes: of a token's text, or of a certificate's DER
// form (as `openssl x509 -fingerprint -sha256` prints it). "role" with one name may replace
// "roles". "resources" are patterns (server/serving/access/patterns.h) and optional. "expires" is
// RFC 3339, for tokens only, and optional. "anonymous" may also be an object with "roles" and
// "resources". Names may repeat: during a token's rotation the old and the new one stand side by
// side.
//
// Errors     ReadPolicy(): NotFound if the file cannot be read. Both: InvalidArgument that names
//            the entry and what it wants. Unknown and repeated members are rejected: a misspelt
//            one must not widen or narrow what somebody may do.

#ifndef COPPICE_SERVER_SERVING_ACCESS_POLICY_FILE_H_
#define COPPICE_SERVER_SERVING_ACCESS_POLICY_FILE_H_

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/serving/access/access_policy.h"

namespace coppice::access {

StatusOr<AccessPolicy> ParsePolicy(std::string_view json);

// Messages begin with `path`.
StatusOr<AccessPolicy> ReadPolicy(const std::string& path);

}  // namespace coppice::access

#endif  // COPPICE_SERVER_SERVING_ACCESS_POLICY_FILE_H_
