#include "server/relay/daemon/relay_key.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "common/base/file_permissions.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/pem.h"

namespace coppice::relay {
namespace {

std::string KeyFileOf(const std::string& data_dir) { return StrCat(data_dir, "/relay.key"); }

StatusOr<SigningKey> DrawKey() {
  OpenSslRandom random;
  SigningKey::Seed seed{};
  for (uint8_t& byte : seed) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(256));
    byte = static_cast<uint8_t>(drawn);
  }
  StatusOr<SigningKey> key = SigningKey::FromSeed(seed);
  OPENSSL_cleanse(seed.data(), seed.size());
  return key;
}

// Writes it as `openssl genpkey -algorithm ed25519` does.
Status WriteKey(const std::string& file, const SigningKey& key) {
  const KeyPtr pkey(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, key.seed().data(),
                                                 key.seed().size()));
  const BioPtr out(BIO_new(BIO_s_secmem()));
  if (pkey == nullptr || out == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(out.get(), pkey.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    ERR_clear_error();
    return InternalError("OpenSSL cannot write an Ed25519 key");
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return WriteFileAtomically(file, std::string_view(text, static_cast<size_t>(size)),
                             {.mode = kSecretFileMode});
}

}  // namespace

Status CheckDataDir(const std::string& data_dir) {
  struct stat status {};
  if (stat(data_dir.c_str(), &status) != 0) {
    return FailedPreconditionError(StrCat("--data-dir ", data_dir, ": ", std::strerror(errno),
                                          "; `coppice-relay keygen --data-dir ", data_dir,
                                          "` makes it"));
  }
  if (!S_ISDIR(status.st_mode)) {
    return FailedPreconditionError(
        StrCat("--data-dir ", data_dir, ": is not a folder; name another"));
  }
  if ((status.st_mode & S_IRWXO) == 0) return OkStatus();
  return FailedPreconditionError(StrCat("--data-dir ", data_dir,
                                        ": anyone on this machine can enter it, and it holds who "
                                        "gets which ticket: run chmod o-rwx on it"));
}

StatusOr<SigningKey> MakeRelayKey(const std::string& data_dir) {
  if (mkdir(data_dir.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return FailedPreconditionError(StrCat("--data-dir ", data_dir, ": cannot be made (",
                                          std::strerror(errno), "); name another"));
  }
  COPPICE_RETURN_IF_ERROR(CheckDataDir(data_dir));
  COPPICE_ASSIGN_OR_RETURN(SigningKey key, DrawKey());
  const Status written = WriteKey(KeyFileOf(data_dir), key);
  if (written.ok()) return key;
  if (!IsAlreadyExists(written)) return written;
  return AlreadyExistsError(StrCat(KeyFileOf(data_dir),
                                   ": exists already. Devices that pinned it would refuse another "
                                   "key; for a new relay name another folder"));
}

StatusOr<SigningKey> LoadRelayKey(const std::string& data_dir) {
  const std::string file = KeyFileOf(data_dir);
  if (IsWorldAccessible(file)) {
    return FailedPreconditionError(
        StrCat(file,
               ": anyone on this machine can read or change it: run chmod 600 on it, and make a "
               "new relay if others use the machine"));
  }
  StatusOr<std::string> pem = ReadTextFile(file);
  if (!pem.ok()) {
    return FailedPreconditionError(StrCat(
        pem.status().message(), "; `coppice-relay keygen --data-dir ", data_dir, "` makes it"));
  }
  StatusOr<SigningKey> key = SigningKey::FromPem(*pem);
  OPENSSL_cleanse(pem->data(), pem->size());
  if (key.ok()) return key;
  return InvalidArgumentError(StrCat(file, " ", key.status().message()));
}

}  // namespace coppice::relay
