#include "server/curator/keys/sealing_key_record.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <string>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
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

std::string NameInRecord(const seal::SealingKeyId& name) {
  return StrCat("/", BytesToHexString(AsBytes(name)));
}

template <typename Bytes>
bool ReadBytes(std::string_view from, Bytes& to) {
  if (from.size() != to.size()) return false;
  std::copy(from.begin(), from.end(), to.begin());
  return true;
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

}  // namespace

StatusOr<StoredSealingKey> NewSealingKey(int64_t now_unix_seconds, uint64_t sequence) {
  COPPICE_ASSIGN_OR_RETURN(const seal::SealingKey pair, seal::SealingKey::Generate());
  return StoredSealingKey{.name = seal::SealingKeyIdOf(kSuite, pair.public_key()),
                          .aead = kSuite,
                          .public_key = pair.public_key(),
                          .secret = pair,
                          .created_unix_seconds = now_unix_seconds,
                          .first_sequence = sequence};
}

void PutSealingKey(std::string_view record_key, const StoredSealingKey& key,
                   storage::StoreBatch& batch) {
  WipedRecord wiped;
  wiped.record.set_suite(static_cast<uint32_t>(key.aead));
  wiped.record.set_public_key(StringOf(key.public_key));
  if (key.secret.has_value()) wiped.record.set_secret(StringOf(key.secret->secret()));
  wiped.record.set_created_unix_seconds(key.created_unix_seconds);
  wiped.record.set_first_sequence(key.first_sequence);
  batch.Put(std::string(record_key), wiped.record.SerializeAsString());
}

StatusOr<StoredSealingKey> DecodeSealingKey(std::string_view key, std::string_view bytes) {
  WipedRecord wiped;
  const v1::SealingKeyRecord& record = wiped.record;
  if (!wiped.record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return storage::CorruptRecord(key, "does not parse");
  }
  StoredSealingKey decoded{.created_unix_seconds = record.created_unix_seconds(),
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
  if (!EndsWith(key, NameInRecord(decoded.name))) {
    return storage::CorruptRecord(key, "holds another key than it is named for");
  }
  COPPICE_ASSIGN_OR_RETURN(decoded.secret, DecodeSecret(key, record.secret(), decoded.public_key));
  return decoded;
}

}  // namespace coppice::curator
