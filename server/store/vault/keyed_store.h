// Opens a store, sealed or not, for the daemon and the offline commands alike.

#ifndef COPPICE_SERVER_STORE_VAULT_KEYED_STORE_H_
#define COPPICE_SERVER_STORE_VAULT_KEYED_STORE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/store/store.h"
#include "server/store/store_location.h"
#include "server/store/vault/key_file.h"
#include "server/store/vault/sealed_store.h"

namespace rocksdb {
class Env;
}

namespace coppice::vault {

enum class VaultStep {
  kSealing,    // a plain store is being sealed, which takes as long as writing it anew
  kRewrapped,  // all keys are wrapped under the key file's first key, no longer under the former
};
using StepCallback = std::function<void(VaultStep step, std::string_view former_key)>;

struct KeyOptions {
  std::optional<KeyFile> keys{};  // none: only a plain store opens
  UnreadableRecords unreadable = UnreadableRecords::kRefuse;
  StepCallback tell{};
};

// A store on disk and, if it is sealed, the seal above it.
class KeyedStore {
 public:
  storage::Store& operator*() const { return sealed_ != nullptr ? *sealed_ : *disk_; }
  storage::Store* operator->() const { return &**this; }

  // Null if the store is plain.
  SealedStore* sealed() const { return sealed_.get(); }

  // Opens the store on `disk`. With keys, it first seals a plain store or finishes sealing one that
  // a crash left half sealed, then wraps all keys under the first key of the key file.
  static StatusOr<KeyedStore> Open(std::unique_ptr<storage::Store> disk, const KeyOptions& options);
  // Opens the store without changing it. A plain store stays plain.
  static StatusOr<KeyedStore> OpenUnchanged(std::unique_ptr<storage::Store> disk,
                                            const KeyOptions& options);

 private:
  KeyedStore(std::unique_ptr<storage::Store> disk, std::unique_ptr<SealedStore> sealed)
      : disk_(std::move(disk)), sealed_(std::move(sealed)) {}

  std::unique_ptr<storage::Store> disk_;
  std::unique_ptr<SealedStore> sealed_;
};

// Both open the store at `location`; see postgres_store.h and rocksdb_store.h. FailedPrecondition
// for a sealed store without its key file; no record is changed then.
StatusOr<KeyedStore> OpenKeyedStore(const storage::StoreLocation& location,
                                    const KeyOptions& options);
StatusOr<KeyedStore> OpenKeyedStoreForReading(const storage::StoreLocation& location,
                                              const KeyOptions& options);
// The same for a data directory.
StatusOr<KeyedStore> OpenKeyedStore(const std::string& data_dir, const KeyOptions& options,
                                    rocksdb::Env* env = nullptr);
StatusOr<KeyedStore> OpenKeyedStoreForReading(const std::string& data_dir,
                                              const KeyOptions& options);

// FailedPrecondition if `store`, as it is on the disk, is half sealed: a backup would copy plain
// bytes that still have to be sealed.
Status CheckNotHalfSealed(const storage::Store& store);

// A part of KeyedStore::Open(): seals the private records of `store`, or resumes where a crash
// ended that, then purges the plain bytes from its files. Does nothing to a sealed store.
Status SealStore(storage::Store& store, const KeyFile& keys, const StepCallback& tell);

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_STORE_VAULT_KEYED_STORE_H_
