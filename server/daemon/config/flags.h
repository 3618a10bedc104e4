// The daemon's settings, from the command line and a file of the same names.

#ifndef COPPICE_SERVER_DAEMON_CONFIG_FLAGS_H_
#define COPPICE_SERVER_DAEMON_CONFIG_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/rate_limiter.h"
#include "common/command_line/complain.h"
#include "common/process/log.h"
#include "server/daemon/config/limits.h"
#include "server/service/ticket_limits.h"
#include "server/storage/store_location.h"

namespace CLI {
class App;
}

namespace coppice::daemon {

struct DaemonFlags {
  std::string store;     // rocksdb:DIR or postgresql://…
  std::string data_dir;  // DIR alone
  std::string listen = "127.0.0.1:8443";
  std::string http_listen;  // empty: no HTTP
  std::vector<std::string> http_allow_origin;
  uint64_t http_connections = 1000;
  std::optional<std::string> console;  // none: the installed one, if there is one
  std::optional<std::string> site;     // likewise
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
  std::string metrics_password_file;  // empty: whoever reaches the page reads it
  std::string port_file;
  RateLimit ticket_limits = service::kDefaultTicketLimit;
  uint32_t training_jobs = 1;
  DaemonLimits limits;
  std::string backup_dir;
  std::string spending_journal;
  std::string key_file;
  uint32_t backup_keep = 7;
  uint32_t audit_days = 0;  // 0: all are kept
  std::string peer_listen;  // empty: the daemon is no curator of a fleet
  std::string peer_address;
  std::string peer_cert;
  std::string peer_key;
  std::string peer_ca;
  uint32_t lease_seconds = 10;
  LogLevel log_level = LogLevel::kInfo;
  bool json = false;

  bool in_fleet() const { return !peer_listen.empty(); }
};

// What --console and --site take for: serve none.
inline constexpr char kNoFolder[] = "none";

inline constexpr int kExitLeaseLost = 75;  // another curator of the fleet leads: start it again

// Declares the flags on `app`, with the daemon's description and examples. `flags` must outlive it.
void DescribeDaemon(CLI::App& app, DaemonFlags& flags);

// Fills `flags` and returns -1, or the exit code once help, the version or a complaint is printed.
int ParseFlags(int argc, const char* const* argv, DaemonFlags& flags);

// The same again, for a file of settings that may have changed: InvalidArgument instead of words to
// the terminal.
absl::StatusOr<DaemonFlags> ReadFlagsAgain(int argc, const char* const* argv);

// Where the flags --store and --data-dir say that a store lies. InvalidArgument unless one of them
// is given, or for a store that is none.
absl::StatusOr<storage::StoreLocation> LocationOf(const std::string& store,
                                                  const std::string& data_dir);

// InvalidArgument that names the flag and what it wants, when the flags do not fit together.
absl::Status CheckFlags(const DaemonFlags& flags);

// As in common/process/process.h, for each private key in `flags`.
void WarnOfOpenKeyFiles(const DaemonFlags& flags, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_CONFIG_FLAGS_H_
