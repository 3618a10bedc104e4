#include "server/daemon/commands/serve.h"

#include <openssl/crypto.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/daemon/commands/open_store.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/operation/curator_state.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/operation/serving_curator.h"
#include "server/daemon/transport/console.h"
#include "server/datasets/ledger/spending_journal.h"
#include "server/process/certificates.h"
#include "server/process/connections.h"
#include "server/process/log.h"
#include "server/process/process.h"
#include "server/serving/access/access_control.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/vault/keyed_store.h"

namespace coppice::daemon {
namespace {

StatusOr<TlsFiles> LoadTls(const ListenOptions& listen) {
  return LoadTlsFiles(listen.tls_cert, listen.tls_key, listen.client_ca, absl::Now());
}

// Null without TLS.
StatusOr<std::unique_ptr<Certificates>> LoadCertificates(const ListenOptions& listen) {
  if (listen.insecure) return nullptr;
  COPPICE_ASSIGN_OR_RETURN(TlsFiles files, LoadTls(listen));
  return std::make_unique<Certificates>(std::move(files));
}

// Null without a policy.
StatusOr<std::unique_ptr<access::AccessControl>> LoadPolicy(const ListenOptions& listen) {
  if (listen.policy.empty()) return nullptr;
  StatusOr<std::unique_ptr<access::AccessControl>> access =
      access::AccessControl::Open(listen.policy, /*takes_certificates=*/!listen.client_ca.empty());
  if (!access.ok()) {
    return Status(access.status().code(), StrCat("--policy ", access.status().message()));
  }
  return access;
}

StatusOr<std::optional<SigningKey>> LoadSigningKey(std::string_view flag, const std::string& path) {
  if (path.empty()) return std::nullopt;
  StatusOr<std::string> pem = ReadTextFile(path);
  if (!pem.ok()) {
    return Status(pem.status().code(), StrCat(flag, " ", pem.status().message()));
  }
  StatusOr<SigningKey> key = SigningKey::FromPem(*pem);
  OPENSSL_cleanse(pem->data(), pem->size());
  if (key.ok()) return *key;
  return InvalidArgumentError(StrCat(flag, " ", path, " ", key.status().message()));
}

StatusOr<curator::SigningKeys> LoadSigningKeys(const SigningOptions& signing) {
  curator::SigningKeys keys{.key = {}, .next = {}, .break_chain = signing.break_chain};
  COPPICE_ASSIGN_OR_RETURN(keys.key, LoadSigningKey("--signing-key", signing.key));
  COPPICE_ASSIGN_OR_RETURN(keys.next, LoadSigningKey("--next-signing-key", signing.next_key));
  return keys;
}

StatusOr<DaemonFiles> LoadDaemonFiles(const DaemonFlags& flags) {
  DaemonFiles files;
  COPPICE_ASSIGN_OR_RETURN(files.certificates, LoadCertificates(flags.listen));
  COPPICE_ASSIGN_OR_RETURN(files.access, LoadPolicy(flags.listen));
  COPPICE_ASSIGN_OR_RETURN(files.signing_keys, LoadSigningKeys(flags.signing));
  COPPICE_ASSIGN_OR_RETURN(files.console, LoadConsole(flags.web));
  COPPICE_ASSIGN_OR_RETURN(files.site, LoadSite(flags.web));
  return files;
}

// Null without the flag.
StatusOr<std::unique_ptr<ledger::SpendingJournal>> OpenSpendingJournal(const StoreOptions& store) {
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--spending-journal", store.spending_journal, store));
  if (store.spending_journal.empty()) return nullptr;
  StatusOr<std::unique_ptr<ledger::SpendingJournal>> journal =
      ledger::SpendingJournal::Open(store.spending_journal);
  if (journal.ok()) return journal;
  return Status(journal.status().code(),
                StrCat("--spending-journal: ", journal.status().message()));
}

Status CheckBackupDir(const std::string& folder) {
  const Status checked = storage::CheckPrivateFolder(folder);
  if (checked.ok()) return checked;
  return Status(checked.code(), StrCat("--backup-dir: ", checked.message()));
}

Status ServeAlone(const DaemonProcess& process) {
  const DaemonFlags& flags = process.flags;
  COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, OpenStore(flags.store, process.log));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<CuratorState> curator,
                           LoadCuratorState(process, *store));
  if (flags.self_test) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ServingCurator> serving,
                           ServingCurator::Start(ServingOptionsOf(process), *curator, process.log));
  const Status told = TellPort(flags.listen, "serving", serving->port(), process.log);
  const Reloads reloads = MakeReloads(process, store.sealed(), &curator->audit());
  if (told.ok()) WaitForStop(process, reloads);
  serving->Stop();
  process.log.Info("stopped");
  return told;
}

}  // namespace

std::function<Status()> Audited(audit::AuditLog& audit, std::string_view part,
                                std::function<Status()> reload) {
  return [&audit, part, reload = std::move(reload)]() -> Status {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t call, audit.Begin(audit::NewAuditEvent(
                                                      audit::kDaemonActor, "daemon/reload", part)));
    const Status status = reload();
    audit.End(call, audit::CodeName(status.code()));
    return status;
  };
}

ServingOptions ServingOptionsOf(const DaemonProcess& process) {
  const DaemonFlags& flags = process.flags;
  return {.store = flags.store,
          .web = flags.web,
          .metrics = flags.metrics,
          .tickets = flags.curator.tickets,
          .transport = flags.transport,
          .max_model_bytes = flags.curator.limits.max_model_bytes,
          .listen = flags.listen.address,
          .certificates = process.files.certificates.get(),
          .access = process.files.access.get(),
          .http = HttpOptionsOf(flags.web, process.files.console, process.files.site)};
}

StatusOr<std::unique_ptr<CuratorState>> LoadCuratorState(const DaemonProcess& process,
                                                         storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<ledger::SpendingJournal> journal,
                           OpenSpendingJournal(process.flags.store));
  COPPICE_ASSIGN_OR_RETURN(
      std::unique_ptr<CuratorState> curator,
      CuratorState::Load(process.flags.curator, process.flags.store.backups,
                         process.files.signing_keys, std::move(journal), store, process.log));
  COPPICE_RETURN_IF_ERROR(RunStartupSelfTest(
      {process.flags.store, store, curator->parts(), process.files.certificates.get()},
      absl::Seconds(process.flags.clock_tolerance), process.log));
  return curator;
}

Reloads MakeReloads(const DaemonProcess& process, vault::SealedStore* sealed,
                    audit::AuditLog* audit) {
  Reloads reloads;
  const auto add = [&](std::string_view part, std::function<Status()> reload) {
    reloads.Add(std::string(part),
                audit == nullptr ? std::move(reload) : Audited(*audit, part, std::move(reload)));
  };
  add("log-level", [&process]() -> Status {
    COPPICE_ASSIGN_OR_RETURN(const DaemonFlags now, process.read_flags());
    process.log.SetLevel(now.log.level);
    return OkStatus();
  });
  const DaemonFiles& files = process.files;
  if (files.certificates != nullptr) {
    add("certificates", [&process]() -> Status {
      COPPICE_ASSIGN_OR_RETURN(TlsFiles tls, LoadTls(process.flags.listen));
      WarnOfOpenKeyFiles(process.flags, process.log);
      process.files.certificates->Replace(std::move(tls));
      return OkStatus();
    });
  }
  if (files.access != nullptr) {
    add("policy", [access = files.access.get()] { return access->ReloadPolicy(); });
  }
  if (sealed != nullptr) {
    add("key-file", [&process, sealed] {
      return ReloadKeyFile(process.flags.store.key_file, *sealed, process.log);
    });
  }
  return reloads;
}

void WaitForStop(const DaemonProcess& process, const Reloads& reloads) {
  std::string signal = process.signals.Wait();
  for (; signal == "SIGHUP"; signal = process.signals.Wait()) reloads.Run(process.log);
  process.log.Info("stopping", {{"signal", signal}});
}

Status TellPort(const ListenOptions& listen, std::string_view event, int port, const Log& log) {
  log.Info(event, {{"listen", listen.address}, {"port", StrCat(port)}});
  return listen.port_file.empty() ? OkStatus() : WritePortFile(listen.port_file, port);
}

Status CheckConfig(const DaemonFlags& flags) {
  COPPICE_RETURN_IF_ERROR(LoadDaemonFiles(flags).status());
  COPPICE_RETURN_IF_ERROR(
      CheckOutsideStore("--spending-journal", flags.store.spending_journal, flags.store));
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--key-file", flags.store.key_file, flags.store));
  COPPICE_RETURN_IF_ERROR(LoadKeyFile(flags.store.key_file).status());
  COPPICE_RETURN_IF_ERROR(metrics::LoadMetricsPassword(flags.metrics.password_file).status());
  COPPICE_RETURN_IF_ERROR(CheckBackupDir(flags.store.backups.folder));
  return CheckLocation(flags.store);
}

Status Serve(const DaemonFlags& flags, const FlagReader& read_flags, Log& log) {
  const StopSignals signals;
  RaiseFileLimit();
  COPPICE_ASSIGN_OR_RETURN(const DaemonFiles files, LoadDaemonFiles(flags));
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location, LocationOf(flags.store));
  log.Info("starting", {{"version", COPPICE_VERSION},
                        {location.is_postgres() ? "store" : "data_dir", location.Shown()},
                        {"tls", files.certificates == nullptr        ? "off"
                                : files.certificates->asks_clients() ? "mutual"
                                                                     : "on"}});
  WarnOfOpenKeyFiles(flags, log);
  COPPICE_RETURN_IF_ERROR(CheckBackupDir(flags.store.backups.folder));
  const DaemonProcess process{flags, read_flags, files, signals, log};
  return flags.in_fleet() ? ServeInFleet(process) : ServeAlone(process);
}

}  // namespace coppice::daemon
