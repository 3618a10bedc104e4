// What coppiced does when no command is given: it serves.

#include <openssl/crypto.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "server/access/access_control.h"
#include "server/audit/audit_log.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/daemon/commands/commands.h"
#include "server/daemon/commands/open_store.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/config/log.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/operation/loaded_curator.h"
#include "server/daemon/operation/process.h"
#include "server/daemon/operation/serving_curator.h"
#include "server/daemon/transport/connections.h"
#include "server/daemon/transport/credentials.h"
#include "server/daemon/transport/tls.h"
#include "server/ledger/spending_journal.h"
#include "server/storage/rocksdb/database_files.h"
#include "server/vault/keyed_store.h"

namespace coppice::daemon {
namespace {

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

// What the flags name, read once. Each is null where there is to be none.
struct DaemonFiles {
  std::unique_ptr<Certificates> certificates;
  std::unique_ptr<access::AccessControl> access;
  curator::SigningKeys signing_keys;
};

absl::StatusOr<DaemonFiles> LoadDaemonFiles(const DaemonFlags& flags) {
  DaemonFiles files;
  COPPICE_ASSIGN_OR_RETURN(files.certificates, LoadCertificates(flags));
  COPPICE_ASSIGN_OR_RETURN(files.access, LoadPolicy(flags));
  COPPICE_ASSIGN_OR_RETURN(files.signing_keys, LoadSigningKeys(flags));
  return files;
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

absl::Status CheckBackupDir(const std::string& folder) {
  const absl::Status checked = storage::CheckPrivateFolder(folder);
  if (checked.ok()) return checked;
  return absl::Status(checked.code(), absl::StrCat("--backup-dir: ", checked.message()));
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

absl::Status ServeStore(const DaemonFlags& flags, const FlagReader& read_flags,
                        const DaemonFiles& files, const StopSignals& signals, Log& log) {
  COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, OpenStore(flags, log));
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<ledger::SpendingJournal> journal,
                           OpenSpendingJournal(flags));
  COPPICE_ASSIGN_OR_RETURN(
      const std::unique_ptr<LoadedCurator> curator,
      LoadedCurator::Load(flags, files.signing_keys, std::move(journal), *store, log));
  COPPICE_RETURN_IF_ERROR(
      RunStartupSelfTest({flags, *store, curator->parts(), files.certificates.get()}, log));
  if (flags.self_test) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ServingCurator> serving,
                           ServingCurator::Start({.flags = flags,
                                                  .listen = flags.listen,
                                                  .certificates = files.certificates.get(),
                                                  .access = files.access.get()},
                                                 *curator, log));
  log.Info("serving", {{"listen", flags.listen}, {"port", absl::StrCat(serving->port())}});
  const absl::Status port_file =
      flags.port_file.empty() ? absl::OkStatus() : WritePortFile(flags.port_file, serving->port());
  const Reloads reloads = MakeReloaders(flags, read_flags, files.certificates.get(),
                                        files.access.get(), store.sealed(), curator->audit(), log);
  if (port_file.ok()) log.Info("stopping", {{"signal", WaitForStop(signals, reloads, log)}});
  serving->Stop();
  log.Info("stopped");
  return port_file;
}

}  // namespace

absl::Status CheckConfig(const DaemonFlags& flags) {
  COPPICE_RETURN_IF_ERROR(LoadDaemonFiles(flags).status());
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--spending-journal", flags.spending_journal, flags));
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--key-file", flags.key_file, flags));
  COPPICE_RETURN_IF_ERROR(LoadKeyFile(flags.key_file).status());
  COPPICE_RETURN_IF_ERROR(LoadMetricsPassword(flags).status());
  COPPICE_RETURN_IF_ERROR(CheckBackupDir(flags.backup_dir));
  return CheckLocation(flags);
}

absl::Status Serve(const DaemonFlags& flags, const FlagReader& read_flags, Log& log) {
  const StopSignals signals;
  RaiseFileLimit();
  COPPICE_ASSIGN_OR_RETURN(const DaemonFiles files, LoadDaemonFiles(flags));
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                           LocationOf(flags.store, flags.data_dir));
  log.Info("starting", {{"version", COPPICE_VERSION},
                        {location.is_postgres() ? "store" : "data_dir", location.Shown()},
                        {"tls", files.certificates == nullptr        ? "off"
                                : files.certificates->asks_clients() ? "mutual"
                                                                     : "on"}});
  WarnOfOpenKeyFiles(flags, log);
  COPPICE_RETURN_IF_ERROR(CheckBackupDir(flags.backup_dir));
  return ServeStore(flags, read_flags, files, signals, log);
}

}  // namespace coppice::daemon
