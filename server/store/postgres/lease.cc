#include "server/store/postgres/lease.h"

#include <time.h>

#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/postgres/connection.h"
#include "server/store/postgres/tables.h"

namespace coppice::storage {
namespace {

// Another daemon that makes the tables at the same time holds the lock for a moment.
constexpr absl::Duration kTablesWait = absl::Seconds(3);
constexpr int kRenewalsPerLength = 5;
// Below the time that a candidate waits, by as much as clocks may differ.
constexpr double kProvenShare = 0.9;

// Continues to count while the machine is suspended, unlike CLOCK_MONOTONIC.
class BootTime final : public LeaseClock {
 public:
  absl::Duration Now() const override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return absl::DurationFromTimespec(now);
  }
  bool WaitUntil(CondVar& changed, Mutex& mutex, absl::Duration time) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return changed.WaitUntil(mutex, After(time - Now()));
  }
};

// Renewals wait for synchronous replicas, as batches do: a primary that was paused while its
// replica was promoted then proves nothing.
StatusOr<std::unique_ptr<Connection>> OpenLeaseSession(const std::string& uri,
                                                       absl::Duration length) {
  const absl::Duration time_limit = 0.4 * length;
  const absl::Duration lock_limit = 0.3 * length;  // the server's: keeps the session
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> session, Connection::Open(uri, time_limit));
  COPPICE_RETURN_IF_ERROR(CheckDurability(*session));
  COPPICE_RETURN_IF_ERROR(session->RunScript(
      StrCat("SET statement_timeout = ", absl::ToInt64Milliseconds(lock_limit))));
  return session;
}

Status PrepareForFleet(Connection& session) {
  COPPICE_ASSIGN_OR_RETURN(const bool there, TablesAreThere(session));
  if (there) return OkStatus();
  COPPICE_RETURN_IF_ERROR(LockDatabase(session, kTablesWait));
  const Status prepared = PrepareTables(session);
  const Status unlocked = UnlockDatabase(session);
  return prepared.ok() ? unlocked : prepared;
}

}  // namespace

const LeaseClock& BootClock() {
  static const BootTime clock;
  return clock;
}

Lease::Lease(std::string uri, LeaseOptions options, std::unique_ptr<Connection> session,
             std::string server, int64_t epoch, absl::Duration taken)
    : uri_(std::move(uri)),
      options_(std::move(options)),
      epoch_(epoch),
      session_(std::move(session)),
      server_(std::move(server)) {
  Prove(taken);
  renewing_ = std::thread([this, taken] { RenewUntilOver(taken); });
}

Lease::~Lease() { StopRenewing(); }

Status Lease::Check() const {
  if (absl::ToInt64Nanoseconds(clock_.Now()) < proven_until_.load(std::memory_order_acquire)) {
    return OkStatus();
  }
  const MutexLock lock(mutex_);
  return UnavailableError(
      lost_ ? StrCat("this curator no longer leads: ", why_lost_)
            : "this curator cannot prove to the database that it leads: try again");
}

void Lease::Prove(absl::Duration sent) {
  const MutexLock lock(mutex_);
  if (lost_ || stopped_) return;
  proven_until_.store(absl::ToInt64Nanoseconds(sent + kProvenShare * options_.length),
                      std::memory_order_release);
}

void Lease::Lose(std::string_view why) const {
  const MutexLock lock(mutex_);
  if (lost_ || stopped_) return;
  lost_ = true;
  why_lost_ = std::string(why);
  proven_until_.store(0, std::memory_order_release);
  changed_.NotifyAll();
}

void Lease::GiveUp(std::string_view why) const { Lose(why); }

void Lease::StopRenewing() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    proven_until_.store(0, std::memory_order_release);
    changed_.NotifyAll();
  }
  if (renewing_.joinable()) renewing_.join();
}

bool Lease::SleepUntil(absl::Duration renewal) {
  const MutexLock lock(mutex_);
  while (!lost_ && !stopped_) {
    if (!clock_.WaitUntil(changed_, mutex_, renewal)) break;
  }
  return !lost_ && !stopped_;
}

void Lease::RenewUntilOver(absl::Duration taken) {
  absl::Duration began = taken;
  while (SleepUntil(began + options_.length / kRenewalsPerLength)) {
    began = clock_.Now();
    if (Renew() == Renewal::kLost) Lose("another curator has taken the lease");
  }
  {
    const MutexLock lock(mutex_);
    if (!lost_) return;
  }
  if (options_.on_lost) options_.on_lost();
}

// After a failover the database may lack the lease that another curator took after this one's proof
// had ended. A new session therefore counts at once only if the proof still holds or the server is
// the same, and else only after the other curator's proof must have ended.
Status Lease::Connect() {
  session_.reset();
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> session,
                           OpenLeaseSession(uri_, options_.length));
  const absl::Duration opened = clock_.Now();
  COPPICE_ASSIGN_OR_RETURN(std::string server, ReadServerIdentity(*session));
  const bool proven = absl::ToInt64Nanoseconds(opened) < proven_until_.load();
  if (proven) {
    settled_from_ = opened;
  } else if (server != this->server()) {
    settled_from_ = opened + options_.length;
  }
  session_ = std::move(session);
  const MutexLock lock(mutex_);
  server_ = std::move(server);
  return OkStatus();
}

std::string Lease::server() const {
  const MutexLock lock(mutex_);
  return server_;
}

Lease::Renewal Lease::Renew() {
  if ((session_ == nullptr || !session_->IsAlive()) && !Connect().ok()) return Renewal::kFailed;
  const absl::Duration sent = clock_.Now();
  const StatusOr<bool> ours = RenewLease(*session_, epoch_);
  if (!ours.ok()) return Renewal::kFailed;
  if (!*ours) return Renewal::kLost;
  if (clock_.Now() >= settled_from_) Prove(sent);
  return Renewal::kDone;
}

Status Lease::Release() {
  StopRenewing();
  {
    const MutexLock lock(mutex_);
    if (lost_) return FailedPreconditionError(StrCat("nothing to release: ", why_lost_));
  }
  if (session_ == nullptr || !session_->IsAlive()) COPPICE_RETURN_IF_ERROR(Connect());
  COPPICE_ASSIGN_OR_RETURN(const bool ours, ReleaseLease(*session_, epoch_));
  if (ours) return OkStatus();
  return FailedPreconditionError("nothing to release: another curator has taken the lease");
}

LeaseCandidate::LeaseCandidate(std::string uri, LeaseOptions options,
                               std::unique_ptr<Connection> session)
    : uri_(std::move(uri)),
      options_(std::move(options)),
      session_(std::move(session)),
      session_since_(clock_.Now()) {}

LeaseCandidate::~LeaseCandidate() = default;

StatusOr<std::unique_ptr<LeaseCandidate>> LeaseCandidate::Join(const std::string& uri,
                                                               LeaseOptions options) {
  if (options.address.empty()) {
    return InvalidArgumentError("a curator of a fleet needs an address by which it is known");
  }
  // This session has no limit: making the tables may take longer than a lease.
  {
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> session, Connection::Open(uri));
    COPPICE_RETURN_IF_ERROR(PrepareForFleet(*session));
  }
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> session,
                           OpenLeaseSession(uri, options.length));
  return std::unique_ptr<LeaseCandidate>(
      new LeaseCandidate(uri, std::move(options), std::move(session)));
}

Status LeaseCandidate::Connect() {
  session_.reset();
  watched_.reset();
  COPPICE_ASSIGN_OR_RETURN(session_, OpenLeaseSession(uri_, options_.length));
  session_since_ = clock_.Now();
  return OkStatus();
}

StatusOr<std::unique_ptr<Lease>> LeaseCandidate::TryTake() {
  if (session_ == nullptr || !session_->IsAlive()) COPPICE_RETURN_IF_ERROR(Connect());
  const StatusOr<OwnerRow> owner = ReadOwner(*session_);
  if (!owner.ok()) {
    session_.reset();
    return owner.status();
  }
  leader_ = {.address = owner->address, .epoch = owner->epoch};
  COPPICE_RETURN_IF_ERROR(CheckLength(*owner));
  if (!MayTake(*owner)) return nullptr;
  StatusOr<std::unique_ptr<Lease>> taken = Take(*owner);
  if (!taken.ok()) session_.reset();  // the outcome may be unknown: watch anew
  return taken;
}

// A candidate that waits for less time than the leader's lease would lead at the same time.
Status LeaseCandidate::CheckLength(const OwnerRow& owner) const {
  if (owner.address.empty() || owner.length == options_.length) return OkStatus();
  return FailedPreconditionError(
      StrCat("the leader's lease is of ", absl::FormatDuration(owner.length),
             ", and this curator's of ", absl::FormatDuration(options_.length),
             ": give all curators of a fleet the same --lease-seconds"));
}

// Reads the time after the answer, so that the answer includes every earlier renewal.
bool LeaseCandidate::MayTake(const OwnerRow& owner) {
  const absl::Duration now = clock_.Now();
  if (watched_ == nullptr || watched_->epoch != owner.epoch || watched_->renewal != owner.renewal) {
    watched_ = std::make_unique<OwnerRow>(owner);
    watched_since_ = now;
  }
  // After a failover a lease may look released in this database alone, while the curator that has
  // taken it still has a proof.
  if (owner.address.empty()) return !owner.locked && now - session_since_ >= options_.length;
  return now - watched_since_ >= options_.length;
}

StatusOr<std::unique_ptr<Lease>> LeaseCandidate::Take(const OwnerRow& owner) {
  // A leader that freezes in the middle of a batch has the owner's row locked.
  if (!owner.address.empty()) {
    COPPICE_RETURN_IF_ERROR(EndOtherLocks(*session_, owner.epoch, LocksToEnd::kWaitingForClient));
  }
  COPPICE_ASSIGN_OR_RETURN(std::string server, ReadServerIdentity(*session_));
  const absl::Duration sent = clock_.Now();
  COPPICE_ASSIGN_OR_RETURN(const std::optional<int64_t> epoch,
                           TakeLease(*session_, owner, options_.address, options_.length));
  if (!epoch.has_value()) return nullptr;
  leader_ = {.address = options_.address, .epoch = *epoch};
  watched_.reset();
  return std::unique_ptr<Lease>(
      new Lease(uri_, options_, std::move(session_), std::move(server), *epoch, sent));
}

}  // namespace coppice::storage
