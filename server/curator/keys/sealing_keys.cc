#include "server/curator/keys/sealing_keys.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/erasure.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

// Every device has it in hardware or in OpenSSL. One suite for all reveals no device's type.
constexpr seal::Aead kSuite = seal::Aead::kAes128Gcm;

// Wipes its secret on destruction.
class WipedRecord {
 public:
  ~WipedRecord() {
    std::string& secret = *record.mutable_secret();
    OPENSSL_cleanse(secret.data(), secret.size());
  }
  v1::SealingKeyRecord record;
};

template <typename Bytes>
std::string StringOf(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

template <typename Bytes>
bool ReadBytes(std::string_view from, Bytes& to) {
  if (from.size() != to.size()) return false;
  std::copy(from.begin(), from.end(), to.begin());
  return true;
}

void PutKey(std::string_view study, const StudySealingKey& key, storage::StoreBatch& batch) {
  WipedRecord wiped;
  wiped.record.set_suite(static_cast<uint32_t>(key.aead));
  wiped.record.set_public_key(StringOf(key.public_key));
  if (key.secret.has_value()) wiped.record.set_secret(StringOf(key.secret->secret()));
  wiped.record.set_created_unix_seconds(key.created_unix_seconds);
  wiped.record.set_first_sequence(key.first_sequence);
  batch.Put(SealingKeyKey(study, key.name), wiped.record.SerializeAsString());
}

StatusOr<StudySealingKey> NewKey(int64_t now_unix_seconds, uint64_t sequence) {
  COPPICE_ASSIGN_OR_RETURN(const seal::SealingKey pair, seal::SealingKey::Generate());
  return StudySealingKey{.name = seal::SealingKeyIdOf(kSuite, pair.public_key()),
                         .aead = kSuite,
                         .public_key = pair.public_key(),
                         .secret = pair,
                         .created_unix_seconds = now_unix_seconds,
                         .first_sequence = sequence};
}

StatusOr<std::optional<seal::SealingKey>> DecodeSecret(std::string_view key, std::string_view bytes,
                                                       const seal::SealingPublicKey& public_key) {
  if (bytes.empty()) return std::nullopt;
  seal::SealingKey::Secret secret;
  if (!ReadBytes(bytes, secret)) {
    return storage::CorruptRecord(key, "has a secret of another length");
  }
  StatusOr<seal::SealingKey> pair = seal::SealingKey::FromSecret(secret);
  OPENSSL_cleanse(secret.data(), secret.size());
  if (!pair.ok()) return pair.status();
  if (pair->public_key() != public_key) {
    return storage::CorruptRecord(key, "has halves of two keys");
  }
  return *std::move(pair);
}

StatusOr<StudySealingKey> DecodeSealingKey(std::string_view study, std::string_view key,
                                           std::string_view bytes) {
  WipedRecord wiped;
  const v1::SealingKeyRecord& record = wiped.record;
  if (!wiped.record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return storage::CorruptRecord(key, "does not parse");
  }
  StudySealingKey decoded{.created_unix_seconds = record.created_unix_seconds(),
                          .first_sequence = record.first_sequence()};
  decoded.aead = static_cast<seal::Aead>(record.suite());
  if (record.suite() != static_cast<uint32_t>(seal::Aead::kAes128Gcm) &&
      record.suite() != static_cast<uint32_t>(seal::Aead::kChaCha20Poly1305)) {
    return storage::CorruptRecord(key, "has an unknown suite");
  }
  if (!ReadBytes(record.public_key(), decoded.public_key)) {
    return storage::CorruptRecord(key, "has a public key of another length");
  }
  decoded.name = seal::SealingKeyIdOf(decoded.aead, decoded.public_key);
  if (SealingKeyKey(study, decoded.name) != key) {
    return storage::CorruptRecord(key, "holds another key than it is named for");
  }
  COPPICE_ASSIGN_OR_RETURN(decoded.secret, DecodeSecret(key, record.secret(), decoded.public_key));
  return decoded;
}

}  // namespace

StatusOr<SealingKeys> SealingKeys::Make(std::string_view study, int64_t now_unix_seconds,
                                        storage::StoreBatch& batch) {
  COPPICE_ASSIGN_OR_RETURN(StudySealingKey first, NewKey(now_unix_seconds, 1));
  PutKey(study, first, batch);
  return SealingKeys({std::move(first)});
}

StatusOr<SealingKeys> SealingKeys::Load(const storage::Store& store, std::string_view study) {
  const std::string prefix = SealingPrefix(study);
  std::vector<StudySealingKey> keys;
  COPPICE_RETURN_IF_ERROR(store.Scan(prefix, [&](std::string_view key, std::string_view bytes) {
    COPPICE_ASSIGN_OR_RETURN(StudySealingKey decoded, DecodeSealingKey(study, key, bytes));
    keys.push_back(std::move(decoded));
    return OkStatus();
  }));
  if (keys.empty()) return storage::CorruptRecord(prefix, "has no key, and the study needs one");
  std::sort(keys.begin(), keys.end(), [](const StudySealingKey& a, const StudySealingKey& b) {
    return a.first_sequence < b.first_sequence;
  });
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].first_sequence != i + 1) {
      return storage::CorruptRecord(prefix, "lacks a key, or has two of one sequence");
    }
    if (keys[i].secret.has_value() != keys[0].secret.has_value()) {
      return storage::CorruptRecord(prefix, "has some keys with their secrets and some without");
    }
  }
  return SealingKeys(std::move(keys));
}

StatusOr<SealingKeys> SealingKeys::Rotate(std::string_view study, int64_t now_unix_seconds,
                                          storage::StoreBatch& batch) const {
  if (erased()) {
    return FailedPreconditionError(
        StrCat("the sealing keys of study ", study, " are erased: it takes no more reports"));
  }
  if (size() >= kMaxKeys) {
    return FailedPreconditionError(
        StrCat("study ", study, " has ", kMaxKeys,
               " sealing keys, the most that one may have: make a new study"));
  }
  COPPICE_ASSIGN_OR_RETURN(StudySealingKey next,
                           NewKey(now_unix_seconds, current().first_sequence + 1));
  PutKey(study, next, batch);
  SealingKeys rotated = *this;
  rotated.keys_.push_back(std::move(next));
  return rotated;
}

SealingKeys SealingKeys::Erase(std::string_view study, storage::StoreBatch& batch) const {
  SealingKeys without = *this;
  // In a sealed store deleting the prefix deletes the key that the secrets are sealed under.
  batch.DeletePrefix(SealingPrefix(study));
  for (StudySealingKey& key : without.keys_) {
    key.secret.reset();
    PutKey(study, key, batch);
  }
  NoteErased(study, batch);
  return without;
}

const StudySealingKey* SealingKeys::Find(const SealingKeyName& name) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const StudySealingKey& key) { return key.name == name; });
  return found == keys_.end() ? nullptr : &*found;
}

}  // namespace coppice::curator
