// The settings of coppice-relay, from the command line and from a file with the same names.

#ifndef COPPICE_SERVER_RELAY_DAEMON_FLAGS_H_
#define COPPICE_SERVER_RELAY_DAEMON_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "common/base/status.h"
#include "server/process/log.h"
#include "server/relay/dealing/relay_options.h"

namespace CLI {
class App;
}

namespace coppice::relay {

struct RelayFlags {
  std::string data_dir;
  std::string listen = "127.0.0.1:8445";
  std::string tls_cert;
  std::string tls_key;
  std::string client_ca;
  bool insecure = false;
  std::string http_listen;  // empty: no HTTP
  std::vector<std::string> http_allow_origin;
  uint64_t http_connections = 1000;

  std::string curator;  // HOST:PORT
  std::string curator_ca;
  std::string curator_cert;
  std::string curator_client_key;
  std::string curator_token_file;
  std::string curator_key;  // a pin, or a file that contains one
  bool curator_insecure = false;

  std::vector<std::string> studies;
  uint64_t tickets = 0;
  uint64_t min_batch = 0;
  std::string deal = "12h";
  std::string collect = "24h";

  std::string admission;
  bool admit_all = false;

  std::string metrics_listen;         // empty: no metrics
  std::string metrics_password_file;  // empty: anyone who reaches the page may read it
  std::string port_file;
  LogLevel log_level = LogLevel::kInfo;
  bool json = false;
  bool check_config = false;
  bool self_test = false;
};

// Declares the flags on `app`, with the program's description and examples. `flags` must outlive
// `app`.
void DescribeRelay(CLI::App& app, RelayFlags& flags);

// Fills `flags` and returns -1, or the exit code once help, the version or an error is printed.
int ParseRelayFlags(int argc, const char* const* argv, RelayFlags& flags);

// Parses them again, because the file of settings may have changed. Returns InvalidArgument instead
// of printing to the terminal.
StatusOr<RelayFlags> ReadRelayFlagsAgain(int argc, const char* const* argv);

// InvalidArgument names the flag and what it wants if the flags do not fit together.
Status CheckRelayFlags(const RelayFlags& flags);

// Converts the checked flags. Reads the file of --curator-key: InvalidArgument if it has no key.
StatusOr<RelayOptions> RelayOptionsOf(const RelayFlags& flags);
ConnectOptions CuratorConnectionOf(const RelayFlags& flags);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_FLAGS_H_
