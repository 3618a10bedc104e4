// Tokens that callers bear: made here, kept as hashes only.
//
// Token      "coppice_" and 32 bytes of OpenSSL's private generator in base64url without padding
//            (43 characters): the prefix lets scanners of code and logs find one that leaked.
// Guarantee  nobody guesses one (256 bits), and a plain SHA-256 of it is enough to keep: there is
//            no dictionary of such tokens to try, so neither salt nor a slow hash adds anything.

#ifndef COPPICE_SERVER_ACCESS_BEARER_TOKEN_H_
#define COPPICE_SERVER_ACCESS_BEARER_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/sha256.h"

namespace coppice::access {

inline constexpr absl::string_view kTokenPrefix = "coppice_";

// Unavailable if the system's random source fails.
absl::StatusOr<std::string> MakeBearerToken();

// Of the token's text.
Sha256Digest HashOfToken(absl::string_view token);

}  // namespace coppice::access

#endif  // COPPICE_SERVER_ACCESS_BEARER_TOKEN_H_
