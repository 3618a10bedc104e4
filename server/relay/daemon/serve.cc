#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/signature.h"
#include "server/process/certificates.h"
#include "server/process/connections.h"
#include "server/process/metrics_page.h"
#include "server/process/process.h"
#include "server/process/readiness.h"
#include "server/process/tls_files.h"
#include "server/relay/daemon/commands.h"
#include "server/relay/daemon/flags.h"
#include "server/relay/daemon/relay_key.h"
#include "server/relay/daemon/relay_server.h"
#include "server/relay/daemon/upkeep.h"
#include "server/relay/dealing/curator_calls.h"
#include "server/relay/dealing/relay.h"
#include "server/relay/service/admission.h"

namespace coppice::relay {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);
constexpr absl::Duration kBetweenChecks = absl::Seconds(5);
constexpr absl::Duration kBetweenLooks = absl::Seconds(2);  // at the file of --admission
constexpr absl::Duration kCuratorDeadline = absl::Seconds(60);

// The contents of the files that the flags name, read once.
struct RelayFiles {
  SigningKey key;
  RelayOptions options;
  std::shared_ptr<CuratorCalls> curator;
  std::unique_ptr<Certificates> certificates;  // null without TLS
  std::unique_ptr<Admission> admission;
};

StatusOr<TlsFiles> LoadRelayTls(const RelayFlags& flags) {
  return LoadTlsFiles(flags.tls_cert, flags.tls_key, flags.client_ca, absl::Now());
}

StatusOr<RelayFiles> LoadRelayFiles(const RelayFlags& flags) {
  COPPICE_RETURN_IF_ERROR(CheckDataDir(flags.data_dir));
  COPPICE_ASSIGN_OR_RETURN(const SigningKey key, LoadRelayKey(flags.data_dir));
  COPPICE_ASSIGN_OR_RETURN(RelayOptions options, RelayOptionsOf(flags));
  COPPICE_RETURN_IF_ERROR(metrics::LoadMetricsPassword(flags.metrics_password_file).status());
  RelayFiles files{.key = key,
                   .options = std::move(options),
                   .curator = {},
                   .certificates = {},
                   .admission = Admission::OfEverybody()};
  if (!flags.insecure) {
    COPPICE_ASSIGN_OR_RETURN(TlsFiles tls, LoadRelayTls(flags));
    files.certificates = std::make_unique<Certificates>(std::move(tls));
  }
  if (!flags.admission.empty()) {
    COPPICE_ASSIGN_OR_RETURN(files.admission, Admission::Open(flags.admission));
  }
  auto curator = MakeCuratorCalls(CuratorConnectionOf(flags), kCuratorDeadline);
  if (!curator.ok()) {
    return Status(curator.status().code(), StrCat("--curator: ", curator.status().message()));
  }
  files.curator = *std::move(curator);
  return files;
}

void WarnOfRelayKeyFiles(const RelayFlags& flags, const Log& log) {
  WarnOfOpenKeyFiles({{"--tls-key", flags.tls_key},
                      {"--curator-client-key", flags.curator_client_key},
                      {"--curator-token-file", flags.curator_token_file}},
                     log);
}

void TellStart(const RelayFlags& flags, const RelayFiles& files, const Log& log) {
  log.Info("starting", {{"version", COPPICE_VERSION},
                        {"data_dir", flags.data_dir},
                        {"relay_key", ToPin(files.key.public_key())},
                        {"tls", files.certificates == nullptr        ? "off"
                                : files.certificates->asks_clients() ? "mutual"
                                                                     : "on"}});
  WarnOfRelayKeyFiles(flags, log);
  if (!flags.admit_all) return;
  log.Warning("everybody is admitted",
              {{"advice",
                "one party may take most of the tickets, and other devices are then protected only "
                "as in a small batch: give --admission FILE"}});
}

// Logs an event about a study as a whole: no event contains anything about one report.
void LogRelayEvent(const RelayEvent& event, const Log& log) {
  LogLevel level = LogLevel::kInfo;
  if (event.severity == RelayEvent::Severity::kWarning) level = LogLevel::kWarning;
  if (event.severity == RelayEvent::Severity::kError) level = LogLevel::kError;
  log.Write(level, "study", {{"study", event.study}, {"text", event.text}});
}

Reloads MakeRelayReloads(const RelayFlags& flags, const RelayFlagReader& read_flags,
                         const RelayFiles& files, Log& log) {
  Reloads reloads;
  reloads.Add("log-level", [&]() -> Status {
    COPPICE_ASSIGN_OR_RETURN(const RelayFlags now, read_flags());
    log.SetLevel(now.log_level);
    return OkStatus();
  });
  if (files.certificates != nullptr) {
    reloads.Add("certificates", [&]() -> Status {
      COPPICE_ASSIGN_OR_RETURN(TlsFiles tls, LoadRelayTls(flags));
      WarnOfRelayKeyFiles(flags, log);
      files.certificates->Replace(std::move(tls));
      return OkStatus();
    });
  }
  if (!flags.admission.empty()) {
    reloads.Add("admission", [&files] { return files.admission->Reload(); });
  }
  return reloads;
}

void ReloadChangedAdmission(Admission& admission, const Log& log) {
  if (!admission.HasChanged()) return;
  Reloads changed;
  changed.Add("admission", [&admission] { return admission.Reload(); });
  changed.Run(log);
}

void WaitForRelayStop(const StopSignals& signals, const Reloads& reloads, Admission& admission,
                      const Log& log) {
  for (;;) {
    const std::optional<std::string> signal = signals.WaitFor(kBetweenLooks);
    if (!signal.has_value()) {
      ReloadChangedAdmission(admission, log);
    } else if (*signal == "SIGHUP") {
      reloads.Run(log);
    } else {
      return log.Info("stopping", {{"signal", *signal}});
    }
  }
}

void TellMetrics(const RelayFlags& flags, int port, const Log& log) {
  log.Info("metrics", {{"listen", flags.metrics_listen}, {"port", StrCat(port)}});
}

Status TellRelayPort(const RelayFlags& flags, const RelayServer& server, const Log& log) {
  const int port = server.port();
  log.Info("serving", {{"listen", flags.listen}, {"port", StrCat(port)}});
  if (server.http_port() != 0) {
    log.Info("http", {{"listen", flags.http_listen}, {"port", StrCat(server.http_port())}});
  }
  if (!flags.port_file.empty()) COPPICE_RETURN_IF_ERROR(WritePortFile(flags.port_file, port));
  NotifyServiceManager("READY=1");
  return OkStatus();
}

}  // namespace

Status CheckRelayConfig(const RelayFlags& flags) { return LoadRelayFiles(flags).status(); }

Status ServeRelay(const RelayFlags& flags, const RelayFlagReader& read_flags, Log& log) {
  const StopSignals signals;
  RaiseFileLimit();
  COPPICE_ASSIGN_OR_RETURN(const RelayFiles files, LoadRelayFiles(flags));
  TellStart(flags, files, log);
  COPPICE_RETURN_IF_ERROR(RunRelaySelfTest(flags.data_dir, files.key, log));
  if (flags.self_test) return OkStatus();
  RelaySeams seams;
  seams.log = [&log](const RelayEvent& event) { LogRelayEvent(event, log); };
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Relay> relay,
                           Relay::Open(files.options, files.key, files.curator, seams));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<RelayServer> server,
                           RelayServer::Start({.listen = flags.listen,
                                               .http = {.listen = flags.http_listen,
                                                        .allowed_origins = flags.http_allow_origin,
                                                        .max_connections = flags.http_connections},
                                               .certificates = files.certificates.get()},
                                              *relay, *files.admission));
  const RelayParts parts{flags, *relay, *server, files.certificates.get()};
  Readiness readiness(RelayReadinessChecks(parts), kBetweenChecks, log,
                      [&server](bool ready) { server->SetReady(ready); });
  const auto page = ServeRelayMetrics(parts, readiness);
  if (page.ok() && *page != nullptr) TellMetrics(flags, (*page)->port(), log);
  const Status told = page.ok() ? TellRelayPort(flags, *server, log) : page.status();
  if (told.ok()) {
    const Reloads reloads = MakeRelayReloads(flags, read_flags, files, log);
    WaitForRelayStop(signals, reloads, *files.admission, log);
  }
  NotifyServiceManager("STOPPING=1");
  readiness.Stop();
  server->Stop(kGrace);
  log.Info("stopped");
  return told;
}

}  // namespace coppice::relay
