#include "server/store/vault/vault_records.h"

#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/store_record.h"

namespace coppice::vault {
namespace {

constexpr std::string_view kSealingName = "sealing";
constexpr std::string_view kPurgingName = "purging";
constexpr std::string_view kSealedName = "sealed";

std::string_view NameOf(VaultPhase phase) {
  switch (phase) {
    case VaultPhase::kSealing:
      return kSealingName;
    case VaultPhase::kPurging:
      return kPurgingName;
    case VaultPhase::kSealed:
      return kSealedName;
  }
  return "";
}

std::optional<VaultPhase> ParsePhase(std::string_view name) {
  for (const VaultPhase phase : {VaultPhase::kSealing, VaultPhase::kPurging, VaultPhase::kSealed}) {
    if (NameOf(phase) == name) return phase;
  }
  return std::nullopt;
}

std::string WrapLabel(std::string_view unit) { return StrCat("coppice.v1.key/", unit); }

}  // namespace

StatusOr<std::optional<VaultState>> ReadVaultState(const storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                           store.Get(std::string(kVaultKey)));
  if (!bytes.has_value()) {
    COPPICE_RETURN_IF_ERROR(store.Scan(kWrappedKeyPrefix, [](std::string_view, std::string_view) {
      return storage::CorruptRecord(kVaultKey, "is missing, though there are wrapped keys");
    }));
    return std::nullopt;
  }
  const std::vector<std::string> parts = StrSplit(*bytes, MaxSplits(' ', 2));
  const std::optional<VaultPhase> phase = parts.size() == 3 ? ParsePhase(parts[1]) : std::nullopt;
  if (!phase.has_value() || parts[0].size() != kMasterKeyIdChars) {
    return storage::CorruptRecord(kVaultKey, "is no state of a sealed store");
  }
  return VaultState{.master_id = parts[0], .phase = *phase, .sealed_to = parts[2]};
}

void PutVaultState(const VaultState& state, storage::StoreBatch& batch) {
  batch.Put(std::string(kVaultKey),
            StrCat(state.master_id, " ", NameOf(state.phase), " ", state.sealed_to));
}

Status PutWrappedKey(const MasterKey& master, std::string_view unit, const SecretKey& key,
                     storage::StoreBatch& batch) {
  COPPICE_ASSIGN_OR_RETURN(const std::string sealed,
                           Seal(master.key, WrapLabel(unit), key.bytes()));
  batch.Put(WrappedKeyKey(unit), StrCat(master.id, sealed));
  return OkStatus();
}

StatusOr<SecretKey> UnwrapKey(const KeyFile& keys, std::string_view unit, std::string_view bytes) {
  const std::string key = WrappedKeyKey(unit);
  const MasterKey* const master = keys.Find(bytes.substr(0, kMasterKeyIdChars));
  if (master == nullptr) {
    return storage::CorruptRecord(key, "is wrapped by a key that the key file does not hold");
  }
  StatusOr<std::string> opened =
      Open(master->key, WrapLabel(unit), bytes.substr(kMasterKeyIdChars));
  if (!opened.ok()) return storage::CorruptRecord(key, opened.status().message());
  StatusOr<SecretKey> unwrapped = SecretKey::FromBytes(*opened);
  Wipe(*opened);
  if (!unwrapped.ok()) return storage::CorruptRecord(key, unwrapped.status().message());
  return unwrapped;
}

StatusOr<KeyRing> LoadKeyRing(const storage::Store& store, const KeyFile& keys, bool skip_damaged) {
  KeyRing ring;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kWrappedKeyPrefix, [&](std::string_view key, std::string_view bytes) {
        const std::string_view unit = StripPrefix(key, kWrappedKeyPrefix);
        const StatusOr<SecretKey> unwrapped = UnwrapKey(keys, unit, bytes);
        if (!unwrapped.ok()) return skip_damaged ? OkStatus() : unwrapped.status();
        ring[std::string(unit)] = std::make_shared<const SecretKey>(*unwrapped);
        return OkStatus();
      }));
  return ring;
}

Status CheckOpens(const KeyFile& keys, const VaultState& state) {
  if (keys.Find(state.master_id) != nullptr) return OkStatus();
  const std::string held = StrJoin(
      keys.keys(), ", ", [](std::string* out, const MasterKey& key) { StrAppend(out, key.id); });
  return FailedPreconditionError(StrCat("the store is sealed under the key ", state.master_id,
                                        ", and the key file holds ", held,
                                        ": give the file that holds it; nothing was changed"));
}

StatusOr<std::shared_ptr<const SecretKey>> KeyFor(const std::string& unit, const MasterKey& master,
                                                  KeyRing& ring, storage::StoreBatch& batch) {
  const auto found = ring.find(unit);
  if (found != ring.end()) return found->second;
  COPPICE_ASSIGN_OR_RETURN(const SecretKey made, SecretKey::Make());
  COPPICE_RETURN_IF_ERROR(PutWrappedKey(master, unit, made, batch));
  return ring[std::string(unit)] = std::make_shared<const SecretKey>(made);
}

}  // namespace coppice::vault
