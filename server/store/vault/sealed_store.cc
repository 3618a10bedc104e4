#include "server/store/vault/sealed_store.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/store_record.h"
#include "server/store/vault/private_records.h"
#include "server/store/vault/sealing.h"

namespace coppice::vault {
namespace {

bool HoldsPrivate(const storage::StoreBatch& batch) {
  return std::any_of(batch.puts().begin(), batch.puts().end(),
                     [](const auto& put) { return UnitOf(put.first).has_value(); }) ||
         std::any_of(batch.deleted_prefixes().begin(), batch.deleted_prefixes().end(),
                     [](const std::string& prefix) { return MayHoldUnits(prefix); });
}

// Returns the units of `ring` that lose all their records.
std::vector<std::string> UnitsDeletedBy(const storage::StoreBatch& batch, const KeyRing& ring) {
  std::vector<std::string> deleted;
  for (const std::string& prefix : batch.deleted_prefixes()) {
    if (!MayHoldUnits(prefix)) continue;
    for (const auto& [unit, key] : ring) {
      const std::string of_unit = PrefixOfUnit(unit);
      if (!of_unit.empty() && StartsWith(of_unit, prefix)) deleted.push_back(unit);
    }
  }
  return deleted;
}

std::optional<std::string> TryOpen(std::string_view key, std::string_view unit,
                                   std::string_view value, const KeyRing& ring) {
  const auto found = ring.find(unit);
  if (found == ring.end()) return std::nullopt;
  StatusOr<std::string> opened = Open(*found->second, LabelOf(key), value);
  if (!opened.ok()) return std::nullopt;
  return *std::move(opened);
}

}  // namespace

StatusOr<std::unique_ptr<SealedStore>> SealedStore::Open(storage::Store& base, KeyFile keys,
                                                         UnreadableRecords unreadable) {
  COPPICE_ASSIGN_OR_RETURN(std::optional<VaultState> state, ReadVaultState(base));
  if (!state.has_value() || state->phase == VaultPhase::kSealing) {
    return FailedPreconditionError(
        "the store is not sealed throughout: start the daemon with --key-file, which seals it");
  }
  COPPICE_RETURN_IF_ERROR(CheckOpens(keys, *state));
  COPPICE_ASSIGN_OR_RETURN(KeyRing ring,
                           LoadKeyRing(base, keys, unreadable == UnreadableRecords::kShow));
  return std::unique_ptr<SealedStore>(
      new SealedStore(base, std::move(keys), *std::move(state), std::move(ring), unreadable));
}

StatusOr<std::optional<std::string>> SealedStore::Rewrap(KeyFile keys) {
  const MutexLock change(change_mutex_);
  COPPICE_RETURN_IF_ERROR(CheckOpens(keys, state_));
  const std::string former = state_.master_id;
  const MasterKey& master = keys.current();
  if (master.id != former) {
    storage::StoreBatch batch;
    for (const auto& [unit, key] : *Ring()) {
      COPPICE_RETURN_IF_ERROR(PutWrappedKey(master, unit, *key, batch));
    }
    const VaultState state{.master_id = master.id, .phase = VaultPhase::kPurging};
    PutVaultState(state, batch);
    COPPICE_RETURN_IF_ERROR(base_.Apply(batch));
    state_ = state;
  }
  keys_ = std::move(keys);
  COPPICE_RETURN_IF_ERROR(PurgeFormerKeys());
  if (state_.master_id == former) return std::nullopt;
  return former;
}

Status SealedStore::PurgeFormerKeys() {
  if (state_.phase == VaultPhase::kSealed) return OkStatus();
  COPPICE_RETURN_IF_ERROR(base_.Purge(kWrappedKeyPrefix));
  VaultState state = state_;
  state.phase = VaultPhase::kSealed;
  storage::StoreBatch batch;
  PutVaultState(state, batch);
  COPPICE_RETURN_IF_ERROR(base_.Apply(batch));
  state_ = std::move(state);
  return OkStatus();
}

std::string SealedStore::master_id() const {
  const MutexLock change(change_mutex_);
  return state_.master_id;
}

StatusOr<std::optional<std::string>> SealedStore::Get(std::string_view key) const {
  const std::optional<std::string> unit = UnitOf(key);
  if (!unit.has_value()) return base_.Get(key);
  Rings rings = {Ring()};
  for (;;) {
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> value, base_.Get(key));
    if (!value.has_value()) return std::nullopt;
    COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> opened,
                             OpenRecord(key, *unit, *value, rings));
    if (opened.has_value()) return opened;
  }
}

Status SealedStore::Scan(
    std::string_view prefix,
    absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) const {
  Rings rings = {Ring()};
  return base_.Scan(prefix, [&](std::string_view key, std::string_view value) -> Status {
    const std::optional<std::string> unit = UnitOf(key);
    if (!unit.has_value()) return visit(key, value);
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> opened,
                             OpenRecord(key, *unit, value, rings));
    return opened.has_value() ? visit(key, *opened) : OkStatus();
  });
}

StatusOr<std::optional<std::string>> SealedStore::OpenRecord(std::string_view key,
                                                             std::string_view unit,
                                                             std::string_view value,
                                                             Rings& rings) const {
  const auto try_all = [&]() -> std::optional<std::string> {
    for (const std::shared_ptr<const KeyRing>& ring : rings) {
      if (std::optional<std::string> opened = TryOpen(key, unit, value, *ring)) return opened;
    }
    return std::nullopt;
  };
  if (std::optional<std::string> opened = try_all()) return opened;
  // The unit's key may have been made after the reader took its ring.
  if (std::shared_ptr<const KeyRing> now = Ring(); now != rings.back()) {
    rings.push_back(std::move(now));
    if (std::optional<std::string> opened = try_all()) return opened;
  }
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> still, base_.Get(key));
  if (still != value) return std::nullopt;
  if (unreadable_ == UnreadableRecords::kShow) return std::string(value);
  return storage::CorruptRecord(
      key, "does not open with its key: it was changed, moved or sealed by another");
}

Status SealedStore::VisitUnreadable(absl::FunctionRef<void(std::string_view key)> visit) const {
  const std::shared_ptr<const KeyRing> ring = Ring();
  COPPICE_RETURN_IF_ERROR(
      base_.Scan(kWrappedKeyPrefix, [&](std::string_view key, std::string_view) {
        if (!ring->contains(StripPrefix(key, kWrappedKeyPrefix))) visit(key);
        return OkStatus();
      }));
  for (const std::string_view prefix : PrivatePrefixes()) {
    COPPICE_RETURN_IF_ERROR(base_.Scan(prefix, [&](std::string_view key, std::string_view value) {
      const std::optional<std::string> unit = UnitOf(key);
      if (unit.has_value() && !TryOpen(key, *unit, value, *ring).has_value()) visit(key);
      return OkStatus();
    }));
  }
  return OkStatus();
}

Status SealedStore::Apply(const storage::StoreBatch& batch) {
  if (!HoldsPrivate(batch)) return base_.Apply(batch);
  const MutexLock change(change_mutex_);
  const std::shared_ptr<const KeyRing> before = Ring();
  COPPICE_ASSIGN_OR_RETURN(const SealedBatch sealed, SealBatch(batch));
  // A record must not become visible before its key.
  SetRing(sealed.during);
  const Status applied = base_.Apply(sealed.batch);
  // After an error nothing of the batch is visible, so the previous keys apply again.
  SetRing(applied.ok() ? sealed.after : before);
  return applied;
}

StatusOr<SealedStore::SealedBatch> SealedStore::SealBatch(const storage::StoreBatch& batch) const {
  SealedBatch sealed;
  sealed.during = sealed.after = Ring();
  for (const std::string& prefix : batch.deleted_prefixes()) sealed.batch.DeletePrefix(prefix);
  for (const std::string& key : batch.deleted_keys()) sealed.batch.Delete(key);
  const std::vector<std::string> deleted = UnitsDeletedBy(batch, *sealed.after);
  std::shared_ptr<KeyRing> changed;  // copied only when it changes
  const auto change = [&]() -> KeyRing& {
    if (changed == nullptr) changed = std::make_shared<KeyRing>(*sealed.after);
    sealed.after = changed;
    return *changed;
  };
  for (const std::string& unit : deleted) {
    change().erase(unit);
    sealed.batch.Delete(WrappedKeyKey(unit));
  }
  const MasterKey& master = *keys_.Find(state_.master_id);
  for (const auto& [key, value] : batch.puts()) {
    const std::optional<std::string> unit = UnitOf(key);
    if (!unit.has_value()) {
      sealed.batch.Put(key, value);
      continue;
    }
    auto found = sealed.after->find(*unit);
    std::shared_ptr<const SecretKey> secret =
        found != sealed.after->end() ? found->second : nullptr;
    if (secret == nullptr) {
      COPPICE_ASSIGN_OR_RETURN(secret, KeyFor(*unit, master, change(), sealed.batch));
    }
    COPPICE_ASSIGN_OR_RETURN(std::string bytes, Seal(*secret, LabelOf(key), value));
    sealed.batch.Put(key, std::move(bytes));
  }
  if (changed == nullptr) return sealed;
  if (deleted.empty()) {
    sealed.during = sealed.after;
    return sealed;
  }
  // Readers still open records of the deleted units until the batch is applied.
  auto during = std::make_shared<KeyRing>(*sealed.after);
  for (const auto& [unit, key] : *sealed.during) during->try_emplace(unit, key);
  sealed.during = std::move(during);
  return sealed;
}

Status SealedStore::Purge(std::string_view prefix) {
  COPPICE_RETURN_IF_ERROR(base_.Purge(prefix));
  return MayHoldUnits(prefix) ? base_.Purge(kWrappedKeyPrefix) : OkStatus();
}

std::shared_ptr<const KeyRing> SealedStore::Ring() const {
  const ReaderLock lock(ring_mutex_);
  return ring_;
}

void SealedStore::SetRing(std::shared_ptr<const KeyRing> ring) {
  const WriterLock lock(ring_mutex_);
  ring_ = std::move(ring);
}

}  // namespace coppice::vault
