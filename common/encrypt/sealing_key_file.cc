// Private keys as PEM and in files, which only servers have.

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "common/base/file_permissions.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/crypto/crypto.h"
#include "common/encrypt/sealing_key.h"
#include "common/terms/pem.h"

namespace coppice::seal {
namespace {

constexpr char kHowToMake[] =
    "is no private X25519 key in PEM without a passphrase; make one with `openssl genpkey "
    "-algorithm x25519`";

KeyPtr PrivateKeyOf(const SealingKey::Secret& secret) {
  return KeyPtr(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()));
}

// Returns false for a key of another type.
bool ReadBoth(const EVP_PKEY* key, SealingKey::Secret& secret, SealingPublicKey& public_key) {
  size_t secret_bytes = secret.size();
  size_t public_bytes = public_key.size();
  return key != nullptr && EVP_PKEY_id(key) == EVP_PKEY_X25519 &&
         EVP_PKEY_get_raw_private_key(key, secret.data(), &secret_bytes) == 1 &&
         EVP_PKEY_get_raw_public_key(key, public_key.data(), &public_bytes) == 1 &&
         secret_bytes == secret.size() && public_bytes == public_key.size();
}

Status FileError(const std::string& path, std::string_view what) {
  const std::string message = StrCat(path, ": ", what, " (", std::strerror(errno), ")");
  return errno == ENOENT ? NotFoundError(message) : UnavailableError(message);
}

// Overwrites the whole file with zeros; they are on disk if it returns true.
bool OverwriteWithZeros(int file) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return false;
  const std::string zeros(4096, '\0');
  for (off_t at = 0; at < facts.st_size;) {
    const size_t bytes = std::min<size_t>(zeros.size(), static_cast<size_t>(facts.st_size - at));
    const ssize_t written = pwrite(file, zeros.data(), bytes, at);
    if (written <= 0) return false;
    at += written;
  }
  return fsync(file) == 0;
}

}  // namespace

StatusOr<SealingKey> SealingKey::FromPem(std::string_view pem) {
  SealingKey read;
  const KeyPtr key = PrivateKeyFromPem(pem);
  if (ReadBoth(key.get(), read.secret_, read.public_key_)) return read;
  ERR_clear_error();
  return InvalidArgumentError(kHowToMake);
}

StatusOr<SealingKey> SealingKey::Load(const std::string& path) {
  if (IsWorldAccessible(path)) {
    return FailedPreconditionError(
        StrCat(path, ": every user of this machine may open it; run `chmod 600 ", path,
               "` and make a new key if that was so for long"));
  }
  COPPICE_ASSIGN_OR_RETURN(std::string pem, ReadTextFile(path));
  StatusOr<SealingKey> key = FromPem(pem);
  crypto::Wipe(pem.data(), pem.size());
  if (key.ok()) return key;
  return InvalidArgumentError(StrCat(path, ": ", key.status().message()));
}

Status SealingKey::Save(const std::string& path) const {
  const KeyPtr key = PrivateKeyOf(secret_);
  const BioPtr out(BIO_new(BIO_s_secmem()));
  if (key == nullptr || out == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    ERR_clear_error();
    return InternalError("OpenSSL cannot write an X25519 key");
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return WriteFileAtomically(path, std::string_view(text, static_cast<size_t>(size)),
                             {.mode = kSecretFileMode});
}

Status EraseKeyFile(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return FileError(path, "the key cannot be erased");
  const bool erased = OverwriteWithZeros(file);
  const int error = errno;
  close(file);
  errno = error;
  if (!erased || unlink(path.c_str()) != 0) return FileError(path, "the key cannot be erased");
  return OkStatus();
}

}  // namespace coppice::seal
