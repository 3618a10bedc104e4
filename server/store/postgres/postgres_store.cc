#include "server/store/postgres/postgres_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/postgres/connection.h"
#include "server/store/postgres/lease.h"
#include "server/store/postgres/tables.h"
#include "server/store/prefix.h"
#include "server/store/store_format.h"

namespace coppice::storage {
namespace {

Status NoBackups() {
  return UnimplementedError(
      "a store in PostgreSQL is backed up by the server's own means: use pg_basebackup "
      "(docs/postgresql.md#backups)");
}

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

// A former primary may freeze silently, and its sessions with it. Once the lease is renewed with
// another server, `connection` stops waiting for an answer.
void FollowLease(Connection& connection, const Lease* lease, const std::string& server) {
  if (lease == nullptr) return;
  connection.AbandonWhen([lease, server, before = lease->server()] {
    const std::string now = lease->server();
    return now != before && now != server;
  });
}

// The sessions for reading.
class ReaderPool {
 public:
  struct Reader {
    std::unique_ptr<Connection> connection;
    uint64_t generation = 0;
  };

  // Connects only to the server of that identity until Renew() names another; empty: to any.
  ReaderPool(std::string uri, std::string server, const Lease* lease)
      : uri_(std::move(uri)), lease_(lease), server_(std::move(server)) {}

  StatusOr<Reader> Take() {
    Reader reader;
    std::string server;
    {
      const MutexLock lock(mutex_);
      while (!idle_.empty()) {
        reader = std::move(idle_.back());
        idle_.pop_back();
        if (reader.connection->IsAlive()) return reader;
      }
      reader.generation = generation_;
      server = server_;
    }
    COPPICE_ASSIGN_OR_RETURN(reader.connection, Connection::Open(uri_));
    if (server.empty()) return reader;
    COPPICE_ASSIGN_OR_RETURN(const std::string found, ReadServerIdentity(*reader.connection));
    if (found == server) {
      FollowLease(*reader.connection, lease_, server);
      return reader;
    }
    return UnavailableError("PostgreSQL: this is not the server that batches go to");
  }
  // Takes back a reader that read its whole answer. Unavailable if the answer may be outdated.
  Status Return(Reader reader) {
    const MutexLock lock(mutex_);
    if (reader.generation != generation_) {
      return UnavailableError("PostgreSQL: the session was lost while it read: try again");
    }
    if (idle_.size() < kIdleReaders) idle_.push_back(std::move(reader));
    return OkStatus();
  }
  // Called when the writing session is new: sessions that read may still be with a former primary.
  void Renew(std::string server) {
    const MutexLock lock(mutex_);
    ++generation_;
    idle_.clear();
    server_ = std::move(server);
  }

 private:
  const std::string uri_;
  const Lease* const lease_;
  Mutex mutex_;
  std::string server_ ABSL_GUARDED_BY(mutex_);
  std::vector<Reader> idle_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

StatusOr<std::optional<std::string>> GetFrom(ReaderPool& readers, std::string_view key) {
  COPPICE_ASSIGN_OR_RETURN(ReaderPool::Reader reader, readers.Take());
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult found,
      reader.connection->Run({.sql = kGet, .values = {QueryValue::Bytea(key)}}));
  COPPICE_RETURN_IF_ERROR(readers.Return(std::move(reader)));
  if (found.rows() == 0) return std::nullopt;
  return std::string(found.Bytes(0, 0));
}

// Uses one statement, and therefore one snapshot.
Status ScanIn(ReaderPool& readers, std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) {
  COPPICE_ASSIGN_OR_RETURN(ReaderPool::Reader reader, readers.Take());
  const std::optional<std::string> end = EndOfPrefix(std::string(prefix));
  Statement statement{.sql = end ? kScanRange : kScanFrom, .values = {QueryValue::Bytea(prefix)}};
  if (end) statement.values.push_back(QueryValue::Bytea(*end));
  COPPICE_RETURN_IF_ERROR(reader.connection->Stream(
      statement, [&](const QueryResult& row) { return visit(row.Bytes(0, 0), row.Bytes(0, 1)); }));
  return readers.Return(std::move(reader));
}

// A single daemon waits for the lock; the leader of a fleet ends the session of a former leader,
// whose machine may be gone or frozen.
Status LockForOwner(Connection& connection, int64_t epoch, const Lease* lease) {
  if (lease != nullptr) COPPICE_RETURN_IF_ERROR(EndOtherLocks(connection, epoch, LocksToEnd::kAll));
  return LockDatabase(connection, kLockWait);
}

class PostgresStore final : public Store {
 public:
  // `writer` is connected to `server` and holds the lock. A single daemon has no `lease`.
  PostgresStore(std::string uri, std::unique_ptr<Connection> writer, std::string server,
                int64_t epoch, const Lease* lease, absl::Duration patience)
      : uri_(std::move(uri)),
        epoch_(epoch),
        lease_(lease),
        patience_(patience),
        readers_(uri_, std::move(server), lease),
        writer_(std::move(writer)) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    COPPICE_RETURN_IF_ERROR(CheckUsable());
    COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> value, GetFrom(readers_, key));
    COPPICE_RETURN_IF_ERROR(CheckLease());  // another curator may have led when it was read
    return value;
  }

  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    COPPICE_RETURN_IF_ERROR(CheckUsable());
    COPPICE_RETURN_IF_ERROR(ScanIn(readers_, prefix, visit));
    return CheckLease();
  }

  Status Apply(const StoreBatch& batch) override {
    COPPICE_RETURN_IF_ERROR(CheckBatch(batch));
    const MutexLock writing(write_mutex_);
    COPPICE_RETURN_IF_ERROR(BecomeUsable());
    // The end of a session shows only when it is used, so the batch gets a second try.
    for (int i = 0; i < 2; ++i) {
      COPPICE_ASSIGN_OR_RETURN(const bool applied, TryApply(batch));
      if (applied) return OkStatus();
    }
    return UnavailableError("PostgreSQL ended the session of a batch, and of a second try");
  }

  // Must be called first. Marks that a server may have lost batches while no daemon had one to look
  // for. The mark is a batch, so that a failover that loses it is noticed.
  Status MarkFailover() {
    COPPICE_ASSIGN_OR_RETURN(const Histories histories, ReadHistoriesNow());
    if (histories.vouched == histories.current) return OkStatus();
    if (!histories.vouched.empty()) {
      COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> format, Get(kFormatKey));
      if (format.has_value()) {
        StoreBatch mark;
        mark.Put(std::string(kFailoverKey),
                 StrCat("from history ", histories.vouched, " to ", histories.current));
        COPPICE_RETURN_IF_ERROR(Apply(mark));
      }
    }
    const MutexLock writing(write_mutex_);
    COPPICE_RETURN_IF_ERROR(BecomeUsable());
    return VouchForHistory(*writer_, epoch_);
  }

  // PostgreSQL cannot purge a prefix alone, so this vacuums the whole table.
  Status Purge(std::string_view prefix) override {
    if (!EndOfPrefix(std::string(prefix)).has_value()) {
      return InvalidArgumentError("a prefix to purge must have a byte below 255");
    }
    COPPICE_RETURN_IF_ERROR(CheckUsable());
    COPPICE_ASSIGN_OR_RETURN(ReaderPool::Reader reader, readers_.Take());
    COPPICE_RETURN_IF_ERROR(reader.connection->RunMaintenance("VACUUM coppice.coppice_records"));
    return readers_.Return(std::move(reader));
  }

  StatusOr<StoreBackup> Backup(const BackupOptions&) override { return NoBackups(); }
  StatusOr<std::vector<StoreBackup>> ListBackups(const std::string&) const override {
    return NoBackups();
  }

 private:
  // Returns the error of a store that cannot be used, or not yet.
  Status CheckUsable() const {
    COPPICE_RETURN_IF_ERROR(CheckLease());
    return CheckState();
  }
  Status CheckLease() const { return lease_ == nullptr ? OkStatus() : lease_->Check(); }
  Status CheckState() const {
    const MutexLock lock(state_mutex_);
    return state_;
  }
  Status SetState(Status state) {
    const MutexLock lock(state_mutex_);
    state_ = state;
    return state;
  }

  StatusOr<Histories> ReadHistoriesNow() {
    const MutexLock writing(write_mutex_);
    COPPICE_RETURN_IF_ERROR(BecomeUsable());
    StatusOr<Histories> histories = ReadHistories(*writer_);
    if (histories.ok()) history_ = histories->current;
    return histories;
  }

  // Resolves the unresolved batch, and ensures a session that holds the lock.
  Status BecomeUsable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    COPPICE_RETURN_IF_ERROR(CheckLease());
    if (!unresolved_.has_value()) COPPICE_RETURN_IF_ERROR(CheckState());
    if (writer_ != nullptr && !writer_->IsAlive()) writer_.reset();
    if (writer_ == nullptr) COPPICE_RETURN_IF_ERROR(Reconnect());
    if (!unresolved_.has_value()) return OkStatus();
    StatusOr<bool> applied = SettleBatch(*writer_, *unresolved_, epoch_);
    if (!applied.ok()) {
      writer_.reset();
      return applied.status();
    }
    unresolved_.reset();
    if (!*applied) return SetState(OkStatus());
    return GiveUp(UnavailableError(
        "a batch that was reported as failed is in the database after all: restart the daemon, "
        "which reads it"));
  }

  Status Reconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri_));
    COPPICE_RETURN_IF_ERROR(CheckDurability(*connection));
    // Checked before the lock, which the successor in a fleet keeps.
    Status ours = lease_ == nullptr ? OkStatus() : CheckOwnership(*connection, epoch_);
    if (ours.ok()) {
      COPPICE_RETURN_IF_ERROR(LockForOwner(*connection, epoch_, lease_));
      ours = CheckOwnership(*connection, epoch_, last_id_);
    }
    if (IsFailedPrecondition(ours)) return GiveUp(ours);
    COPPICE_RETURN_IF_ERROR(ours);
    COPPICE_ASSIGN_OR_RETURN(std::string server, ReadServerIdentity(*connection));
    // The epoch and the last batch are there, so everything before them is too.
    if (HistoryOf(server) != history_) {
      COPPICE_RETURN_IF_ERROR(VouchForHistory(*connection, epoch_));
      history_ = HistoryOf(server);
    }
    FollowLease(*connection, lease_, server);
    readers_.Renew(std::move(server));
    writer_ = std::move(connection);
    return OkStatus();
  }

  // Returns false if the session was lost and the batch is not, and never will be, in the database.
  StatusOr<bool> TryApply(const StoreBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    COPPICE_ASSIGN_OR_RETURN(const std::string id, NewBatchId());
    const TransactionResult result = WriteBatch(*writer_, batch, id, epoch_);
    if (result.outcome == TransactionOutcome::kRefused) return WhyRefused(result.status);
    if (result.outcome == TransactionOutcome::kUnknown) {
      COPPICE_ASSIGN_OR_RETURN(const bool applied, Resolve(id));
      if (!applied) return false;
    }
    last_id_ = id;
    // A failure only costs space; one of the session shows in the next batch.
    if (batches_++ % kBatchesBetweenPrunes == 0)
      PruneBatches(*writer_, last_id_, epoch_).IgnoreError();
    return true;
  }

  // The session stands, so the transaction was undone. It may have failed for lack of the epoch.
  Status WhyRefused(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    const Status ours = CheckOwnership(*writer_, epoch_);
    return IsFailedPrecondition(ours) ? GiveUp(ours) : status;
  }

  // Called if another daemon has taken over, which may have pruned the unresolved id; if the
  // database went back in time; or if it is ahead of what this daemon knows.
  Status GiveUp(const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    writer_.reset();
    unresolved_.reset();
    if (lease_ != nullptr) lease_->GiveUp(why.message());
    return SetState(why);
  }

  // Finds out whether the batch `id` is in the database, that is, applied.
  StatusOr<bool> Resolve(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    const absl::Time deadline = absl::Now() + patience_;
    Status last;
    for (absl::Duration pause = kFirstPause; absl::Now() < deadline;
         pause = std::min(2 * pause, kMaxPause)) {
      const StatusOr<bool> applied = SettleAnew(id);
      if (applied.ok()) return applied;
      last = applied.status();
      if (!CheckState().ok()) break;  // a successor has the store
      if (!CheckLease().ok()) break;  // the caller should ask who leads
      absl::SleepFor(pause);
    }
    writer_.reset();
    const Status unknown =
        UnavailableError(StrCat("the outcome of a batch is not known: ", last.message()));
    if (!CheckState().ok()) return unknown;
    unresolved_ = id;
    return SetState(unknown);
  }

  // Uses a new session: the old one may be the cause.
  StatusOr<bool> SettleAnew(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    writer_.reset();
    COPPICE_RETURN_IF_ERROR(Reconnect());
    return SettleBatch(*writer_, id, epoch_);
  }

  const std::string uri_;
  const int64_t epoch_;
  const Lease* const lease_;
  const absl::Duration patience_;
  mutable ReaderPool readers_;
  Mutex write_mutex_;  // held through each batch; taken before state_mutex_
  // Holds the database's lock. Null after it was lost.
  std::unique_ptr<Connection> writer_ ABSL_GUARDED_BY(write_mutex_);
  std::string last_id_ ABSL_GUARDED_BY(write_mutex_);  // of the last applied batch
  std::string history_ ABSL_GUARDED_BY(write_mutex_);  // the one that this daemon has vouched for
  std::optional<std::string> unresolved_ ABSL_GUARDED_BY(write_mutex_);
  uint64_t batches_ ABSL_GUARDED_BY(write_mutex_) = 0;
  mutable Mutex state_mutex_;
  Status state_ ABSL_GUARDED_BY(state_mutex_);
};

// Reads the store while holding the lock, so that no daemon changes it meanwhile. A curator of a
// fleet may end that session: reads then return an error.
class ReadOnlyPostgresStore final : public Store {
 public:
  ReadOnlyPostgresStore(const std::string& uri, std::unique_ptr<Connection> lock)
      : lock_(std::move(lock)), readers_(uri, /*server=*/"", /*lease=*/nullptr) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> value, GetFrom(readers_, key));
    COPPICE_RETURN_IF_ERROR(CheckLocked());
    return value;
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    COPPICE_RETURN_IF_ERROR(ScanIn(readers_, prefix, visit));
    return CheckLocked();
  }
  Status Apply(const StoreBatch&) override { return OnlyRead(); }
  Status Purge(std::string_view) override { return OnlyRead(); }

 private:
  static Status OnlyRead() { return FailedPreconditionError("the store is open for reading only"); }

  Status CheckLocked() const {
    const MutexLock lock(mutex_);
    if (lock_->IsAlive()) return OkStatus();
    return UnavailableError(
        "the session that kept daemons from the store was ended while it was read: stop the "
        "daemons, and read it again");
  }

  mutable Mutex mutex_;
  const std::unique_ptr<Connection> lock_ ABSL_PT_GUARDED_BY(mutex_);
  mutable ReaderPool readers_;
};

StatusOr<std::unique_ptr<Store>> MakeStore(const std::string& uri,
                                           std::unique_ptr<Connection> writer, int64_t epoch,
                                           const Lease* lease, absl::Duration patience) {
  COPPICE_ASSIGN_OR_RETURN(std::string server, ReadServerIdentity(*writer));
  FollowLease(*writer, lease, server);
  auto store = std::make_unique<PostgresStore>(uri, std::move(writer), std::move(server), epoch,
                                               lease, patience);
  COPPICE_RETURN_IF_ERROR(store->MarkFailover());
  return store;
}

}  // namespace

StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& uri,
                                                   absl::Duration patience) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri));
  COPPICE_RETURN_IF_ERROR(CheckDurability(*connection));
  COPPICE_RETURN_IF_ERROR(CheckNoFleet(*connection));
  COPPICE_RETURN_IF_ERROR(LockDatabase(*connection, kLockWait));
  COPPICE_RETURN_IF_ERROR(PrepareTables(*connection));
  COPPICE_ASSIGN_OR_RETURN(const int64_t epoch, TakeOwnership(*connection));
  return MakeStore(uri, std::move(connection), epoch, /*lease=*/nullptr, patience);
}

StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& uri, const Lease& lease,
                                                   absl::Duration patience) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri));
  COPPICE_RETURN_IF_ERROR(CheckDurability(*connection));
  COPPICE_RETURN_IF_ERROR(CheckTables(*connection));
  COPPICE_RETURN_IF_ERROR(CheckOwnership(*connection, lease.epoch()));
  COPPICE_RETURN_IF_ERROR(LockForOwner(*connection, lease.epoch(), &lease));
  COPPICE_RETURN_IF_ERROR(CheckOwnership(*connection, lease.epoch()));
  return MakeStore(uri, std::move(connection), lease.epoch(), &lease, patience);
}

StatusOr<std::unique_ptr<Store>> OpenPostgresStoreForReading(const std::string& uri) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri));
  COPPICE_RETURN_IF_ERROR(LockDatabase(*connection, kLockWait));
  COPPICE_RETURN_IF_ERROR(CheckTables(*connection));
  return std::make_unique<ReadOnlyPostgresStore>(uri, std::move(connection));
}

}  // namespace coppice::storage
