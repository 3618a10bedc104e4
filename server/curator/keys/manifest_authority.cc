#include "server/curator/keys/manifest_authority.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/manifest.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

// An endorsement is valid from a day before it is made, so that devices with slow clocks accept it.
constexpr int64_t kBackdatedSeconds = 24 * 60 * 60;

// The last signing key, as stored.
struct StoredKey {
  PublicKey public_key{};
  std::optional<SigningKey> key;  // unset if it is kept in a file
  KeyChain endorsements;
};

std::string NameOf(const PublicKey& key) {
  const KeyId id = KeyIdOf(key);
  return BytesToHexString(AsBytes(id));
}

StatusOr<SigningKey> KeyOfSeed(std::string_view bytes) {
  SigningKey::Seed seed;
  if (bytes.size() != seed.size())
    return storage::CorruptRecord(kManifestKeyKey, "has no key's length");
  std::copy(bytes.begin(), bytes.end(), seed.begin());
  return SigningKey::FromSeed(seed);
}

StatusOr<StoredKey> DecodeKey(const v1::ManifestKeyRecord& record) {
  const auto public_key = ParsePublicKeyBytes(record.public_key());
  const auto endorsements = ParseKeyChain(record.endorsements());
  if (!public_key.ok() || !endorsements.ok()) {
    return storage::CorruptRecord(kManifestKeyKey, "has a field of a wrong length");
  }
  StoredKey stored{.public_key = *public_key, .key = {}, .endorsements = *endorsements};
  if (!stored.endorsements.empty() && stored.endorsements.back().key != *public_key) {
    return storage::CorruptRecord(kManifestKeyKey, "has endorsements of another key");
  }
  if (record.seed().empty()) return stored;
  COPPICE_ASSIGN_OR_RETURN(stored.key, KeyOfSeed(record.seed()));
  if (stored.key->public_key() != *public_key) {
    return storage::CorruptRecord(kManifestKeyKey,
                                  "has a public key that is not its private one's");
  }
  return stored;
}

StatusOr<std::optional<StoredKey>> LoadKey(const storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(kManifestKeyKey));
  if (!bytes.has_value()) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(const auto record,
                           storage::ParseRecord<v1::ManifestKeyRecord>(kManifestKeyKey, *bytes));
  COPPICE_ASSIGN_OR_RETURN(StoredKey stored, DecodeKey(record));
  return stored;
}

Status SaveKey(storage::Store& store, const StoredKey& stored) {
  v1::ManifestKeyRecord record;
  if (stored.key.has_value()) {
    record.mutable_seed()->assign(stored.key->seed().begin(), stored.key->seed().end());
  }
  record.mutable_public_key()->assign(stored.public_key.begin(), stored.public_key.end());
  for (const KeyEndorsement& step : stored.endorsements) {
    *record.add_endorsements() = ToProto(step);
  }
  storage::StoreBatch batch;
  batch.Put(std::string(kManifestKeyKey), record.SerializeAsString());
  return store.Apply(batch);
}

Status NotTheKeyBefore(const PublicKey& before, const PublicKey& given) {
  return FailedPreconditionError(StrCat(
      "--signing-key is ", NameOf(given), " and the studies here are signed by ", NameOf(before),
      ": give that one, with this one as --next-signing-key, so that devices follow; if the old "
      "key "
      "is lost or stolen, add --break-key-chain, and give every device the new key"));
}

Status NoKey(const PublicKey& before) {
  return FailedPreconditionError(
      StrCat("the key ", NameOf(before),
             " that signs this curator's studies is kept in a file: give it as "
             "--signing-key"));
}

StatusOr<SigningKey> MakeKey() {
  SigningKey::Seed seed;
  if (RAND_priv_bytes(seed.data(), static_cast<int>(seed.size())) != 1) {
    return UnavailableError("the system random source failed");
  }
  StatusOr<SigningKey> key = SigningKey::FromSeed(seed);
  OPENSSL_cleanse(seed.data(), seed.size());
  return key;
}

// The key of a first start or of a broken chain.
StatusOr<StoredKey> FirstKey(const SigningKeys& given) {
  if (given.key.has_value()) {
    return StoredKey{.public_key = given.key->public_key(), .key = {}, .endorsements = {}};
  }
  COPPICE_ASSIGN_OR_RETURN(const SigningKey made, MakeKey());
  return StoredKey{.public_key = made.public_key(), .key = made, .endorsements = {}};
}

// The private key for `stored`, wherever it is kept.
StatusOr<SigningKey> WholeKeyOf(const StoredKey& stored, const SigningKeys& given) {
  if (given.key.has_value()) {
    if (given.key->public_key() == stored.public_key) return *given.key;
    return NotTheKeyBefore(stored.public_key, given.key->public_key());
  }
  if (stored.key.has_value()) return *stored.key;
  return NoKey(stored.public_key);
}

// What the store keeps after the rotation: no private key. The old one is dropped and the new one
// stays in its file.
StatusOr<StoredKey> Rotate(const StoredKey& stored, const SigningKey& old_key,
                           const SigningKey& next, int64_t now) {
  StoredKey rotated{
      .public_key = next.public_key(), .key = {}, .endorsements = stored.endorsements};
  COPPICE_ASSIGN_OR_RETURN(
      rotated.endorsements.emplace_back(),
      Endorse(old_key, next.public_key(), std::max<int64_t>(0, now - kBackdatedSeconds)));
  if (rotated.endorsements.size() > kMaxEndorsements) {
    rotated.endorsements.erase(rotated.endorsements.begin());
  }
  return rotated;
}

}  // namespace

Status ManifestAuthority::CheckStored(const storage::Store& store) {
  return LoadKey(store).status();
}

StatusOr<std::unique_ptr<ManifestAuthority>> ManifestAuthority::Open(storage::Store& store,
                                                                     const SigningKeys& given,
                                                                     int64_t now_unix_seconds,
                                                                     Rotation rotation) {
  COPPICE_ASSIGN_OR_RETURN(std::optional<StoredKey> stored, LoadKey(store));
  const auto opened = [](const SigningKey& signer, const StoredKey& from) {
    return std::unique_ptr<ManifestAuthority>(new ManifestAuthority(signer, from.endorsements));
  };
  if (stored.has_value() && given.next.has_value() &&
      given.next->public_key() == stored->public_key) {
    // An earlier start rotated, and may have ended before the old key was purged from disk.
    COPPICE_RETURN_IF_ERROR(store.Purge(kManifestKeyKey));
    return opened(*given.next, *stored);
  }
  const bool breaks = stored.has_value() && given.break_chain && given.key.has_value() &&
                      given.key->public_key() != stored->public_key;
  if (!stored.has_value() || breaks) {
    COPPICE_ASSIGN_OR_RETURN(stored, FirstKey(given));
    COPPICE_RETURN_IF_ERROR(SaveKey(store, *stored));
    if (breaks) COPPICE_RETURN_IF_ERROR(store.Purge(kManifestKeyKey));
  }
  COPPICE_ASSIGN_OR_RETURN(const SigningKey key, WholeKeyOf(*stored, given));
  if (!given.next.has_value()) return opened(key, *stored);
  COPPICE_ASSIGN_OR_RETURN(stored, Rotate(*stored, key, *given.next, now_unix_seconds));
  std::unique_ptr<ManifestAuthority> next = opened(*given.next, *stored);
  COPPICE_RETURN_IF_ERROR(rotation(key.public_key(), next->SignerOfModels()));
  COPPICE_RETURN_IF_ERROR(SaveKey(store, *stored));
  COPPICE_RETURN_IF_ERROR(store.Purge(kManifestKeyKey));
  return next;
}

StatusOr<std::shared_ptr<const SignedManifest>> ManifestAuthority::Sign(Manifest manifest) {
  manifest.key = KeyIdOf(keys_.key);
  std::string bytes = WriteManifest(manifest);
  const MutexLock lock(mutex_);
  std::shared_ptr<const SignedManifest>& kept = signed_[manifest.study];
  if (kept != nullptr && kept->bytes == bytes) return kept;
  COPPICE_ASSIGN_OR_RETURN(const Signature signature, key_.Sign(kManifestDomain, bytes));
  kept = std::make_shared<const SignedManifest>(SignedManifest{.bytes = std::move(bytes),
                                                               .signature = signature,
                                                               .key = keys_.key,
                                                               .endorsements = keys_.endorsements});
  return kept;
}

StatusOr<SignedClosing> ManifestAuthority::Sign(Closing closing) const {
  closing.key = KeyIdOf(keys_.key);
  SignedClosing made{
      .bytes = WriteClosing(closing), .key = keys_.key, .endorsements = keys_.endorsements};
  COPPICE_ASSIGN_OR_RETURN(made.signature, key_.Sign(kClosingDomain, made.bytes));
  return made;
}

ModelSigner ManifestAuthority::SignerOf(std::string_view domain) const {
  return [domain, key = key_, keys = keys_](std::string_view bytes) -> StatusOr<ModelSignature> {
    COPPICE_ASSIGN_OR_RETURN(const Signature signature, key.Sign(domain, bytes));
    return ModelSignature{
        .signature = signature, .key = keys.key, .endorsements = keys.endorsements};
  };
}

void ManifestAuthority::Forget(std::string_view study) {
  const MutexLock lock(mutex_);
  signed_.erase(std::string(study));
}

}  // namespace coppice::curator
