// The record of one sealing key, whether it is a relayed study's or the curator's own.

#ifndef COPPICE_SERVER_CURATOR_KEYS_SEALING_KEY_RECORD_H_
#define COPPICE_SERVER_CURATOR_KEYS_SEALING_KEY_RECORD_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "common/encrypt/sealing_key.h"
#include "server/store/store.h"

namespace coppice::curator {

// One key as stored.
struct StoredSealingKey {
  seal::SealingKeyId name{};
  seal::Aead aead = seal::Aead::kAes128Gcm;
  seal::SealingPublicKey public_key{};
  std::optional<seal::SealingKey> secret{};  // the key pair; unset once erased
  int64_t created_unix_seconds = 0;
  uint64_t first_sequence = 0;  // keys of one owner are numbered from 1; see SealingKeys
};

// A new pair. Unavailable: the random source fails. Internal: OpenSSL lacks X25519.
StatusOr<StoredSealingKey> NewSealingKey(int64_t now_unix_seconds, uint64_t sequence);

// Writes `key` as the record `record_key`, which ends with its name in hexadecimal.
void PutSealingKey(std::string_view record_key, const StoredSealingKey& key,
                   storage::StoreBatch& batch);

// DataLoss, naming `record_key`, unless `bytes` are a key whose parts, and name, belong together.
StatusOr<StoredSealingKey> DecodeSealingKey(std::string_view record_key, std::string_view bytes);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_SEALING_KEY_RECORD_H_
