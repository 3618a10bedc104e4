// Connections to a curator or a relay over gRPC.

#ifndef COPPICE_CLIENT_DEVICE_GRPC_CONNECT_H_
#define COPPICE_CLIENT_DEVICE_GRPC_CONNECT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/status.h"

namespace grpc {
class Channel;
}

namespace coppice {

struct ConnectOptions {
  std::string server;       // HOST:PORT
  std::string ca_file{};    // PEM; the system's roots if empty
  std::string cert_file{};  // PEM, with key_file, for mutual TLS
  std::string key_file{};
  std::string token_file{};  // one line, the bearer token; read once
  bool insecure = false;     // loopback only
};

struct RetryOptions {
  absl::Duration deadline = absl::Seconds(20);       // for each try
  absl::Duration give_up_after = absl::Seconds(60);  // for all tries together
  absl::Duration first_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(10);
  // Called once, when a call gives up without an answer from the curator. Returns why, in words for
  // people, or OK if it does not know; the error is then gRPC's.
  std::function<Status()> diagnose{};
};

// The token in `path`, one line. InvalidArgument, naming the file.
StatusOr<std::string> ReadTokenFile(const std::string& path);

// InvalidArgument unless the options make sense together; reads no file.
Status CheckConnectOptions(const ConnectOptions& options);

// The channel alone, for callers with stubs of their own (the command line).
StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectOptions& options);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_GRPC_CONNECT_H_
