// Decides which curator of a fleet leads (docs/postgresql.md#a-fleet).
//
// A lease is a row of the database that its holder renews. A candidate takes it once it is
// released, or once the candidate has seen no renewal for one whole length on its own clock. That
// clock is CLOCK_BOOTTIME, which continues while a process is paused or its machine suspended; no
// wall clock is read.
//
// Guarantee  at most one Lease of a database passes Check() at any moment, if the clocks of the
//            machines run within 5 % of true time, and if the database's former primary commits
//            nothing more once a replica was promoted. Proof: docs/postgresql.md#why-one-leads.
// Errors     those of Connection: Unavailable while the database does not answer.

#ifndef COPPICE_SERVER_STORE_POSTGRES_LEASE_H_
#define COPPICE_SERVER_STORE_POSTGRES_LEASE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace coppice::storage {

class Connection;
struct OwnerRow;

// The clock by which leases are counted.
//
// Threads    safe to share.
class LeaseClock {
 public:
  virtual ~LeaseClock() = default;
  virtual absl::Duration Now() const = 0;
  // Waits for `changed`, as CondVar::WaitUntil() does. False if `time` has come.
  virtual bool WaitUntil(CondVar& changed, Mutex& mutex, absl::Duration time) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;
};

// CLOCK_BOOTTIME. Tests have a clock of their own, which they move.
const LeaseClock& BootClock();

struct LeaseOptions {
  std::string address;  // of this curator; not empty
  absl::Duration length = absl::Seconds(10);
  // Called at most once, from the renewing thread, when the lease is lost for good: another curator
  // has taken it, or GiveUp() was called. Must not release or destroy the lease.
  std::function<void()> on_lost{};
  const LeaseClock* clock = &BootClock();  // outlives the candidate and its leases
};

struct Leader {
  std::string address;  // empty: nobody leads
  int64_t epoch = 0;
};

// The right to use the store. Its own thread renews it.
//
// Threads    safe to share, except Release(), which is called once, and the destructor.
class Lease {
 public:
  ~Lease();  // stops renewing; does not release
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  int64_t epoch() const { return epoch_; }

  // OK, or Unavailable if another curator may lead by now. Compares clocks and makes no call. It
  // may return OK again after an error, unless the lease is lost.
  Status Check() const;

  // The server with which the lease was last renewed, as in ReadServerIdentity().
  std::string server() const;

  // Lets another curator take over at once. Call it after the store is closed. FailedPrecondition
  // if the lease was lost; after another error the others wait for the lease to end.
  Status Release();

  // Says that this process can no longer use the store. The lease then counts as lost.
  void GiveUp(std::string_view why) const;

 private:
  friend class LeaseCandidate;
  enum class Renewal { kDone, kFailed, kLost };

  // `session` is settled (docs/postgresql.md#why-one-leads), and took the lease after `taken`.
  Lease(std::string uri, LeaseOptions options, std::unique_ptr<Connection> session,
        std::string server, int64_t epoch, absl::Duration taken);

  void RenewUntilOver(absl::Duration taken);
  Renewal Renew();
  Status Connect();
  // Returns false if the lease is over.
  bool SleepUntil(absl::Duration renewal) ABSL_LOCKS_EXCLUDED(mutex_);
  void Prove(absl::Duration sent) ABSL_LOCKS_EXCLUDED(mutex_);
  void Lose(std::string_view why) const ABSL_LOCKS_EXCLUDED(mutex_);
  void StopRenewing() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string uri_;
  const LeaseOptions options_;
  const LeaseClock& clock_ = *options_.clock;
  const int64_t epoch_;
  // Used by the renewing thread, and by Release() after that thread has ended.
  std::unique_ptr<Connection> session_;
  absl::Duration settled_from_ = absl::ZeroDuration();  // session_ proves the lease from then on

  mutable std::atomic<int64_t> proven_until_ = 0;  // nanoseconds of the clock
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::string server_ ABSL_GUARDED_BY(mutex_);
  mutable bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  mutable std::string why_lost_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread renewing_;
};

// Waits for a chance to lead.
//
// Threads    one at a time.
class LeaseCandidate {
 public:
  // Makes the tables if they do not exist. FailedPrecondition if a newer version made them, or if a
  // single daemon is making them.
  static StatusOr<std::unique_ptr<LeaseCandidate>> Join(const std::string& uri,
                                                        LeaseOptions options);
  ~LeaseCandidate();

  // Looks at the database once, in a new session if needed, and returns the lease if it could be
  // taken, else null. Call it several times per length, about once a second. The earliest time to
  // take a lease is one whole length into one session; then a released lease is taken at once.
  // FailedPrecondition while the leader's lease has another length.
  StatusOr<std::unique_ptr<Lease>> TryTake();

  // The leader that the last look found.
  Leader leader() const { return leader_; }

 private:
  LeaseCandidate(std::string uri, LeaseOptions options, std::unique_ptr<Connection> session);

  Status Connect();
  Status CheckLength(const OwnerRow& owner) const;
  bool MayTake(const OwnerRow& owner);
  StatusOr<std::unique_ptr<Lease>> Take(const OwnerRow& owner);

  const std::string uri_;
  const LeaseOptions options_;
  const LeaseClock& clock_ = *options_.clock;
  std::unique_ptr<Connection> session_;  // null after it was lost
  absl::Duration session_since_;
  std::unique_ptr<OwnerRow> watched_;  // null in a new session
  absl::Duration watched_since_;
  Leader leader_;
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_POSTGRES_LEASE_H_
