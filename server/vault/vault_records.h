// What a sealed store keeps of its own keys: meta/vault, and a wrapped key for each unit beneath
// vault/.
//
// Errors     DataLoss that names the record.

#ifndef COPPICE_SERVER_VAULT_VAULT_RECORDS_H_
#define COPPICE_SERVER_VAULT_VAULT_RECORDS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/storage/store.h"
#include "server/vault/key_file.h"
#include "server/vault/sealing.h"

namespace coppice::vault {

inline constexpr absl::string_view kVaultKey = "meta/vault";
inline constexpr absl::string_view kWrappedKeyPrefix = "vault/";

inline std::string WrappedKeyKey(absl::string_view unit) {
  return absl::StrCat(kWrappedKeyPrefix, unit);
}

enum class VaultPhase {
  kSealing,  // private records are sealed up to and with `sealed_to`, in byte order
  kPurging,  // all are sealed; files may still hold bytes, or wrapped keys, of before
  kSealed,
};

struct VaultState {
  std::string master_id;  // of the key that wraps all others
  VaultPhase phase = VaultPhase::kSealed;
  std::string sealed_to{};
};

// None if the store is plain. DataLoss if it holds wrapped keys all the same.
absl::StatusOr<std::optional<VaultState>> ReadVaultState(const storage::Store& store);
void PutVaultState(const VaultState& state, storage::StoreBatch& batch);

// The keys that seal, by their units.
using KeyRing = absl::flat_hash_map<std::string, std::shared_ptr<const SecretKey>>;

absl::Status PutWrappedKey(const MasterKey& master, absl::string_view unit, const SecretKey& key,
                           storage::StoreBatch& batch);

// A wrapped key as it is stored: the master key's id, then the sealed key.
absl::StatusOr<SecretKey> UnwrapKey(const KeyFile& keys, absl::string_view unit,
                                    absl::string_view bytes);

// All keys of a store. With `skip_damaged` those that do not open are left out.
absl::StatusOr<KeyRing> LoadKeyRing(const storage::Store& store, const KeyFile& keys,
                                    bool skip_damaged);

// FailedPrecondition that names the keys, unless `keys` has the one that `state` needs.
absl::Status CheckOpens(const KeyFile& keys, const VaultState& state);

// The key of `unit` in `ring`; a fresh one, wrapped by `master` in `batch`, if there is none.
absl::StatusOr<std::shared_ptr<const SecretKey>> KeyFor(const std::string& unit,
                                                        const MasterKey& master, KeyRing& ring,
                                                        storage::StoreBatch& batch);

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_VAULT_VAULT_RECORDS_H_
