#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/commands/open_store.h"
#include "server/daemon/commands/serve.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/operation/serving_curator.h"
#include "server/daemon/transport/console.h"
#include "server/daemon/transport/standby_server.h"
#include "server/process/retry_after.h"
#include "server/store/postgres/lease.h"
#include "server/store/store_location.h"

namespace coppice::daemon {
namespace {

using storage::Lease;
using storage::LeaseCandidate;

constexpr absl::Duration kRetryLeaseAfter = absl::Milliseconds(500);

absl::Duration BetweenLooks(const FleetOptions& fleet) {
  return std::clamp(absl::Seconds(fleet.lease_seconds) / 10, absl::Milliseconds(100),
                    absl::Seconds(1));
}

// Whether this curator may still answer; the error carries the time to wait.
Status CheckMayAnswer(const Lease& lease) {
  return service::AskToWait(lease.Check(), kRetryLeaseAfter);
}

// --listen with the port that was free at the start.
std::string ListenAgain(const std::string& address, int port) {
  return StrCat(address.substr(0, address.rfind(':')), ":", port);
}

// One curator of a fleet: it stands by, and leads at most once.
class FleetCurator {
 public:
  // `standby` listens until this curator leads.
  FleetCurator(const DaemonProcess& process, std::unique_ptr<StandbyServer> standby)
      : process_(process), standing_by_(MakeReloads(process)), standby_(std::move(standby)) {}

  Status Run() {
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LeaseCandidate> candidate, Join());
    if (candidate == nullptr) return OkStatus();
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Lease> lease, StandBy(*candidate));
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

  // Ends the process at once, because its answers may be out of date from now on.
  void EndAfterLoss() const {
    process_.log.Error("lease lost",
                       {{"advice",
                         "another curator leads; this one ends, and stands by when it is started "
                         "anew"}});
    _exit(kExitLeaseLost);
  }

  // Waits a moment. Returns whether the process was told to stop meanwhile.
  bool ToldToStop(const Reloads& reloads) const {
    const std::optional<std::string> signal =
        process_.signals.WaitFor(BetweenLooks(process_.flags.fleet));
    if (!signal.has_value()) return false;
    if (*signal == "SIGHUP") {
      reloads.Run(process_.log);
      return false;
    }
    process_.log.Info("stopping", {{"signal", *signal}});
    return true;
  }

  // Null if the process was told to stop.
  StatusOr<std::unique_ptr<LeaseCandidate>> Join() {
    COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                             LocationOf(process_.flags.store));
    for (;;) {
      StatusOr<std::unique_ptr<LeaseCandidate>> candidate = LeaseCandidate::Join(
          location.address(), {.address = process_.flags.fleet.address,
                               .length = absl::Seconds(process_.flags.fleet.lease_seconds),
                               .on_lost = [this] { EndAfterLoss(); }});
      if (candidate.ok()) return candidate;
      if (!IsUnavailable(candidate.status())) return candidate.status();
      TellTrouble(candidate.status());
      if (ToldToStop(standing_by_)) return nullptr;
    }
  }

  // Waits for the lease. Null if the process was told to stop.
  StatusOr<std::unique_ptr<Lease>> StandBy(LeaseCandidate& candidate) {
    COPPICE_ASSIGN_OR_RETURN(
        const std::unique_ptr<metrics::MetricsPage> page,
        ServeStandbyMetrics(process_.flags.metrics, [this] { return can_lead_.load(); }));
    for (;;) {
      StatusOr<std::unique_ptr<Lease>> lease = candidate.TryTake();
      if (lease.ok() && *lease != nullptr) return *std::move(lease);
      TellTrouble(lease.status());
      TellLeader(candidate.leader());  // also if this curator may not lead
      if (ToldToStop(standing_by_)) return nullptr;
    }
  }

  // Logs when the database stops answering, when its error changes, and when it recovers.
  void TellTrouble(const Status& status) {
    can_lead_ = status.ok();
    if (status == trouble_) return;
    trouble_ = status;
    if (status.ok()) return process_.log.Info("database answers");
    Warn("cannot lead", status);
  }

  void TellLeader(const storage::Leader& leader) {
    if (leader.address == leader_) return;
    leader_ = leader.address;
    process_.log.Info("another leads", {{"leader", leader_.empty() ? "nobody" : leader_},
                                        {"epoch", StrCat(leader.epoch)}});
  }

  // Retries while the database is unavailable and the lease lasts.
  StatusOr<vault::KeyedStore> OpenStoreUnder(const Lease& lease) {
    for (;;) {
      StatusOr<vault::KeyedStore> store = OpenStore(process_.flags.store, process_.log, &lease);
      if (!IsUnavailable(store.status()) || !lease.Check().ok()) return store;
      TellTrouble(store.status());
      if (ToldToStop(standing_by_)) return store;
    }
  }

  Status Lead(const Lease& lease) {
    const DaemonFlags& flags = process_.flags;
    const FleetLead lead{.address = flags.fleet.address,
                         .epoch = lease.epoch(),
                         .since = absl::Now(),
                         .lease_length = absl::Seconds(flags.fleet.lease_seconds)};
    process_.log.Info("leading", {{"epoch", StrCat(lease.epoch())}});
    COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, OpenStoreUnder(lease));
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<CuratorState> curator,
                             LoadCuratorState(process_, *store));
    const std::string listen = ListenAgain(flags.listen.address, standby_->port());
    standby_.reset();
    ServingOptions options = ServingOptionsOf(process_);
    options.listen = listen;
    options.may_answer = [&lease] { return CheckMayAnswer(lease); };
    options.lead = lead;
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ServingCurator> serving,
                             ServingCurator::Start(options, *curator, process_.log));
    process_.log.Info("serving the fleet", {{"listen", listen}});
    const Reloads leading = MakeReloads(process_, store.sealed(), &curator->audit());
    while (!ToldToStop(leading)) serving->SetLeads(lease.Check().ok());
    serving->Stop();
    return OkStatus();
  }

  const DaemonProcess& process_;
  const Reloads standing_by_;
  std::unique_ptr<StandbyServer> standby_;  // null once this curator serves
  Status trouble_;
  std::string leader_;
  std::atomic<bool> can_lead_{false};
};

}  // namespace

Status ServeInFleet(const DaemonProcess& process) {
  const DaemonFlags& flags = process.flags;
  COPPICE_RETURN_IF_ERROR(CheckConfig(flags));  // fail now rather than when this curator must lead
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<StandbyServer> standby,
                           StandbyServer::Start(flags.listen.address,
                                                process.files.certificates.get(), flags.transport));
  COPPICE_RETURN_IF_ERROR(TellPort(flags.listen, "standing by", standby->port(), process.log));
  const Status ended = FleetCurator(process, std::move(standby)).Run();
  process.log.Info("stopped");
  return ended;
}

}  // namespace coppice::daemon
