#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/commands/open_store.h"
#include "server/daemon/commands/serve.h"
#include "server/daemon/fleet/front.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/operation/serving_curator.h"
#include "server/daemon/transport/console.h"
#include "server/serving/calls/retry_after.h"
#include "server/store/postgres/lease.h"
#include "server/store/store_location.h"

namespace coppice::daemon {
namespace {

using storage::Lease;
using storage::LeaseCandidate;

constexpr absl::Duration kFrontGrace = absl::Seconds(3);
constexpr absl::Duration kRetryAfter = absl::Milliseconds(500);

std::string PeerAddress(const DaemonFlags& flags) {
  return flags.peer_address.empty() ? flags.peer_listen : flags.peer_address;
}

absl::Duration BetweenLooks(const DaemonFlags& flags) {
  return std::clamp(absl::Seconds(flags.lease_seconds) / 10, absl::Milliseconds(100),
                    absl::Seconds(1));
}

// Whether this curator may still answer; the error carries the time to wait.
Status CheckMayAnswer(const Lease& lease) { return service::AskToWait(lease.Check(), kRetryAfter); }

// One curator of a fleet: it follows, and leads at most once.
class FleetCurator {
 public:
  // `peer_certificates` may be null: peers then speak without TLS.
  FleetCurator(const DaemonProcess& process, Front& front, Certificates* peer_certificates)
      : process_(process),
        front_(front),
        peer_certificates_(peer_certificates),
        following_(Reloading(nullptr, nullptr)) {}

  Status Run() {
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LeaseCandidate> candidate, Join());
    if (candidate == nullptr) return OkStatus();
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Lease> lease, Follow(*candidate));
    if (lease == nullptr) return OkStatus();
    const Status led = Lead(*lease);
    const Status released = lease->Release();
    if (!released.ok()) Warn("lease not released", released);
    return led;
  }

 private:
  void Warn(std::string_view event, const Status& why) const {
    process_.log.Warning(event, {{"reason", std::string(why.message())}});
  }

  // The reloads that SIGHUP runs; `audit` is null while it follows.
  Reloads Reloading(vault::SealedStore* sealed, audit::AuditLog* audit) {
    Reloads reloads = MakeReloads(process_, sealed, audit);
    if (peer_certificates_ == nullptr) return reloads;
    const std::function<Status()> reload = [this]() -> Status {
      COPPICE_ASSIGN_OR_RETURN(TlsFiles files, LoadPeerTls(process_.flags));
      front_.Replace(files.client_ca, files.certificate, files.key);
      peer_certificates_->Replace(std::move(files));
      return OkStatus();
    };
    constexpr std::string_view kPart = "peer-certificates";
    reloads.Add(std::string(kPart), audit == nullptr ? reload : Audited(*audit, kPart, reload));
    return reloads;
  }

  // Ends the process at once, because its answers may be out of date from now on.
  void EndAfterLoss() const {
    process_.log.Error("lease lost",
                       {{"advice",
                         "another curator leads; this one ends, and follows when it is started "
                         "anew"}});
    _exit(kExitLeaseLost);
  }

  // Waits a moment. Returns whether the process was told to stop meanwhile.
  bool ToldToStop() const {
    const std::optional<std::string> signal =
        process_.signals.WaitFor(BetweenLooks(process_.flags));
    if (!signal.has_value()) return false;
    if (*signal == "SIGHUP") {
      following_.Run(process_.log);
      return false;
    }
    process_.log.Info("stopping", {{"signal", *signal}});
    return true;
  }

  // Null if the process was told to stop.
  StatusOr<std::unique_ptr<LeaseCandidate>> Join() {
    COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                             LocationOf(process_.flags.store, process_.flags.data_dir));
    for (;;) {
      StatusOr<std::unique_ptr<LeaseCandidate>> candidate = LeaseCandidate::Join(
          location.address(), {.address = PeerAddress(process_.flags),
                               .length = absl::Seconds(process_.flags.lease_seconds),
                               .on_lost = [this] { EndAfterLoss(); }});
      if (candidate.ok()) return candidate;
      if (!IsUnavailable(candidate.status())) return candidate.status();
      TellTrouble(candidate.status());
      if (ToldToStop()) return nullptr;
    }
  }

  // Forwards calls until this curator leads. Null if the process was told to stop.
  StatusOr<std::unique_ptr<Lease>> Follow(LeaseCandidate& candidate) {
    COPPICE_ASSIGN_OR_RETURN(
        const std::unique_ptr<metrics::MetricsPage> page,
        ServeFollowerMetrics(process_.flags, [this] { return reaches_leader_.load(); }));
    for (;;) {
      StatusOr<std::unique_ptr<Lease>> lease = candidate.TryTake();
      if (lease.ok() && *lease != nullptr) return *std::move(lease);
      TellTrouble(lease.status());
      TellLeader(candidate.leader());  // also if this curator may not lead
      reaches_leader_ = front_.ReachesLeader();
      front_.SetReady(reaches_leader_);
      if (ToldToStop()) return nullptr;
    }
  }

  // Logs when the database stops answering, when its error changes, and when it recovers.
  void TellTrouble(const Status& status) {
    if (status == trouble_) return;
    trouble_ = status;
    if (status.ok()) return process_.log.Info("database answers");
    Warn("cannot lead", status);
  }

  void TellLeader(const storage::Leader& leader) {
    front_.SetLeader(leader.address);
    if (leader.address == leader_) return;
    leader_ = leader.address;
    process_.log.Info("following", {{"leader", leader_.empty() ? "nobody" : leader_},
                                    {"epoch", StrCat(leader.epoch)}});
  }

  // Retries while the database is unavailable and the lease lasts.
  StatusOr<vault::KeyedStore> OpenStoreUnder(const Lease& lease) {
    for (;;) {
      StatusOr<vault::KeyedStore> store = OpenStore(process_.flags, process_.log, &lease);
      if (!IsUnavailable(store.status()) || !lease.Check().ok()) return store;
      TellTrouble(store.status());
      if (ToldToStop()) return store;
    }
  }

  Status Lead(const Lease& lease) {
    const DaemonFlags& flags = process_.flags;
    const FleetLead lead{.address = PeerAddress(flags),
                         .epoch = lease.epoch(),
                         .since = absl::Now(),
                         .lease_length = absl::Seconds(flags.lease_seconds)};
    process_.log.Info("leading", {{"epoch", StrCat(lease.epoch())}});
    front_.SetReady(false);
    COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, OpenStoreUnder(lease));
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedCurator> curator,
                             LoadCurator(process_, *store));
    COPPICE_ASSIGN_OR_RETURN(
        const std::unique_ptr<ServingCurator> serving,
        ServingCurator::Start({.flags = flags,
                               .listen = flags.peer_listen,
                               .certificates = peer_certificates_,
                               .access = process_.files.access.get(),
                               .behind_fronts = true,
                               .may_answer = [&lease] { return CheckMayAnswer(lease); },
                               .tell_ready = [this](bool ready) { front_.SetReady(ready); },
                               .lead = lead},
                              *curator, process_.log));
    front_.SetLeader(lead.address);
    process_.log.Info("serving the fleet", {{"listen", flags.peer_listen}});
    WaitForStop(process_, Reloading(store.sealed(), &curator->audit()));
    serving->Stop();
    return OkStatus();
  }

  const DaemonProcess& process_;
  Front& front_;
  Certificates* const peer_certificates_;
  const Reloads following_;
  Status trouble_;
  std::string leader_;
  std::atomic<bool> reaches_leader_{false};
};

}  // namespace

Status ServeInFleet(const DaemonProcess& process) {
  const DaemonFlags& flags = process.flags;
  COPPICE_RETURN_IF_ERROR(CheckConfig(flags));  // fail now rather than when this curator must lead
  TlsFiles peers;
  if (!flags.insecure) {
    COPPICE_ASSIGN_OR_RETURN(peers, LoadPeerTls(flags));
  }
  COPPICE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Front> front,
      Front::Start({.listen = flags.listen,
                    .http = HttpOptionsOf(flags, process.files.console, process.files.site),
                    .certificates = process.files.certificates.get(),
                    .limits = flags.limits,
                    .peer_ca_pem = peers.client_ca,
                    .certificate_pem = peers.certificate,
                    .key_pem = peers.key,
                    .log = &process.log}));
  TellHttp(flags, front->http_port(), process.log);
  COPPICE_RETURN_IF_ERROR(TellPort(flags, front->port(), process.log));
  std::optional<Certificates> certificates;
  if (!flags.insecure) certificates.emplace(std::move(peers));
  const Status ended = FleetCurator(process, *front, certificates ? &*certificates : nullptr).Run();
  front->Stop(kFrontGrace);
  process.log.Info("stopped");
  return ended;
}

}  // namespace coppice::daemon
