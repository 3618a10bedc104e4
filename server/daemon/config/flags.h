// The daemon's settings, from the command line and a config file with the same names.

#ifndef COPPICE_SERVER_DAEMON_CONFIG_FLAGS_H_
#define COPPICE_SERVER_DAEMON_CONFIG_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rate_limiter.h"
#include "common/base/status.h"
#include "common/command_line/complain.h"
#include "server/daemon/config/options.h"
#include "server/process/log.h"
#include "server/serving/service/ticket_limits.h"
#include "server/store/store_location.h"

namespace CLI {
class App;
}

namespace coppice::daemon {

struct DaemonFlags {
  StoreOptions store;
  ListenOptions listen;
  WebOptions web;
  SigningOptions signing;
  CuratorOptions curator;
  TransportLimits transport;
  FleetOptions fleet;
  MetricsOptions metrics;
  LogOptions log;
  uint32_t clock_tolerance = 3600;  // seconds
  bool check_config = false;
  bool self_test = false;

  bool in_fleet() const { return !fleet.address.empty(); }
};

inline constexpr int kExitLeaseLost = 75;  // another curator of the fleet leads; start again

// Declares the flags on `app`, with the daemon's description and examples. `flags` must outlive it.
void DescribeDaemon(CLI::App& app, DaemonFlags& flags);

// Fills `flags` and returns -1, or the exit code after printing help, the version or an error.
int ParseFlags(int argc, const char* const* argv, DaemonFlags& flags);

// Reads the flags again, for a config file that may have changed. InvalidArgument instead of output
// on the terminal.
StatusOr<DaemonFlags> ReadFlagsAgain(int argc, const char* const* argv);

// InvalidArgument, naming the flag and what it wants, if the flags do not fit together.
Status CheckFlags(const DaemonFlags& flags);

// Warns, as server/process/process.h does, for each private key in `flags`.
void WarnOfOpenKeyFiles(const DaemonFlags& flags, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_CONFIG_FLAGS_H_
