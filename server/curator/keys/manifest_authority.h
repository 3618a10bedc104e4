// The curator's signing key, and the signatures made with it.

#ifndef COPPICE_SERVER_CURATOR_KEYS_MANIFEST_AUTHORITY_H_
#define COPPICE_SERVER_CURATOR_KEYS_MANIFEST_AUTHORITY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/key_chain.h"
#include "common/terms/manifest.h"
#include "common/terms/signature.h"
#include "common/wire/proto/model_signature.h"
#include "server/store/store.h"

namespace coppice::curator {

// The keys that an operator gives, all optional.
struct SigningKeys {
  std::optional<SigningKey> key;   // signs; if unset, the stored key signs
  std::optional<SigningKey> next;  // `key` endorses this one, which signs from then on
  // `key` signs without an endorsement; devices refuse it until they are given it.
  bool break_chain = false;
};

// The signing key and the endorsements that lead to it. Public.
struct CuratorKeys {
  PublicKey key{};
  KeyChain endorsements;
};

// Signs a curator's manifests and models, and remembers the chain of keys that led to its own.
//
// The Ed25519 key is made at the first start and kept in the store, or given in a file and then
// never stored. It changes by an endorsement of the old key, or when the operator declares the
// chain broken, after which every device must be given the new key.
// Guarantee  A study's manifest is the same bytes until its content or the key changes.
// Errors     FailedPrecondition: the key that was given is not the one that signed before.
//            DataLoss: the record does not parse or fit. Otherwise what the Store returns.
// Threads    safe to share.
class ManifestAuthority {
 public:
  // Called at a rotation with the old key and a signer with the next key, before the store has the
  // rotation. Its signatures stay valid after a crash, because they carry the endorsement.
  using Rotation = absl::FunctionRef<Status(const PublicKey& before, const ModelSigner& next)>;
  static Status SignNothingAnew(const PublicKey&, const ModelSigner&) { return OkStatus(); }

  // Finds the key in the store or in `given`, or makes one. A rotation takes effect once, so the
  // same keys may be given at every start.
  static StatusOr<std::unique_ptr<ManifestAuthority>> Open(storage::Store& store,
                                                           const SigningKeys& given,
                                                           int64_t now_unix_seconds,
                                                           Rotation rotation = SignNothingAnew);

  // DataLoss if the store's record does not parse or fit. Changes nothing.
  static Status CheckStored(const storage::Store& store);

  const CuratorKeys& keys() const { return keys_; }

  // Proves to the party that drew the challenge that this curator holds the key, and that `direct`
  // is its direct key.
  StatusOr<Signature> Prove(std::string_view challenge, const DirectKey& direct) const {
    return key_.Sign(kCuratorDomain, ProvenBytes(challenge, direct));
  }
  // Signs models that this curator made. May outlive the authority.
  ModelSigner SignerOfModels() const { return SignerOf(kModelDomain); }
  // Signs heads of the audit log. May outlive the authority too.
  ModelSigner SignerOfAuditHeads() const { return SignerOf(kAuditDomain); }
  // Signs `manifest`, with its key id filled in. Returns the same object until the content changes.
  StatusOr<std::shared_ptr<const SignedManifest>> Sign(Manifest manifest);
  // Signs `closing`, with its key id filled in.
  StatusOr<SignedClosing> Sign(Closing closing) const;
  // Drops the manifest of a deleted study.
  void Forget(std::string_view study);

 private:
  ManifestAuthority(const SigningKey& key, KeyChain endorsements)
      : key_(key), keys_{key.public_key(), std::move(endorsements)} {}

  // `domain` must be a constant.
  ModelSigner SignerOf(std::string_view domain) const;

  const SigningKey key_;
  const CuratorKeys keys_;
  Mutex mutex_;
  // By study.
  StringMap<std::shared_ptr<const SignedManifest>> signed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_MANIFEST_AUTHORITY_H_
