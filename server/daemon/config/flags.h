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
#include "server/daemon/config/limits.h"
#include "server/process/log.h"
#include "server/serving/service/ticket_limits.h"
#include "server/store/store_location.h"

namespace CLI {
class App;
}

namespace coppice::daemon {

struct DaemonFlags {
  std::string store;     // rocksdb:DIR or postgresql://…
  std::string data_dir;  // DIR only
  std::string listen = "127.0.0.1:8443";
  std::string http_listen;  // empty: no HTTP
  std::vector<std::string> http_allow_origin;
  uint64_t http_connections = 1000;
  std::optional<std::string> console;  // unset: the installed one, if any
  std::optional<std::string> site;     // unset: the installed one, if any
  std::string tls_cert;
  std::string tls_key;
  std::string client_ca;
  std::string policy;
  std::string signing_key;
  std::string next_signing_key;
  bool break_key_chain = false;
  bool insecure = false;
  bool check_config = false;
  bool self_test = false;
  uint32_t clock_tolerance = 3600;    // seconds
  std::string metrics_listen;         // empty: no metrics
  std::string metrics_password_file;  // empty: everyone who reaches the page reads it
  std::string port_file;
  RateLimit ticket_limits = service::kDefaultTicketLimit;
  uint32_t training_jobs = 1;
  DaemonLimits limits;
  std::string backup_dir;
  std::string spending_journal;
  std::string key_file;
  uint32_t backup_keep = 7;
  uint32_t audit_days = 0;    // 0: keeps all
  std::string fleet_address;  // empty: not in a fleet
  uint32_t lease_seconds = 10;
  LogLevel log_level = LogLevel::kInfo;
  bool json = false;

  bool in_fleet() const { return !fleet_address.empty(); }
};

// The value of --console and --site that serves none.
inline constexpr char kNoFolder[] = "none";

inline constexpr int kExitLeaseLost = 75;  // another curator of the fleet leads; start again

// Declares the flags on `app`, with the daemon's description and examples. `flags` must outlive it.
void DescribeDaemon(CLI::App& app, DaemonFlags& flags);

// Fills `flags` and returns -1, or the exit code after printing help, the version or an error.
int ParseFlags(int argc, const char* const* argv, DaemonFlags& flags);

// Reads the flags again, for a config file that may have changed. InvalidArgument instead of output
// on the terminal.
StatusOr<DaemonFlags> ReadFlagsAgain(int argc, const char* const* argv);

// The location of the store, from the flags --store and --data-dir. InvalidArgument unless one of
// them is given and names a store.
StatusOr<storage::StoreLocation> LocationOf(const std::string& store, const std::string& data_dir);

// InvalidArgument, naming the flag and what it wants, if the flags do not fit together.
Status CheckFlags(const DaemonFlags& flags);

// Warns, as server/process/process.h does, for each private key in `flags`.
void WarnOfOpenKeyFiles(const DaemonFlags& flags, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_CONFIG_FLAGS_H_
