#include "server/relay/daemon/run_relay.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <sys/stat.h>

#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/command_line/complain.h"
#include "server/process/log.h"
#include "server/relay/daemon/commands.h"
#include "server/relay/daemon/flags.h"

namespace coppice::relay {
namespace {

// Logs where gRPC complained about a socket or a handshake, at debug level. Omits gRPC's text,
// which contains addresses.
const Log* relay_library_log = nullptr;
void LogFromTransport(gpr_log_func_args* args) {
  relay_library_log->Write(LogLevel::kDebug, "grpc",
                           {{"source", StrCat(args->file, ":", args->line)}});
}

int ServeAndLog(int argc, const char* const* argv, const RelayFlags& flags) {
  Log log(flags.log_level, flags.json);
  relay_library_log = &log;
  gpr_set_log_function(LogFromTransport);
  const Status status = ServeRelay(
      flags, [&] { return ReadRelayFlagsAgain(argc, argv); }, log);
  gpr_set_log_function(nullptr);
  if (!status.ok()) log.Error("failed", {{"reason", std::string(status.message())}});
  return status.ok() ? kExitDone : kExitFailed;
}

}  // namespace

int RunRelay(int argc, const char* const* argv) {
  umask(S_IRWXG | S_IRWXO);  // files made here contain keys, or who gets which ticket
  google::protobuf::SetLogHandler(nullptr);  // its messages name fields of requests
  // Debian's Abseil checks every lock for deadlocks, gRPC's included, which slows small calls.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "keygen") return KeygenCommand(argc - 1, argv + 1);
  if (command == "token") return DeviceTokenCommand(argc - 1, argv + 1);
  if (const std::optional<int> done = RunRelayReference(argc, argv)) return *done;
  RelayFlags flags;
  const int exit_code = ParseRelayFlags(argc, argv, flags);
  if (exit_code >= 0) return exit_code;
  if (!flags.check_config) return ServeAndLog(argc, argv, flags);
  const Status status = CheckRelayConfig(flags);
  if (!status.ok()) std::cerr << "coppice-relay: " << status.message() << "\n";
  if (status.ok()) std::cerr << "coppice-relay: the configuration is good\n";
  return status.ok() ? kExitDone : kExitFailed;
}

}  // namespace coppice::relay
