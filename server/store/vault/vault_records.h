// The records that a sealed store keeps about its own keys: meta/vault, and one wrapped key per
// unit under vault/.
//
// Errors     DataLoss names the record.

#ifndef COPPICE_SERVER_STORE_VAULT_VAULT_RECORDS_H_
#define COPPICE_SERVER_STORE_VAULT_VAULT_RECORDS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/store.h"
#include "server/store/vault/key_file.h"
#include "server/store/vault/sealing.h"

namespace coppice::vault {

inline constexpr std::string_view kVaultKey = "meta/vault";
inline constexpr std::string_view kWrappedKeyPrefix = "vault/";

inline std::string WrappedKeyKey(std::string_view unit) { return StrCat(kWrappedKeyPrefix, unit); }

enum class VaultPhase {
  kSealing,  // private records are sealed up to and including `sealed_to`, in byte order
  kPurging,  // all are sealed; files may still hold former bytes or wrapped keys
  kSealed,
};

struct VaultState {
  std::string master_id;  // the id of the key that wraps all others
  VaultPhase phase = VaultPhase::kSealed;
  std::string sealed_to{};
};

// None if the store is plain. DataLoss if it has no state but does have wrapped keys.
StatusOr<std::optional<VaultState>> ReadVaultState(const storage::Store& store);
void PutVaultState(const VaultState& state, storage::StoreBatch& batch);

// The keys that seal, by their units.
using KeyRing = StringMap<std::shared_ptr<const SecretKey>>;

Status PutWrappedKey(const MasterKey& master, std::string_view unit, const SecretKey& key,
                     storage::StoreBatch& batch);

// A wrapped key as it is stored: the master key's id, then the sealed key.
StatusOr<SecretKey> UnwrapKey(const KeyFile& keys, std::string_view unit, std::string_view bytes);

// Loads all keys of a store. With `skip_damaged`, skips the keys that do not open.
StatusOr<KeyRing> LoadKeyRing(const storage::Store& store, const KeyFile& keys, bool skip_damaged);

// FailedPrecondition, naming the keys, unless `keys` has the one that `state` needs.
Status CheckOpens(const KeyFile& keys, const VaultState& state);

// Returns the key of `unit` in `ring`, or makes a fresh one and wraps it under `master` in `batch`.
StatusOr<std::shared_ptr<const SecretKey>> KeyFor(const std::string& unit, const MasterKey& master,
                                                  KeyRing& ring, storage::StoreBatch& batch);

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_STORE_VAULT_VAULT_RECORDS_H_
