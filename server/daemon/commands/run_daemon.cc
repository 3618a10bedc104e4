#include "server/daemon/commands/run_daemon.h"

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
#include "server/daemon/commands/commands.h"
#include "server/daemon/commands/serve.h"
#include "server/daemon/config/flags.h"
#include "server/process/log.h"

namespace coppice::daemon {
namespace {

// Logs where gRPC complained about a socket or a handshake, but not its text, which holds
// addresses.
const Log* library_log = nullptr;
void LogFromGrpc(gpr_log_func_args* args) {
  library_log->Write(LogLevel::kDebug, "grpc", {{"source", StrCat(args->file, ":", args->line)}});
}

// The same for protobuf, whose text names fields of requests: clients decide how many lines come.
void LogFromProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                     const std::string& message) {
  const std::string source = StrCat(file, ":", line);
  if (level < google::protobuf::LOGLEVEL_FATAL) {
    return library_log->Write(LogLevel::kDebug, "protobuf", {{"source", source}});
  }
  library_log->Error("protobuf", {{"source", source}, {"reason", message}});
}

}  // namespace

int RunDaemon(int argc, const char* const* argv) {
  umask(S_IRWXG | S_IRWXO);                  // new files may hold rows, keys or tokens
  google::protobuf::SetLogHandler(nullptr);  // readers report parse errors themselves
  // Debian's Abseil checks every lock for deadlocks, gRPC's included, which slows small calls.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (argc > 1 && std::string_view(argv[1]) == "token") return TokenCommand(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "key-file")
    return KeyFileCommand(argc - 1, argv + 1);
  if (const std::optional<int> done = RunOffline(argc, argv)) return *done;
  if (const std::optional<int> done = RunReference(argc, argv)) return *done;
  DaemonFlags flags;
  const int exit_code = ParseFlags(argc, argv, flags);
  if (exit_code >= 0) return exit_code;
  Log log(flags.log.level, flags.log.json);
  if (flags.check_config) {
    const Status status = CheckConfig(flags);
    if (!status.ok()) std::cerr << "coppiced: " << status.message() << "\n";
    if (status.ok()) std::cerr << "coppiced: the configuration is good\n";
    return status.ok() ? kExitDone : kExitFailed;
  }
  library_log = &log;
  gpr_set_log_function(LogFromGrpc);
  google::protobuf::SetLogHandler(LogFromProtobuf);
  const Status status = Serve(
      flags, [&] { return ReadFlagsAgain(argc, argv); }, log);
  gpr_set_log_function(nullptr);
  google::protobuf::SetLogHandler(nullptr);
  if (!status.ok()) log.Error("failed", {{"reason", std::string(status.message())}});
  return status.ok() ? kExitDone : kExitFailed;
}

}  // namespace coppice::daemon
