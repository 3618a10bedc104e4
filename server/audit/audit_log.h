// The audit log: who did what to which resource, on which day and in which order, with what
// outcome. No device's calls, no time of day, nothing that follows from private rows.

#ifndef COPPICE_SERVER_AUDIT_AUDIT_LOG_H_
#define COPPICE_SERVER_AUDIT_AUDIT_LOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/wire/model_signature.h"
#include "coppice/v1/admin.pb.h"
#include "server/audit/audit_record.h"
#include "server/audit/ledger_links.h"
#include "server/storage/store.h"

namespace coppice::audit {

inline constexpr absl::string_view kDaemonActor = "coppiced";
inline constexpr absl::string_view kOfflineActor = "offline";

// Names the actor of what this thread writes while it lives: a ledger is changed on the thread of
// the call that asks for it. Without one it is the log's own actor.
class ActorScope {
 public:
  explicit ActorScope(std::string name);
  ~ActorScope();
  ActorScope(const ActorScope&) = delete;
  ActorScope& operator=(const ActorScope&) = delete;

 private:
  std::string before_;
};

// gRPC's name of a code, which an outcome is.
std::string CodeName(absl::StatusCode code);

// An event whose outcome is OK.
AuditEvent NewAuditEvent(absl::string_view actor, absl::string_view action,
                         absl::string_view resource = "", absl::string_view related = "");

// Adds entries to the log, and reads it.
//
// A call is on disk before it begins, so that a crash leaves none without a trace: what was begun
// and has no end is entered as UNKNOWN at the next start. Whatever may tell when a job ended is
// entered when its day is over, sorted by what it says, so that its place tells no more than the
// day.
//
// Guarantee  an entry that Apply() makes of a ledger's change, and the change, are on disk together
//            or neither. Entries are only added, in the order in which they are written; only those
//            older than `days_kept` are dropped, and the signed head of these stays.
// Errors     Open(): DataLoss that names the record for a log that does not hold. Otherwise what
//            the Store returns; the write may then be found, whole, later, as Ledger says.
// Threads    safe to share. One write at a time; reading waits for it. SignWith() before that.
class AuditLog {
 public:
  static constexpr uint32_t kMaxPage = 1000;

  // Loads and verifies the log, or begins one. `clock` returns seconds since 1970. `actor` is whose
  // changes of ledgers are that no ActorScope names. `days_kept` 0: all entries are kept.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(storage::Store& store,
                                                        std::function<int64_t()> clock,
                                                        absl::string_view actor,
                                                        uint32_t days_kept = 0);

  // From then on heads are signed, and old entries dropped.
  void SignWith(ModelSigner signer) { signer_ = std::move(signer); }

  // Applies `batch` with an entry for each change of a ledger in it, and with `events`.
  absl::Status Apply(storage::StoreBatch batch, std::vector<AuditEvent> events = {});
  absl::Status Add(AuditEvent event) { return Apply({}, {std::move(event)}); }

  // Notes durably that a call begins, and returns what End() takes.
  absl::StatusOr<uint64_t> Begin(const AuditEvent& call);
  // Enters it, with the names of what it made if these were not known before. What cannot be
  // written is tried again with the next entry.
  void End(uint64_t call, absl::string_view outcome, absl::string_view resource = "",
           absl::string_view related = "");
  // Enters nothing: for failed calls of which there are too many.
  void Forget(uint64_t call);

  // At most `max_entries` from `first` on, or from the oldest that is kept.
  absl::StatusOr<v1::ReadAuditLogResponse> Read(uint64_t first, uint32_t max_entries);

 private:
  struct Ending {
    std::string outcome;
    std::string resource{};
    std::string related{};
  };

  AuditLog(storage::Store& store, std::function<int64_t()> clock, absl::string_view actor,
           uint32_t days_kept, StoredLog stored)
      : store_(store),
        clock_(std::move(clock)),
        actor_(actor),
        days_kept_(days_kept),
        state_(std::move(stored.state)),
        seal_(std::move(stored.seal)) {}

  // Begins a log on a store that has none.
  absl::Status BeginLog();
  absl::Status EnterInterruptedCalls();

  absl::Status ApplyLocked(storage::StoreBatch batch, std::vector<AuditEvent> events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts what `next` is to be into `batch` and applies that; on success `next` is the state.
  absl::Status Write(storage::StoreBatch batch, LogState next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A write that failed may be found in the store.
  absl::Status ResolveFailedWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Enters what waited for an earlier day to be over, and calls whose end is not written yet.
  absl::Status EnterWaiting(const std::string& day, LogState& next,
                            storage::StoreBatch& batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops entries that are older than is kept.
  absl::Status DropOld(int64_t now, LogState& next, storage::StoreBatch& batch,
                       v1::AuditHead& seal) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<v1::AuditHead> SignedHead(const AuditChain& chain) const;

  storage::Store& store_;
  const std::function<int64_t()> clock_;
  const std::string actor_;
  const uint32_t days_kept_;
  ModelSigner signer_;

  Mutex mutex_;  // held through a write
  LogState state_ ABSL_GUARDED_BY(mutex_);
  v1::AuditHead seal_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Ending> endings_ ABSL_GUARDED_BY(mutex_);  // that are not written yet
  std::string last_drop_ ABSL_GUARDED_BY(mutex_);               // day
  bool write_failed_ ABSL_GUARDED_BY(mutex_) = false;
};

// What is wrong with a stored log, and between it and the ledgers. A log that does not hold is not
// compared: it proves nothing.
struct LogReport {
  uint64_t entries = 0;
  absl::Status problem{};  // DataLoss that names the record at `problem_key`
  std::string problem_key{};
  std::vector<LedgerMismatch> mismatches{};
};
absl::StatusOr<LogReport> InspectLog(const storage::Store& store);
// The first of it as DataLoss, or OK.
absl::Status CheckLog(const storage::Store& store);

// Puts aside, under `quarantine`, what does not hold of a log, and goes on after the entries that
// do with one that says so. The log then tells of ledgers from there on only: hold them first.
// Returns the first key that was put aside, empty if the log holds.
absl::StatusOr<std::string> ResumeLog(storage::Store& store, int64_t now,
                                      absl::string_view quarantine);

// A Store whose changes of ledgers are entered in the log, in the same batch.
class AuditedStore final : public storage::Store {
 public:
  // Both must outlive it.
  AuditedStore(storage::Store& store, AuditLog& log) : store_(store), log_(log) {}

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    return store_.Get(key);
  }
  absl::Status Apply(const storage::StoreBatch& batch) override { return log_.Apply(batch); }
  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    return store_.Scan(prefix, visit);
  }
  absl::Status Purge(absl::string_view prefix) override { return store_.Purge(prefix); }
  absl::StatusOr<storage::StoreBackup> Backup(const storage::BackupOptions& options) override {
    return store_.Backup(options);
  }
  absl::StatusOr<std::vector<storage::StoreBackup>> ListBackups(
      const std::string& folder) const override {
    return store_.ListBackups(folder);
  }

 private:
  storage::Store& store_;
  AuditLog& log_;
};

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_AUDIT_AUDIT_LOG_H_
