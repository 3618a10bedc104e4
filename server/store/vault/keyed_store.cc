#include "server/store/vault/keyed_store.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "server/store/store_format.h"
#include "server/store/vault/vault_records.h"

namespace coppice::vault {
namespace {

Status CheckPlain(const std::optional<VaultState>& state) {
  if (!state.has_value()) return OkStatus();
  return FailedPreconditionError(
      StrCat("the store is sealed under the key ", state->master_id,
             ": give the file that holds it as --key-file; nothing was changed"));
}

}  // namespace

StatusOr<KeyedStore> KeyedStore::Open(std::unique_ptr<storage::Store> disk,
                                      const KeyOptions& options) {
  if (!options.keys.has_value()) return OpenUnchanged(std::move(disk), options);
  COPPICE_RETURN_IF_ERROR(SealStore(*disk, *options.keys, options.tell));
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<SealedStore> sealed,
                           SealedStore::Open(*disk, *options.keys, options.unreadable));
  // A repair keeps records that do not open, and therefore also the key that may still open them.
  if (options.unreadable == UnreadableRecords::kRefuse) {
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> former,
                             sealed->Rewrap(*options.keys));
    if (former.has_value() && options.tell) options.tell(VaultStep::kRewrapped, *former);
  }
  return KeyedStore(std::move(disk), std::move(sealed));
}

StatusOr<KeyedStore> KeyedStore::OpenUnchanged(std::unique_ptr<storage::Store> disk,
                                               const KeyOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<VaultState> state, ReadVaultState(*disk));
  if (!options.keys.has_value() || !state.has_value()) {
    COPPICE_RETURN_IF_ERROR(CheckPlain(state));
    return KeyedStore(std::move(disk), nullptr);
  }
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<SealedStore> sealed,
                           SealedStore::Open(*disk, *options.keys, options.unreadable));
  return KeyedStore(std::move(disk), std::move(sealed));
}

StatusOr<KeyedStore> OpenKeyedStore(const storage::StoreLocation& location,
                                    const KeyOptions& options) {
  if (!location.is_postgres()) return OpenKeyedStore(location.address(), options);
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<storage::Store> disk,
                           storage::OpenPostgresStore(location.address()));
  return KeyedStore::Open(std::move(disk), options);
}

StatusOr<KeyedStore> OpenKeyedStoreForReading(const storage::StoreLocation& location,
                                              const KeyOptions& options) {
  if (!location.is_postgres()) return OpenKeyedStoreForReading(location.address(), options);
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<storage::Store> disk,
                           storage::OpenPostgresStoreForReading(location.address()));
  return KeyedStore::OpenUnchanged(std::move(disk), options);
}

StatusOr<KeyedStore> OpenKeyedStore(const std::string& data_dir, const KeyOptions& options,
                                    rocksdb::Env* env) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<storage::Store> disk,
                           storage::OpenRocksDbStore(data_dir, env));
  return KeyedStore::Open(std::move(disk), options);
}

StatusOr<KeyedStore> OpenKeyedStoreForReading(const std::string& data_dir,
                                              const KeyOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<storage::Store> disk,
                           storage::OpenRocksDbStoreForReading(data_dir));
  return KeyedStore::OpenUnchanged(std::move(disk), options);
}

Status CheckNotHalfSealed(const storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<VaultState> state, ReadVaultState(store));
  if (!state.has_value() || state->phase == VaultPhase::kSealed) return OkStatus();
  return FailedPreconditionError(
      "the store is half sealed: start the daemon once with --key-file, which finishes that");
}

}  // namespace coppice::vault
