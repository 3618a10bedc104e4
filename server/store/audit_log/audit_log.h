// The audit log: who did what to which resource, on which day and in which order, and the outcome.
// No devices' calls, no time of day, nothing that follows from private rows is in it.

#ifndef COPPICE_SERVER_STORE_AUDIT_LOG_AUDIT_LOG_H_
#define COPPICE_SERVER_STORE_AUDIT_LOG_AUDIT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/wire/proto/model_signature.h"
#include "coppice/v1/admin.pb.h"
#include "server/store/audit_log/audit_record.h"
#include "server/store/audit_log/ledger_links.h"
#include "server/store/audit_log/log_write.h"
#include "server/store/store.h"

namespace coppice::audit {

inline constexpr std::string_view kDaemonActor = "coppiced";
inline constexpr std::string_view kOfflineActor = "offline";

// Names the actor of what this thread writes while the scope lives, because a ledger changes on the
// thread of the call that asks for it. Without a scope it is the log's own actor.
class ActorScope {
 public:
  explicit ActorScope(std::string name);
  ~ActorScope();
  ActorScope(const ActorScope&) = delete;
  ActorScope& operator=(const ActorScope&) = delete;

 private:
  std::string before_;
};

// gRPC's name of a code, the form of an outcome.
std::string CodeName(StatusCode code);

// An event whose outcome is OK.
AuditEvent NewAuditEvent(std::string_view actor, std::string_view action,
                         std::string_view resource = "", std::string_view related = "");

// Adds entries to the log and reads it.
//
// A call is on disk before it begins, so that a crash leaves none without a trace: calls that began
// without an end are entered as UNKNOWN at the next start. Anything that may tell when a job ended
// is entered when its day is over, sorted by content, so that its position reveals no more than the
// day.
//
// Guarantee  A ledger's change and the entry that Apply() makes of it are on disk together or not
//            at all. Entries are only appended, in the order they are written. Only entries older
//            than `days_kept` are dropped, and their signed head stays.
// Errors     Open(): DataLoss, naming the record, if the log does not verify. Otherwise what the
//            Store returns; the write may still be found later, whole, as for Ledger.
// Threads    safe to share, after SignWith(). One write at a time; reading waits for it.
class AuditLog {
 public:
  static constexpr uint32_t kMaxPage = 1000;

  // Loads and verifies the log, or begins one. `clock` returns seconds since 1970. `actor` is the
  // actor of ledger changes outside an ActorScope. `days_kept` 0 keeps all entries.
  static StatusOr<std::unique_ptr<AuditLog>> Open(storage::Store& store,
                                                  std::function<int64_t()> clock,
                                                  std::string_view actor, uint32_t days_kept = 0);

  // From now on heads are signed and old entries are dropped.
  void SignWith(ModelSigner signer) { signer_ = std::move(signer); }

  // Applies `batch` with `events` and an entry for each change of a ledger in it.
  Status Apply(storage::StoreBatch batch, std::vector<AuditEvent> events = {});
  Status Add(AuditEvent event) { return Apply({}, {std::move(event)}); }

  // Enters `event`, of what changed nothing, with the next write of any kind but Begin()'s and
  // Forget()'s, or with WriteLate(). Waits for no disk; a crash before that write loses it.
  void AddLater(AuditEvent event);
  Status WriteLate() { return Apply({}, {}); }

  // Notes durably that a call begins; the result is End()'s argument.
  StatusOr<uint64_t> Begin(const AuditEvent& call);
  // Enters the call, with the names of what it made if these were not known before. A failed write
  // is retried with the next entry.
  void End(uint64_t call, std::string_view outcome, std::string_view resource = "",
           std::string_view related = "");
  // Enters nothing, for failed calls beyond the limit.
  void Forget(uint64_t call);

  // At most `max_entries` from `first` or the oldest kept entry on.
  StatusOr<v1::ReadAuditLogResponse> Read(uint64_t first, uint32_t max_entries);

 private:
  struct Ending {
    std::string outcome;
    std::string resource{};
    std::string related{};
  };

  AuditLog(storage::Store& store, std::function<int64_t()> clock, std::string_view actor,
           uint32_t days_kept, StoredLog stored)
      : store_(store),
        clock_(std::move(clock)),
        actor_(actor),
        days_kept_(days_kept),
        state_(std::move(stored.state)),
        seal_(std::move(stored.seal)) {}

  // Begins a log in a store without one.
  Status BeginLog();
  Status EnterInterruptedCalls();

  Status ApplyLocked(storage::StoreBatch batch, std::vector<AuditEvent> events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<AuditEvent> Late() const;
  // Forgets the first `count` late events, which are written.
  void DropLate(size_t count);
  // Writes it with the log's head; on success the state is what it says.
  Status Write(LogWrite write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the state again, because a failed write may be in the store.
  Status ResolveFailedWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Enters calls whose end is not written yet, or lets them wait for their day to end.
  Status EnterEndings(const std::string& day, LogWrite& write) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Enters what waited for an earlier day to end. Only what waits since the last write of another
  // day can be of one, so it need not be looked for at each write.
  Status EnterDaysThatAreOver(const std::string& day, LogWrite& write) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops entries older than `days_kept`.
  Status DropOld(int64_t now, LogWrite& write, v1::AuditHead& seal) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<v1::AuditHead> SignedHead(const AuditChain& chain) const;

  storage::Store& store_;
  const std::function<int64_t()> clock_;
  const std::string actor_;
  const uint32_t days_kept_;
  ModelSigner signer_;

  mutable Mutex late_mutex_;  // taken after mutex_, and never held during a write
  std::vector<AuditEvent> late_ ABSL_GUARDED_BY(late_mutex_);

  Mutex mutex_;  // held during writes
  LogState state_ ABSL_GUARDED_BY(mutex_);
  v1::AuditHead seal_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Ending> endings_ ABSL_GUARDED_BY(mutex_);  // not written yet
  // The day of the last entry; empty: not known, and days that are over may have to be entered.
  std::string last_day_ ABSL_GUARDED_BY(mutex_);
  bool write_failed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The problems of a stored log, and between it and the ledgers. A log that does not verify is not
// compared, because it proves nothing.
struct LogReport {
  uint64_t entries = 0;
  Status problem{};  // DataLoss, naming the record at `problem_key`
  std::string problem_key{};
  std::vector<LedgerMismatch> mismatches{};
};
StatusOr<LogReport> InspectLog(const storage::Store& store);
// The first problem or mismatch as DataLoss, or OK.
Status CheckLog(const storage::Store& store);

// Moves what does not verify of a log to `quarantine` and appends an entry that says so after the
// entries that do. The log then covers ledgers only from there on, so hold them first. Returns the
// first moved key, or "" if the log verifies.
StatusOr<std::string> ResumeLog(storage::Store& store, int64_t now, std::string_view quarantine);

// A Store that enters changes of ledgers in the log, in the same batch.
class AuditedStore final : public storage::Store {
 public:
  // Both must outlive it.
  AuditedStore(storage::Store& store, AuditLog& log) : store_(store), log_(log) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return store_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override { return log_.Apply(batch); }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return store_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return store_.Purge(prefix); }
  StatusOr<storage::StoreBackup> Backup(const storage::BackupOptions& options) override {
    return store_.Backup(options);
  }
  StatusOr<std::vector<storage::StoreBackup>> ListBackups(
      const std::string& folder) const override {
    return store_.ListBackups(folder);
  }

 private:
  storage::Store& store_;
  AuditLog& log_;
};

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_STORE_AUDIT_LOG_AUDIT_LOG_H_
