// coppiced, the curator's daemon: flags, certificates, store, studies, datasets, jobs, services,
// signals, drain.

#include <grpc/support/log.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "server/access/access_control.h"
#include "server/central/datasets.h"
#include "server/central/jobs.h"
#include "server/coppiced_flags.h"
#include "server/coppiced_log.h"
#include "server/coppiced_offline.h"
#include "server/coppiced_reload.h"
#include "server/coppiced_server.h"
#include "server/coppiced_signals.h"
#include "server/coppiced_tls.h"
#include "server/coppiced_token.h"
#include "server/coppiced_upkeep.h"
#include "server/curator/studies.h"
#include "server/ledger/ledger.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"
#include "server/storage/rocksdb_store.h"
#include "server/storage/store_format.h"
#include "server/trainers/trainer.h"

namespace coppice {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);

absl::StatusOr<std::optional<TlsFiles>> LoadTls(const DaemonFlags& flags) {
  if (flags.insecure) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(
      TlsFiles files, LoadTlsFiles(flags.tls_cert, flags.tls_key, flags.client_ca, absl::Now()));
  return files;
}

// Null without a policy.
absl::StatusOr<std::unique_ptr<AccessControl>> LoadPolicy(const DaemonFlags& flags) {
  if (flags.policy.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<AccessControl>> access =
      AccessControl::Open(flags.policy, /*takes_certificates=*/!flags.client_ca.empty());
  if (!access.ok()) {
    return absl::Status(access.status().code(),
                        absl::StrCat("--policy ", access.status().message()));
  }
  return access;
}

absl::StatusOr<std::optional<SigningKey>> LoadSigningKey(absl::string_view flag,
                                                         const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string pem{std::istreambuf_iterator<char>(file), {}};
  absl::StatusOr<SigningKey> key = SigningKey::FromPem(pem);
  OPENSSL_cleanse(pem.data(), pem.size());
  if (key.ok()) return *key;
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, " ", key.status().message()));
}

absl::StatusOr<SigningKeys> LoadSigningKeys(const DaemonFlags& flags) {
  SigningKeys keys{.key = {}, .next = {}, .break_chain = flags.break_key_chain};
  COPPICE_ASSIGN_OR_RETURN(keys.key, LoadSigningKey("--signing-key", flags.signing_key));
  COPPICE_ASSIGN_OR_RETURN(keys.next, LoadSigningKey("--next-signing-key", flags.next_signing_key));
  return keys;
}

absl::Status FileError(absl::string_view flag, const std::string& path, int error) {
  return absl::FailedPreconditionError(absl::StrCat(flag, " ", path, ": ", std::strerror(error)));
}

// Changes nothing: a folder that is not there must only be possible to make.
absl::Status CheckDataDir(const std::string& data_dir) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(data_dir, ignored).lexically_normal();
  while (!std::filesystem::exists(path, ignored) && path.has_relative_path()) {
    path = path.parent_path();
  }
  if (!std::filesystem::is_directory(path, ignored)) {
    return FileError("--data-dir", data_dir, ENOTDIR);
  }
  if (access(path.c_str(), W_OK | X_OK) != 0) return FileError("--data-dir", data_dir, errno);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& data_dir) {
  COPPICE_RETURN_IF_ERROR(CheckDataDir(data_dir));
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  if (error) return FileError("--data-dir", data_dir, error.value());
  absl::StatusOr<std::unique_ptr<Store>> store = OpenRocksDbStore(data_dir);
  if (!store.ok()) {
    return absl::Status(store.status().code(),
                        absl::StrCat("--data-dir ", data_dir, ": ", store.status().message()));
  }
  return store;
}

// Whoever waits for the file finds it complete.
absl::Status WritePortFile(const std::string& path, int port) {
  const std::string unfinished = absl::StrCat(path, ".", getpid(), ".tmp");
  {
    std::ofstream file(unfinished);
    file << port << "\n";
    if (!file.flush()) return FileError("--port-file", path, errno);
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return FileError("--port-file", path, errno);
  }
  return absl::OkStatus();
}

absl::Status CheckConfig(const DaemonFlags& flags) {
  COPPICE_RETURN_IF_ERROR(LoadTls(flags).status());
  COPPICE_RETURN_IF_ERROR(LoadPolicy(flags).status());
  COPPICE_RETURN_IF_ERROR(LoadSigningKeys(flags).status());
  return CheckDataDir(flags.data_dir);
}

// What SIGHUP reads again. Everything given here must outlive what is returned.
Reloads WhatToReload(AccessControl* access) {
  Reloads reloads;
  if (access != nullptr) reloads.Add("policy", [access] { return access->ReloadPolicy(); });
  return reloads;
}

std::string WaitForStop(const StopSignals& signals, const Reloads& reloads, const Log& log) {
  std::string signal = signals.Wait();
  for (; signal == "SIGHUP"; signal = signals.Wait()) reloads.Run(log);
  return signal;
}

absl::Status Serve(const DaemonFlags& flags, const Log& log) {
  const StopSignals signals;
  COPPICE_ASSIGN_OR_RETURN(const std::optional<TlsFiles> tls, LoadTls(flags));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<AccessControl> access, LoadPolicy(flags));
  COPPICE_ASSIGN_OR_RETURN(const SigningKeys signing_keys, LoadSigningKeys(flags));
  log.Info("starting", {{"version", COPPICE_VERSION},
                        {"data_dir", flags.data_dir},
                        {"tls", !tls                     ? "off"
                                : tls->client_ca.empty() ? "on"
                                                         : "mutual"}});
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(flags.data_dir));
  const auto clock = [] { return absl::ToUnixSeconds(absl::Now()); };
  // First, for it finds out whether a newer version made the store.
  COPPICE_RETURN_IF_ERROR(OpenFormat(*store, [&log](uint32_t from, const FormatStep& step) {
    log.Write(LogLevel::kWarning, "migrating",
              {{"from_format", absl::StrCat(from)},
               {"to_format", absl::StrCat(from + 1)},
               {"change", step.what},
               {"advice", "older versions refuse the store from now on; keep a backup"}});
  }));
  Models models;
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Studies> studies,
                           Studies::Open(*store, models, clock, signing_keys));
  COPPICE_RETURN_IF_ERROR(models.Load(*store));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Endpoints> endpoints,
                           Endpoints::Open(*store, models, clock));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Ledger> ledger, Ledger::Open(*store, clock));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Datasets> datasets,
                           Datasets::Open(*store, *ledger, clock));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Jobs> jobs,
                           Jobs::Open(*store, *ledger, *datasets, models, AllTrainers(), clock,
                                      {.threads = flags.training_jobs}));
  const Upkeep upkeep(*studies, log);
  COPPICE_ASSIGN_OR_RETURN(
      const std::unique_ptr<DaemonServer> server,
      DaemonServer::Start({.listen = flags.listen,
                           .tls = tls ? &*tls : nullptr,
                           .access = access.get(),
                           .ticket_limits = flags.ticket_limits},
                          {.studies = *studies,
                           .models = models,
                           .endpoints = *endpoints,
                           .datasets = *datasets,
                           .jobs = *jobs,
                           .store = *store,
                           .backups = {.folder = flags.backup_dir, .keep = flags.backup_keep}}));
  log.Info("serving", {{"listen", flags.listen}, {"port", absl::StrCat(server->port())}});
  const absl::Status port_file =
      flags.port_file.empty() ? absl::OkStatus() : WritePortFile(flags.port_file, server->port());
  const Reloads reloads = WhatToReload(access.get());
  if (port_file.ok()) log.Info("stopping", {{"signal", WaitForStop(signals, reloads, log)}});
  server->Stop(kGrace);
  log.Info("stopped");
  return port_file;
}

// gRPC's own words about sockets and handshakes, for whoever asks for them.
const Log* grpc_log = nullptr;
void LogFromGrpc(gpr_log_func_args* args) {
  grpc_log->Write(LogLevel::kDebug, "grpc", {{"message", args->message}});
}

int Main(int argc, const char* const* argv) {
  if (argc > 1 && absl::string_view(argv[1]) == "token") return TokenCommand(argc - 1, argv + 1);
  if (const std::optional<int> done = RunOffline(argc, argv)) return *done;
  DaemonFlags flags;
  const int exit_code = ParseFlags(argc, argv, flags);
  if (exit_code >= 0) return exit_code;
  const Log log(flags.log_level, flags.json);
  if (flags.check_config) {
    const absl::Status status = CheckConfig(flags);
    if (!status.ok()) std::cerr << "coppiced: " << status.message() << "\n";
    if (status.ok()) std::cerr << "coppiced: the configuration is good\n";
    return status.ok() ? kExitDone : kExitFailed;
  }
  grpc_log = &log;
  gpr_set_log_function(LogFromGrpc);
  const absl::Status status = Serve(flags, log);
  gpr_set_log_function(nullptr);
  if (!status.ok()) log.Error("failed", {{"reason", std::string(status.message())}});
  return status.ok() ? kExitDone : kExitFailed;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
