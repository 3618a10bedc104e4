// A store whose errors may reach callers of the daemon.

#ifndef COPPICE_SERVER_STORE_DISCREET_STORE_H_
#define COPPICE_SERVER_STORE_DISCREET_STORE_H_

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::storage {

// What a caller is told instead of an engine's error, which names the database's address, user and
// name, or paths: the same code, and a sentence that goes by the code alone.
Status DiscreetError(const Status& error);

// Passes everything on to another store. From Hide() on, errors of the store are told in full to
// `tell` and go on as DiscreetError(). Before that they go on as they are, to whoever starts the
// daemon. What Scan()'s visitor returns always goes on as it is, and so do the errors of backups,
// which only the operator makes, into a folder of the operator's choice.
//
// Guarantee  An error that goes on in other words was told in full within the last kTellAgain.
// Threads    safe to share, as `tell` must be.
class DiscreetStore final : public Store {
 public:
  // While a database is away every call fails; a line each would fill the disk of the log.
  static constexpr absl::Duration kTellAgain = absl::Seconds(10);

  using Tell = std::function<void(const Status& error)>;

  // `store` must outlive it.
  DiscreetStore(Store& store, Tell tell) : store_(store), tell_(std::move(tell)) {}

  void Hide() { hides_ = true; }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override;
  Status Apply(const StoreBatch& batch) override;
  Status Scan(
      std::string_view prefix,
      absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) const override;
  Status Purge(std::string_view prefix) override;
  StatusOr<StoreBackup> Backup(const BackupOptions& options) override {
    return store_.Backup(options);
  }
  StatusOr<std::vector<StoreBackup>> ListBackups(const std::string& folder) const override {
    return store_.ListBackups(folder);
  }

 private:
  Status Judge(const Status& status) const;
  bool WasToldLately(const Status& error) const;

  Store& store_;
  const Tell tell_;
  std::atomic<bool> hides_{false};
  mutable Mutex mutex_;
  mutable Status last_told_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Time last_told_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_DISCREET_STORE_H_
