// Turns a plain store into a sealed one, batch by batch: every batch leaves a store that can go on.

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/store/store_format.h"
#include "server/store/vault/keyed_store.h"
#include "server/store/vault/private_records.h"
#include "server/store/vault/vault_records.h"

namespace coppice::vault {
namespace {

constexpr size_t kBatchBytes = size_t{16} << 20;

// Seals private records in byte order. Each batch records how far sealing came, for after a crash.
// Skips records that open already, whatever the state says: files may have been repaired.
class RecordSealer {
 public:
  RecordSealer(storage::Store& store, const MasterKey& master, VaultState state, KeyRing ring)
      : store_(store), master_(master), state_(std::move(state)), ring_(std::move(ring)) {}

  Status SealAll() {
    for (const std::string_view prefix : PrivatePrefixes()) {
      COPPICE_RETURN_IF_ERROR(store_.Scan(
          prefix,
          [this](std::string_view key, std::string_view value) { return SealRecord(key, value); }));
    }
    state_ = {.master_id = state_.master_id, .phase = VaultPhase::kPurging};
    return Write();
  }

 private:
  Status SealRecord(std::string_view key, std::string_view value) {
    const std::optional<std::string> unit = UnitOf(key);
    if (!unit.has_value() || key <= state_.sealed_to) return OkStatus();
    COPPICE_ASSIGN_OR_RETURN(const auto secret, KeyFor(*unit, master_, ring_, batch_));
    if (Open(*secret, LabelOf(key), value).ok()) return OkStatus();
    COPPICE_ASSIGN_OR_RETURN(std::string sealed, Seal(*secret, LabelOf(key), value));
    bytes_ += sealed.size();
    batch_.Put(std::string(key), std::move(sealed));
    state_.sealed_to = std::string(key);
    return bytes_ < kBatchBytes ? OkStatus() : Write();
  }

  Status Write() {
    PutVaultState(state_, batch_);
    COPPICE_RETURN_IF_ERROR(store_.Apply(batch_));
    batch_ = {};
    bytes_ = 0;
    return OkStatus();
  }

  storage::Store& store_;
  const MasterKey& master_;
  VaultState state_;
  KeyRing ring_;
  storage::StoreBatch batch_;
  size_t bytes_ = 0;
};

StatusOr<bool> HoldsPrivateRecords(const storage::Store& store) {
  bool holds = false;
  for (const std::string_view prefix : PrivatePrefixes()) {
    const Status scanned = store.Scan(prefix, [&](std::string_view key, std::string_view) {
      holds = UnitOf(key).has_value();
      return holds ? CancelledError("") : OkStatus();
    });
    if (holds) return true;
    COPPICE_RETURN_IF_ERROR(scanned);
  }
  return false;
}

// Overwriting a private record is not enough: files and logs still hold the older, plain value.
Status PurgeBytesOfBefore(storage::Store& store, const VaultState& state) {
  for (const std::string_view prefix : PrivatePrefixes()) {
    COPPICE_RETURN_IF_ERROR(store.Purge(prefix));
  }
  COPPICE_RETURN_IF_ERROR(store.Purge(kWrappedKeyPrefix));
  storage::StoreBatch batch;
  PutVaultState({.master_id = state.master_id, .phase = VaultPhase::kSealed}, batch);
  return store.Apply(batch);
}

StatusOr<VaultState> BeginSealing(storage::Store& store, const MasterKey& master) {
  // The format must be the first record of a store.
  COPPICE_RETURN_IF_ERROR(storage::OpenFormat(store));
  COPPICE_ASSIGN_OR_RETURN(const bool holds_private, HoldsPrivateRecords(store));
  const VaultState state{.master_id = master.id,
                         .phase = holds_private ? VaultPhase::kSealing : VaultPhase::kSealed};
  storage::StoreBatch batch;
  PutVaultState(state, batch);
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  return state;
}

}  // namespace

Status SealStore(storage::Store& store, const KeyFile& keys, const StepCallback& tell) {
  COPPICE_ASSIGN_OR_RETURN(std::optional<VaultState> state, ReadVaultState(store));
  if (state.has_value()) {
    COPPICE_RETURN_IF_ERROR(CheckOpens(keys, *state));
    COPPICE_RETURN_IF_ERROR(storage::HasFormat(store).status());
  } else {
    COPPICE_ASSIGN_OR_RETURN(state, BeginSealing(store, keys.current()));
  }
  if (state->phase == VaultPhase::kSealed) return OkStatus();
  if (state->phase == VaultPhase::kSealing) {
    if (tell) tell(VaultStep::kSealing, "");
    COPPICE_ASSIGN_OR_RETURN(KeyRing ring, LoadKeyRing(store, keys, /*skip_damaged=*/false));
    RecordSealer sealer(store, *keys.Find(state->master_id), *state, std::move(ring));
    COPPICE_RETURN_IF_ERROR(sealer.SealAll());
  }
  return PurgeBytesOfBefore(store, *state);
}

}  // namespace coppice::vault
