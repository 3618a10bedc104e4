// Makes the tokens that callers bear; only their hashes are kept.
//
// A token is "coppice_" and 32 bytes of OpenSSL's private generator in base64url without padding
// (43 characters). The prefix lets scanners of code and logs find leaked tokens.
// Guarantee  Nobody can guess a token (256 bits), so keeping a plain SHA-256 of it is safe: there
//            is no dictionary to try, and neither salt nor a slow hash would add anything.

#ifndef COPPICE_SERVER_SERVING_ACCESS_BEARER_TOKEN_H_
#define COPPICE_SERVER_SERVING_ACCESS_BEARER_TOKEN_H_

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/terms/sha256.h"

namespace coppice::access {

inline constexpr std::string_view kTokenPrefix = "coppice_";

// Unavailable if the system's random source fails.
StatusOr<std::string> MakeBearerToken();

// The hash of the token's text.
Sha256Digest HashOfToken(std::string_view token);

}  // namespace coppice::access

#endif  // COPPICE_SERVER_SERVING_ACCESS_BEARER_TOKEN_H_
