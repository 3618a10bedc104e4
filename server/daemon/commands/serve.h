// Serves: from a store of its own, or as a curator of a fleet.

#ifndef COPPICE_SERVER_DAEMON_COMMANDS_SERVE_H_
#define COPPICE_SERVER_DAEMON_COMMANDS_SERVE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/operation/curator_state.h"
#include "server/process/certificates.h"
#include "server/process/log.h"
#include "server/process/process.h"
#include "server/serving/access/access_control.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/store.h"
#include "server/store/vault/sealed_store.h"

namespace coppice::daemon {

struct ServingOptions;

// Reads the flags again, with their file.
using FlagReader = std::function<StatusOr<DaemonFlags>()>;

// Serves until SIGTERM or SIGINT. The error says what prevented the start or ended serving.
Status Serve(const DaemonFlags& flags, const FlagReader& read_flags, Log& log);

// Reads every file that the flags name, as the start would, and changes nothing.
Status CheckConfig(const DaemonFlags& flags);

// The parts of Serve() share the following.

// The contents of the files that the flags name, read once. Null where a flag turns a part off.
struct DaemonFiles {
  std::unique_ptr<Certificates> certificates;
  std::unique_ptr<access::AccessControl> access;
  curator::SigningKeys signing_keys;
  std::shared_ptr<const http::Console> console;
  std::shared_ptr<const http::Site> site;
};

// A serving process. All of it must outlive what it starts.
struct DaemonProcess {
  const DaemonFlags& flags;
  const FlagReader& read_flags;
  const DaemonFiles& files;
  const StopSignals& signals;
  Log& log;
};

// What a process serves its curator with, alone or in a fleet; the process must outlive it.
ServingOptions ServingOptionsOf(const DaemonProcess& process);

// Loads the curator of a store and tests it.
StatusOr<std::unique_ptr<CuratorState>> LoadCuratorState(const DaemonProcess& process,
                                                         storage::Store& store);

// Wraps a reload of `part` so that the audit log, which must outlive it, records the result.
std::function<Status()> Audited(audit::AuditLog& audit, std::string_view part,
                                std::function<Status()> reload);

// The reloads that SIGHUP runs. `sealed` and `audit` belong to a loaded curator; without `audit`
// reloads are not audited. All must outlive the result.
Reloads MakeReloads(const DaemonProcess& process, vault::SealedStore* sealed = nullptr,
                    audit::AuditLog* audit = nullptr);

// Waits for SIGTERM or SIGINT and logs which one came; reloads at SIGHUP.
void WaitForStop(const DaemonProcess& process, const Reloads& reloads);

// Logs `event` with the port that the daemon listens on, and writes --port-file.
Status TellPort(const ListenOptions& listen, std::string_view event, int port, const Log& log);

// Serves as one of several curators on a database, of which one leads and the others stand by
// (docs/fleet.md).
Status ServeInFleet(const DaemonProcess& process);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_COMMANDS_SERVE_H_
