// Reading private keys, which only servers do.

#include <openssl/evp.h>

#include "common/base/status.h"
#include "common/crypto/crypto.h"
#include "common/terms/pem.h"
#include "common/terms/signature.h"

namespace coppice {

StatusOr<SigningKey> SigningKey::FromPem(std::string_view pem) {
  const KeyPtr key = PrivateKeyFromPem(pem);
  Seed seed;
  size_t size = seed.size();
  if (key == nullptr || EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_private_key(key.get(), seed.data(), &size) != 1 || size != seed.size()) {
    crypto::ForgetErrors();
    return InvalidArgumentError(
        "is no private Ed25519 key in PEM without a passphrase; make one with `openssl genpkey "
        "-algorithm ed25519`");
  }
  StatusOr<SigningKey> made = FromSeed(seed);
  crypto::Wipe(seed.data(), seed.size());
  return made;
}

}  // namespace coppice
