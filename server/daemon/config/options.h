// The daemon's settings, one struct for each of its parts.

#ifndef COPPICE_SERVER_DAEMON_CONFIG_OPTIONS_H_
#define COPPICE_SERVER_DAEMON_CONFIG_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rate_limiter.h"
#include "common/base/status.h"
#include "server/daemon/config/limits.h"
#include "server/process/log.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/ticket_limits.h"
#include "server/store/store_location.h"

namespace coppice::daemon {

// Where state is kept, and what protects it.
struct StoreOptions {
  std::string location;          // rocksdb:DIR or postgresql://…
  std::string data_dir;          // DIR only
  std::string key_file;          // empty: private records are not encrypted
  std::string spending_journal;  // empty: none
  service::BackupSettings backups{.folder = "", .keep = 7};
};

// Where clients connect, by which certificates, and who may do what.
struct ListenOptions {
  std::string address = "127.0.0.1:8443";
  std::string port_file;
  bool insecure = false;
  std::string tls_cert;
  std::string tls_key;
  std::string client_ca;
  std::string policy;
};

// The value of --console and --site that serves none.
inline constexpr char kNoFolder[] = "none";

// The second listener, for browsers.
struct WebOptions {
  std::string listen;  // empty: no HTTP
  std::vector<std::string> allow_origin;
  uint64_t connections = 1000;
  std::optional<std::string> console;  // unset: the installed one, if any
  std::optional<std::string> site;     // unset: the installed one, if any
};

// The keys that sign studies and models; empty: the one in the store.
struct SigningOptions {
  std::string key;
  std::string next_key;
  bool break_chain = false;
};

// What a curator takes and keeps.
struct CuratorOptions {
  RateLimit tickets = service::kDefaultTicketLimit;
  uint32_t training_jobs = 1;
  uint32_t training_threads = 1;  // of each job
  uint32_t audit_days = 0;        // 0: keeps all
  CuratorLimits limits{};
};

// The location of the store, from --store and --data-dir. InvalidArgument unless exactly one of
// them is given and names a store.
StatusOr<storage::StoreLocation> LocationOf(const std::string& store, const std::string& data_dir);
inline StatusOr<storage::StoreLocation> LocationOf(const StoreOptions& options) {
  return LocationOf(options.location, options.data_dir);
}

struct FleetOptions {
  std::string address;  // empty: not in a fleet
  uint32_t lease_seconds = 10;
};

struct MetricsOptions {
  std::string listen;         // empty: no metrics
  std::string password_file;  // empty: everyone who reaches the page reads it
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool json = false;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_CONFIG_OPTIONS_H_
