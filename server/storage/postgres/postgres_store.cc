#include "server/storage/postgres/postgres_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "server/storage/postgres/connection.h"
#include "server/storage/postgres/tables.h"
#include "server/storage/prefix.h"

namespace coppice::storage {
namespace {

constexpr size_t kIdleReaders = 4;
// A daemon that ended a moment ago may still hold the lock.
constexpr absl::Duration kLockWait = absl::Seconds(3);
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kMaxPause = absl::Seconds(3);
constexpr uint64_t kBatchesBetweenPrunes = 1000;

constexpr char kGet[] = "SELECT value FROM coppice.coppice_records WHERE key = $1";
constexpr char kScanFrom[] =
    "SELECT key, value FROM coppice.coppice_records WHERE key >= $1 ORDER BY key";
constexpr char kScanRange[] =
    "SELECT key, value FROM coppice.coppice_records WHERE key >= $1 AND key < $2 ORDER BY key";

// Sessions that read.
class ReaderPool {
 public:
  explicit ReaderPool(std::string uri) : uri_(std::move(uri)) {}

  absl::StatusOr<std::unique_ptr<Connection>> Take() {
    {
      const MutexLock lock(mutex_);
      while (!idle_.empty()) {
        std::unique_ptr<Connection> connection = std::move(idle_.back());
        idle_.pop_back();
        if (connection->IsAlive()) return connection;
      }
    }
    return Connection::Open(uri_);
  }
  // Takes back one that has read its answer to the end.
  void Return(std::unique_ptr<Connection> connection) {
    const MutexLock lock(mutex_);
    if (idle_.size() < kIdleReaders) idle_.push_back(std::move(connection));
  }

 private:
  const std::string uri_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::optional<std::string>> GetFrom(ReaderPool& readers, absl::string_view key) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, readers.Take());
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found,
                           connection->Run({.sql = kGet, .values = {QueryValue::Bytea(key)}}));
  readers.Return(std::move(connection));
  if (found.rows() == 0) return std::nullopt;
  return std::string(found.Bytes(0, 0));
}

// One statement, and so one snapshot.
absl::Status ScanIn(
    ReaderPool& readers, absl::string_view prefix,
    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> visit) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, readers.Take());
  const std::optional<std::string> end = EndOfPrefix(std::string(prefix));
  Statement statement{.sql = end ? kScanRange : kScanFrom, .values = {QueryValue::Bytea(prefix)}};
  if (end) statement.values.push_back(QueryValue::Bytea(*end));
  COPPICE_RETURN_IF_ERROR(connection->Stream(
      statement, [&](const QueryResult& row) { return visit(row.Bytes(0, 0), row.Bytes(0, 1)); }));
  readers.Return(std::move(connection));
  return absl::OkStatus();
}

class PostgresStore final : public Store {
 public:
  PostgresStore(std::string uri, std::unique_ptr<Connection> writer, int64_t epoch,
                absl::Duration patience)
      : uri_(std::move(uri)),
        epoch_(epoch),
        patience_(patience),
        readers_(uri_),
        writer_(std::move(writer)) {}

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    COPPICE_RETURN_IF_ERROR(CheckUsable());
    return GetFrom(readers_, key);
  }

  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    COPPICE_RETURN_IF_ERROR(CheckUsable());
    return ScanIn(readers_, prefix, visit);
  }

  absl::Status Apply(const StoreBatch& batch) override {
    COPPICE_RETURN_IF_ERROR(CheckBatch(batch));
    const MutexLock writing(write_mutex_);
    COPPICE_RETURN_IF_ERROR(BecomeUsable());
    // That the server has ended a session shows only when it is used.
    for (int i = 0; i < 2; ++i) {
      COPPICE_ASSIGN_OR_RETURN(const bool applied, TryApply(batch));
      if (applied) return absl::OkStatus();
    }
    return absl::UnavailableError("PostgreSQL ended the session of a batch, and of a second try");
  }

  // A prefix alone cannot be taken out of a table's files.
  absl::Status Purge(absl::string_view prefix) override {
    if (!EndOfPrefix(std::string(prefix)).has_value()) {
      return absl::InvalidArgumentError("a prefix to purge must have a byte below 255");
    }
    COPPICE_RETURN_IF_ERROR(CheckUsable());
    COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, readers_.Take());
    COPPICE_RETURN_IF_ERROR(connection->RunMaintenance("VACUUM coppice.coppice_records"));
    readers_.Return(std::move(connection));
    return absl::OkStatus();
  }

  absl::StatusOr<StoreBackup> Backup(const BackupOptions&) override {
    return absl::UnimplementedError(
        "a store in PostgreSQL is backed up by the server's own means: use pg_basebackup "
        "(docs/postgresql.md#backups)");
  }

 private:
  // The error of a store that cannot be used, or not yet.
  absl::Status CheckUsable() const {
    const MutexLock lock(state_mutex_);
    return state_;
  }
  absl::Status SetState(absl::Status state) {
    const MutexLock lock(state_mutex_);
    state_ = state;
    return state;
  }

  // Settles what is unresolved and sees to a session that holds the lock.
  absl::Status BecomeUsable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    if (!unresolved_.has_value()) COPPICE_RETURN_IF_ERROR(CheckUsable());
    if (writer_ != nullptr && !writer_->IsAlive()) writer_.reset();
    if (writer_ == nullptr) COPPICE_RETURN_IF_ERROR(Reconnect());
    if (!unresolved_.has_value()) return absl::OkStatus();
    absl::StatusOr<bool> applied = SettleBatch(*writer_, *unresolved_, epoch_);
    if (!applied.ok()) {
      writer_.reset();
      return applied.status();
    }
    unresolved_.reset();
    if (!*applied) return SetState(absl::OkStatus());
    return SetState(absl::UnavailableError(
        "a batch that was reported as failed is in the database after all: restart the daemon, "
        "which reads it"));
  }

  absl::Status Reconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri_));
    COPPICE_RETURN_IF_ERROR(CheckDurability(*connection));
    COPPICE_RETURN_IF_ERROR(LockDatabase(*connection, kLockWait));
    const absl::Status ours = CheckOwnership(*connection, epoch_, last_id_);
    if (absl::IsFailedPrecondition(ours)) return GiveUp(ours);
    if (ours.ok()) writer_ = std::move(connection);
    return ours;
  }

  // False if the session was lost, and the batch is not in the database and never will be.
  absl::StatusOr<bool> TryApply(const StoreBatch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    COPPICE_ASSIGN_OR_RETURN(const std::string id, NewBatchId());
    const TransactionResult result = WriteBatch(*writer_, batch, id, epoch_);
    if (result.outcome == TransactionOutcome::kRefused) return WhyRefused(result.status);
    if (result.outcome == TransactionOutcome::kUnknown) {
      COPPICE_ASSIGN_OR_RETURN(const bool applied, Resolve(id));
      if (!applied) return false;
    }
    last_id_ = id;
    // A failure costs room alone, and shows in the next batch if it is the session's.
    if (batches_++ % kBatchesBetweenPrunes == 0) PruneBatches(*writer_, last_id_).IgnoreError();
    return true;
  }

  // The session stands, so the transaction is undone. It may have failed for want of the epoch.
  absl::Status WhyRefused(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    const absl::Status ours = CheckOwnership(*writer_, epoch_);
    return absl::IsFailedPrecondition(ours) ? GiveUp(ours) : status;
  }

  // Another daemon has taken over, which may have pruned what is unresolved; or the database went
  // back in time.
  absl::Status GiveUp(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    writer_.reset();
    unresolved_.reset();
    return SetState(why);
  }

  // Finds out whether the batch `id` is in the database. If so it is applied.
  absl::StatusOr<bool> Resolve(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    const absl::Time deadline = absl::Now() + patience_;
    absl::Status last;
    for (absl::Duration pause = kFirstPause; absl::Now() < deadline;
         pause = std::min(2 * pause, kMaxPause)) {
      const absl::StatusOr<bool> applied = SettleAnew(id);
      if (applied.ok()) return applied;
      last = applied.status();
      if (!CheckUsable().ok()) break;  // a successor has the store
      absl::SleepFor(pause);
    }
    writer_.reset();
    const absl::Status unknown = absl::UnavailableError(
        absl::StrCat("the outcome of a batch is not known: ", last.message()));
    if (!CheckUsable().ok()) return unknown;
    unresolved_ = id;
    return SetState(unknown);
  }

  // In a new session: the old one may be what is lost.
  absl::StatusOr<bool> SettleAnew(const std::string& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    writer_.reset();
    COPPICE_RETURN_IF_ERROR(Reconnect());
    return SettleBatch(*writer_, id, epoch_);
  }

  const std::string uri_;
  const int64_t epoch_;
  const absl::Duration patience_;
  mutable ReaderPool readers_;
  Mutex write_mutex_;  // held through each batch; taken before state_mutex_
  // Holds the database's lock. Null after it was lost.
  std::unique_ptr<Connection> writer_ ABSL_GUARDED_BY(write_mutex_);
  std::string last_id_ ABSL_GUARDED_BY(write_mutex_);  // of the last batch that was applied
  std::optional<std::string> unresolved_ ABSL_GUARDED_BY(write_mutex_);
  uint64_t batches_ ABSL_GUARDED_BY(write_mutex_) = 0;
  mutable Mutex state_mutex_;
  absl::Status state_ ABSL_GUARDED_BY(state_mutex_);
};

// Reads what is there. Holds the lock, so that no daemon changes it meanwhile.
class ReadOnlyPostgresStore final : public Store {
 public:
  ReadOnlyPostgresStore(const std::string& uri, std::unique_ptr<Connection> lock)
      : lock_(std::move(lock)), readers_(uri) {}

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    return GetFrom(readers_, key);
  }
  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    return ScanIn(readers_, prefix, visit);
  }
  absl::Status Apply(const StoreBatch&) override { return OnlyRead(); }
  absl::Status Purge(absl::string_view) override { return OnlyRead(); }

 private:
  static absl::Status OnlyRead() {
    return absl::FailedPreconditionError("the store is open for reading only");
  }

  const std::unique_ptr<Connection> lock_;
  mutable ReaderPool readers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& uri,
                                                         absl::Duration patience) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri));
  COPPICE_RETURN_IF_ERROR(CheckDurability(*connection));
  COPPICE_RETURN_IF_ERROR(LockDatabase(*connection, kLockWait));
  COPPICE_RETURN_IF_ERROR(PrepareTables(*connection));
  COPPICE_ASSIGN_OR_RETURN(const int64_t epoch, TakeOwnership(*connection));
  return std::make_unique<PostgresStore>(uri, std::move(connection), epoch, patience);
}

absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStoreForReading(const std::string& uri) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri));
  COPPICE_RETURN_IF_ERROR(LockDatabase(*connection, kLockWait));
  COPPICE_RETURN_IF_ERROR(CheckTables(*connection));
  return std::make_unique<ReadOnlyPostgresStore>(uri, std::move(connection));
}

}  // namespace coppice::storage
