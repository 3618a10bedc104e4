// coppiced, the curator's daemon: flags, certificates, store, studies, datasets, jobs, services,
// signals, drain.

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <openssl/crypto.h>
#include <prometheus/registry.h>
#include <sys/stat.h>

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "server/access/access_control.h"
#include "server/audit/audit_log.h"
#include "server/central/datasets.h"
#include "server/central/jobs.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/curator/studies/studies.h"
#include "server/daemon/commands/commands.h"
#include "server/daemon/commands/open_store.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/config/log.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/operation/process.h"
#include "server/daemon/operation/readiness.h"
#include "server/daemon/operation/study_sweeper.h"
#include "server/daemon/transport/connections.h"
#include "server/daemon/transport/credentials.h"
#include "server/daemon/transport/server.h"
#include "server/daemon/transport/tls.h"
#include "server/ledger/ledger.h"
#include "server/ledger/spending_journal.h"
#include "server/metrics/all_pages.h"
#include "server/metrics/call_metrics.h"
#include "server/metrics/metrics_page.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"
#include "server/storage/rocksdb/database_files.h"
#include "server/storage/store_format.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "server/vault/keyed_store.h"

namespace coppice::daemon {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);
constexpr absl::Duration kBetweenChecks = absl::Seconds(5);

using FlagReader = std::function<absl::StatusOr<DaemonFlags>()>;

absl::StatusOr<TlsFiles> LoadTls(const DaemonFlags& flags) {
  return LoadTlsFiles(flags.tls_cert, flags.tls_key, flags.client_ca, absl::Now());
}

// Null if there is to be no TLS.
absl::StatusOr<std::unique_ptr<Certificates>> LoadCertificates(const DaemonFlags& flags) {
  if (flags.insecure) return nullptr;
  COPPICE_ASSIGN_OR_RETURN(TlsFiles files, LoadTls(flags));
  return std::make_unique<Certificates>(std::move(files));
}

// Null without a policy.
absl::StatusOr<std::unique_ptr<access::AccessControl>> LoadPolicy(const DaemonFlags& flags) {
  if (flags.policy.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<access::AccessControl>> access =
      access::AccessControl::Open(flags.policy, /*takes_certificates=*/!flags.client_ca.empty());
  if (!access.ok()) {
    return absl::Status(access.status().code(),
                        absl::StrCat("--policy ", access.status().message()));
  }
  return access;
}

absl::StatusOr<std::optional<SigningKey>> LoadSigningKey(absl::string_view flag,
                                                         const std::string& path) {
  if (path.empty()) return std::nullopt;
  absl::StatusOr<std::string> pem = ReadFile(path);
  if (!pem.ok()) {
    return absl::Status(pem.status().code(), absl::StrCat(flag, " ", pem.status().message()));
  }
  absl::StatusOr<SigningKey> key = SigningKey::FromPem(*pem);
  OPENSSL_cleanse(pem->data(), pem->size());
  if (key.ok()) return *key;
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, " ", key.status().message()));
}

absl::StatusOr<curator::SigningKeys> LoadSigningKeys(const DaemonFlags& flags) {
  curator::SigningKeys keys{.key = {}, .next = {}, .break_chain = flags.break_key_chain};
  COPPICE_ASSIGN_OR_RETURN(keys.key, LoadSigningKey("--signing-key", flags.signing_key));
  COPPICE_ASSIGN_OR_RETURN(keys.next, LoadSigningKey("--next-signing-key", flags.next_signing_key));
  return keys;
}

// Null if there is to be none.
absl::StatusOr<std::unique_ptr<ledger::SpendingJournal>> OpenSpendingJournal(
    const DaemonFlags& flags) {
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--spending-journal", flags.spending_journal, flags));
  if (flags.spending_journal.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<ledger::SpendingJournal>> journal =
      ledger::SpendingJournal::Open(flags.spending_journal);
  if (journal.ok()) return journal;
  return absl::Status(journal.status().code(),
                      absl::StrCat("--spending-journal: ", journal.status().message()));
}

// A disk that is not mounted looks like a journal that is not there yet.
void WarnOfNewJournal(const central::Datasets& datasets, const Log& log) {
  bool any_spent = false;
  metrics::ForEachOf([&](const Page& page) { return datasets.List(page); },
                     [&](const central::DatasetInfo& dataset) {
                       any_spent |= dataset.account.spent != ledger::Cost();
                     });
  if (!any_spent) return;
  log.Warning("spending journal is new",
              {{"advice",
                "datasets have spent before it began: if there was one, stop, find it (is its disk "
                "mounted?) and remove this one; it vouches only for what comes"}});
}

void WarnOfLostCharges(const ledger::Ledger& ledger, const central::Datasets& datasets,
                       const Log& log) {
  metrics::ForEachOf([&](const Page& page) { return datasets.List(page); },
                     [&](const central::DatasetInfo& dataset) {
                       const std::optional<ledger::Cost>& lost = dataset.account.hold.lost;
                       if (!lost.has_value()) return;
                       log.Write(LogLevel::kWarning, "ledger on hold",
                                 {{"dataset", dataset.id},
                                  {"epsilon_lost", ledger::EpsilonText(lost->epsilon_nanos)},
                                  {"advice",
                                   "the spending journal knows of charges that the store has "
                                   "lost; coppice dataset write-off charges them"}});
                     });
  for (const auto& [dataset, spent] : ledger.LostAccounts()) {
    log.Write(LogLevel::kWarning, "ledger lost",
              {{"dataset", dataset},
               {"epsilon_spent", ledger::EpsilonText(spent.epsilon_nanos)},
               {"advice",
                "the spending journal keeps its name taken; coppice dataset free-name "
                "lets a dataset of other people have it"}});
  }
}

absl::Status CheckBackupDir(const std::string& folder) {
  const absl::Status checked = storage::CheckPrivateFolder(folder);
  if (checked.ok()) return checked;
  return absl::Status(checked.code(), absl::StrCat("--backup-dir: ", checked.message()));
}

absl::Status CheckConfig(const DaemonFlags& flags) {
  COPPICE_RETURN_IF_ERROR(LoadCertificates(flags).status());
  COPPICE_RETURN_IF_ERROR(LoadPolicy(flags).status());
  COPPICE_RETURN_IF_ERROR(LoadSigningKeys(flags).status());
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--spending-journal", flags.spending_journal, flags));
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--key-file", flags.key_file, flags));
  COPPICE_RETURN_IF_ERROR(LoadKeyFile(flags.key_file).status());
  COPPICE_RETURN_IF_ERROR(LoadMetricsPassword(flags).status());
  COPPICE_RETURN_IF_ERROR(CheckBackupDir(flags.backup_dir));
  return CheckLocation(flags);
}

// Enters in the audit log how a reload of `part` ended.
std::function<absl::Status()> Audited(audit::AuditLog& audit, absl::string_view part,
                                      std::function<absl::Status()> reload) {
  return [&audit, part, reload = std::move(reload)]() -> absl::Status {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t call, audit.Begin(audit::NewAuditEvent(
                                                      audit::kDaemonActor, "daemon/reload", part)));
    const absl::Status status = reload();
    audit.End(call, audit::CodeName(status.code()));
    return status;
  };
}

// What SIGHUP reads again. Everything given here must outlive what is returned.
Reloads MakeReloaders(const DaemonFlags& flags, const FlagReader& read_flags,
                      Certificates* certificates, access::AccessControl* access,
                      vault::SealedStore* sealed, audit::AuditLog& audit, Log& log) {
  Reloads reloads;
  const auto add = [&](absl::string_view part, std::function<absl::Status()> reload) {
    reloads.Add(std::string(part), Audited(audit, part, std::move(reload)));
  };
  add("log-level", [&]() -> absl::Status {
    COPPICE_ASSIGN_OR_RETURN(const DaemonFlags now, read_flags());
    log.SetLevel(now.log_level);
    return absl::OkStatus();
  });
  if (certificates != nullptr) {
    add("certificates", [&flags, certificates, &log]() -> absl::Status {
      COPPICE_ASSIGN_OR_RETURN(TlsFiles files, LoadTls(flags));
      WarnOfOpenKeyFiles(flags, log);
      certificates->Replace(std::move(files));
      return absl::OkStatus();
    });
  }
  if (access != nullptr) add("policy", [access] { return access->ReloadPolicy(); });
  if (sealed != nullptr) {
    add("key-file", [&flags, sealed, &log] { return ReloadKeyFile(flags, *sealed, log); });
  }
  return reloads;
}

std::string WaitForStop(const StopSignals& signals, const Reloads& reloads, const Log& log) {
  std::string signal = signals.Wait();
  for (; signal == "SIGHUP"; signal = signals.Wait()) reloads.Run(log);
  return signal;
}

absl::Status Serve(const DaemonFlags& flags, const FlagReader& read_flags, Log& log) {
  const StopSignals signals;
  RaiseFileLimit();
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Certificates> certificates,
                           LoadCertificates(flags));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<access::AccessControl> access, LoadPolicy(flags));
  COPPICE_ASSIGN_OR_RETURN(const curator::SigningKeys signing_keys, LoadSigningKeys(flags));
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                           LocationOf(flags.store, flags.data_dir));
  log.Info("starting", {{"version", COPPICE_VERSION},
                        {location.is_postgres() ? "store" : "data_dir", location.Shown()},
                        {"tls", certificates == nullptr        ? "off"
                                : certificates->asks_clients() ? "mutual"
                                                               : "on"}});
  WarnOfOpenKeyFiles(flags, log);
  COPPICE_RETURN_IF_ERROR(CheckBackupDir(flags.backup_dir));
  COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, OpenStore(flags, log));
  const auto clock = [] { return absl::ToUnixSeconds(absl::Now()); };
  // First, for it finds out whether a newer version made the store.
  COPPICE_RETURN_IF_ERROR(
      storage::OpenFormat(*store, [&log](uint32_t from, const storage::FormatStep& step) {
        log.Write(LogLevel::kWarning, "migrating",
                  {{"from_format", absl::StrCat(from)},
                   {"to_format", absl::StrCat(from + 1)},
                   {"change", step.what},
                   {"advice", "older versions refuse the store from now on; keep a backup"}});
      }));
  COPPICE_ASSIGN_OR_RETURN(
      const std::unique_ptr<audit::AuditLog> audit,
      audit::AuditLog::Open(*store, clock, audit::kDaemonActor, flags.audit_days));
  COPPICE_RETURN_IF_ERROR(audit::CheckLog(*store));
  models::Models models;
  COPPICE_ASSIGN_OR_RETURN(
      const std::unique_ptr<curator::Studies> studies,
      curator::Studies::Open(*store, models, clock, signing_keys, flags.limits.OfStudies()));
  COPPICE_RETURN_IF_ERROR(models.Load(*store));
  // After the studies, which do what a change of keys asks for.
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<curator::ManifestAuthority> authority,
                           curator::ManifestAuthority::Open(*store, signing_keys, clock()));
  audit->SignWith(authority->SignerOfAuditHeads());
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<models::Endpoints> endpoints,
                           models::Endpoints::Open(*store, models, clock));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ledger::SpendingJournal> journal,
                           OpenSpendingJournal(flags));
  audit::AuditedStore audited_store(*store, *audit);
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ledger::Ledger> ledger,
                           ledger::Ledger::Open(audited_store, clock, journal.get()));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<central::Datasets> datasets,
                           central::Datasets::Open(*store, *ledger, clock));
  if (journal != nullptr && journal->lines().empty()) WarnOfNewJournal(*datasets, log);
  WarnOfLostCharges(*ledger, *datasets, log);
  COPPICE_ASSIGN_OR_RETURN(
      const std::unique_ptr<central::Jobs> jobs,
      central::Jobs::Open(*store, *ledger, *datasets, models, trainers::AllTrainers(), clock,
                          {.threads = flags.training_jobs}));
  const Curator curator{.studies = *studies,
                        .models = models,
                        .endpoints = *endpoints,
                        .datasets = *datasets,
                        .jobs = *jobs,
                        .store = *store,
                        .audit = audit.get(),
                        .backups = {.folder = flags.backup_dir, .keep = flags.backup_keep}};
  const DaemonContext daemon{flags, *store, curator, certificates.get()};
  COPPICE_RETURN_IF_ERROR(RunStartupSelfTest(daemon, log));
  if (flags.self_test) return absl::OkStatus();
  COPPICE_RETURN_IF_ERROR(audit->Add(audit::NewAuditEvent(audit::kDaemonActor, "daemon/start")));
  const StudySweeper upkeep(*studies, log);
  const auto registry = std::make_shared<prometheus::Registry>();
  metrics::CallMetrics call_metrics(*registry, ServedMethods());
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<DaemonServer> server,
                           DaemonServer::Start({.listen = flags.listen,
                                                .certificates = certificates.get(),
                                                .access = access.get(),
                                                .ticket_limits = flags.ticket_limits,
                                                .limits = flags.limits,
                                                .log = &log,
                                                .call_metrics = &call_metrics},
                                               curator));
  Readiness readiness(ReadinessChecks(daemon), kBetweenChecks, log,
                      [&server](bool ready) { server->SetReady(ready); });
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<metrics::MetricsPage> metrics,
                           ServeMetrics(daemon, readiness, registry));
  if (metrics != nullptr) log.Info("metrics", {{"port", absl::StrCat(metrics->port())}});
  log.Info("serving", {{"listen", flags.listen}, {"port", absl::StrCat(server->port())}});
  const absl::Status port_file =
      flags.port_file.empty() ? absl::OkStatus() : WritePortFile(flags.port_file, server->port());
  const Reloads reloads = MakeReloaders(flags, read_flags, certificates.get(), access.get(),
                                        store.sealed(), *audit, log);
  if (port_file.ok()) log.Info("stopping", {{"signal", WaitForStop(signals, reloads, log)}});
  readiness.Stop();
  server->Stop(kGrace);
  const absl::Status noted = audit->Add(audit::NewAuditEvent(audit::kDaemonActor, "daemon/stop"));
  if (!noted.ok()) log.Error("audit log", {{"reason", std::string(noted.message())}});
  log.Info("stopped");
  return port_file;
}

// Where gRPC complained about a socket or a handshake, for whoever asks. Not its words: they hold
// addresses.
const Log* library_log = nullptr;
void LogFromGrpc(gpr_log_func_args* args) {
  library_log->Write(LogLevel::kDebug, "grpc",
                     {{"source", absl::StrCat(args->file, ":", args->line)}});
}

// The same of protobuf, whose words name fields of requests: a client decides how many there are.
void LogFromProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                     const std::string& message) {
  const std::string source = absl::StrCat(file, ":", line);
  if (level < google::protobuf::LOGLEVEL_FATAL) {
    return library_log->Write(LogLevel::kDebug, "protobuf", {{"source", source}});
  }
  library_log->Error("protobuf", {{"source", source}, {"reason", message}});
}

int Main(int argc, const char* const* argv) {
  umask(S_IRWXG | S_IRWXO);                  // whatever is made here holds rows, keys or tokens
  google::protobuf::SetLogHandler(nullptr);  // what reads messages reports what it cannot read
  // Debian's Abseil looks for deadlocks at every lock, gRPC's included, which small calls feel.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (argc > 1 && absl::string_view(argv[1]) == "token") return TokenCommand(argc - 1, argv + 1);
  if (argc > 1 && absl::string_view(argv[1]) == "key-file")
    return KeyFileCommand(argc - 1, argv + 1);
  if (const std::optional<int> done = RunOffline(argc, argv)) return *done;
  if (const std::optional<int> done = RunReference(argc, argv)) return *done;
  DaemonFlags flags;
  const int exit_code = ParseFlags(argc, argv, flags);
  if (exit_code >= 0) return exit_code;
  Log log(flags.log_level, flags.json);
  if (flags.check_config) {
    const absl::Status status = CheckConfig(flags);
    if (!status.ok()) std::cerr << "coppiced: " << status.message() << "\n";
    if (status.ok()) std::cerr << "coppiced: the configuration is good\n";
    return status.ok() ? kExitDone : kExitFailed;
  }
  library_log = &log;
  gpr_set_log_function(LogFromGrpc);
  google::protobuf::SetLogHandler(LogFromProtobuf);
  const absl::Status status = Serve(
      flags, [&] { return ReadFlagsAgain(argc, argv); }, log);
  gpr_set_log_function(nullptr);
  google::protobuf::SetLogHandler(nullptr);
  if (!status.ok()) log.Error("failed", {{"reason", std::string(status.message())}});
  return status.ok() ? kExitDone : kExitFailed;
}

}  // namespace
}  // namespace coppice::daemon

int main(int argc, char** argv) { return coppice::daemon::Main(argc, argv); }
