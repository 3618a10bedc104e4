#include "server/serving/access/bearer_token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::access {

StatusOr<std::string> MakeBearerToken() {
  std::array<uint8_t, 32> secret;
  if (RAND_priv_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
    return UnavailableError("the system random source failed");
  }
  std::string token = StrCat(kTokenPrefix, WebSafeBase64Escape(AsBytes(secret)));
  OPENSSL_cleanse(secret.data(), secret.size());
  return token;
}

Sha256Digest HashOfToken(std::string_view token) { return Sha256({token}); }

}  // namespace coppice::access
