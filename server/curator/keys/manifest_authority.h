// Signs what the curator says about its studies, and remembers how its key came to be the one.
//
// Key        an Ed25519 key, made at the first start and kept in the store, or given in a file and
//            then never stored. It changes by an endorsement of the old key alone, or by the
//            operator's word that the chain is broken, and then every device has to be told.
// Guarantee  a study's manifest is the same bytes as long as nothing of it, nor the key, changes.
// Errors     FailedPrecondition: the key that was given is not the one that signed before.
//            DataLoss: the record does not parse or fit. Otherwise as the Store.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CURATOR_KEYS_MANIFEST_AUTHORITY_H_
#define COPPICE_SERVER_CURATOR_KEYS_MANIFEST_AUTHORITY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/study/key_chain.h"
#include "common/study/manifest.h"
#include "common/study/signature.h"
#include "server/storage/store.h"

namespace coppice::curator {

// The keys that an operator gives, all of them optional.
struct SigningKeys {
  std::optional<SigningKey> key;   // signs; if unset, the one in the store does
  std::optional<SigningKey> next;  // is endorsed by that one, and signs from then on
  // `key` signs without an endorsement: devices refuse it until they are told.
  bool break_chain = false;
};

// What devices need to know of them. Public.
struct CuratorKeys {
  PublicKey key{};
  KeyChain endorsements;
};

class ManifestAuthority {
 public:
  // Finds the key in the store or among `given`, or makes one. A rotation that was done already is
  // not done again, so the same keys may be given at every start.
  static absl::StatusOr<std::unique_ptr<ManifestAuthority>> Open(storage::Store& store,
                                                                 const SigningKeys& given,
                                                                 int64_t now_unix_seconds);

  // DataLoss if the store's record does not parse or fit. Changes nothing.
  static absl::Status CheckStored(const storage::Store& store);

  const CuratorKeys& keys() const { return keys_; }

  // That this is who has the key, to whoever drew the challenge.
  absl::StatusOr<Signature> Prove(absl::string_view challenge) const {
    return key_.Sign(kCuratorDomain, challenge);
  }
  // `manifest`, with its key id filled in, signed. Kept, and made anew when it changes.
  absl::StatusOr<std::shared_ptr<const SignedManifest>> Sign(Manifest manifest);
  // Of a study that is deleted.
  void Forget(absl::string_view study);

 private:
  ManifestAuthority(const SigningKey& key, KeyChain endorsements)
      : key_(key), keys_{key.public_key(), std::move(endorsements)} {}

  const SigningKey key_;
  const CuratorKeys keys_;
  Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<const SignedManifest>> signed_;  // by study
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_MANIFEST_AUTHORITY_H_
