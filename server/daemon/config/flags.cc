#include "server/daemon/config/flags.h"

#include <map>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/command_line/config_file.h"
#include "server/process/process.h"

namespace coppice::daemon {
namespace {

constexpr char kDescription[] =
    "Coppice's curator: runs studies, collects randomized reports, trains on datasets under a "
    "privacy budget, and serves models.";

constexpr char kFooter[] = R"(
Examples:
  A first try, on this machine only:
    coppiced --data-dir /tmp/coppice --insecure

  With TLS, from certificates made for testing:
    deploy/make-certs.sh certs
    coppiced --data-dir /var/lib/coppice \
        --tls-cert certs/server.crt --tls-key certs/server.key

  For other machines, with a policy that says who may do what:
    coppiced token --name ops --role admin
    coppiced --data-dir /var/lib/coppice --listen 0.0.0.0:8443 \
        --tls-cert certs/server.crt --tls-key certs/server.key --policy policy.json

  With private rows and keys sealed on the disk:
    coppiced key-file --out /etc/coppice/store.key
    coppiced --data-dir /var/lib/coppice --key-file /etc/coppice/store.key \
        --tls-cert certs/server.crt --tls-key certs/server.key

  With its state in a database of PostgreSQL:
    coppiced --store 'postgresql://coppice@db.example/coppice?sslmode=verify-full' \
        --tls-cert certs/server.crt --tls-key certs/server.key

  As one of several on that database, of which one leads (docs/fleet.md):
    coppiced --store 'postgresql://coppice@db.example/coppice?sslmode=verify-full' \
        --listen 0.0.0.0:8443 --fleet-address a.example:8443 --policy policy.json \
        --tls-cert certs/server.crt --tls-key certs/server.key

  With calls by HTTP beside gRPC, for curl and browsers (docs/protocol.md):
    coppiced --data-dir /tmp/coppice --insecure --http-listen 127.0.0.1:8080
    curl --json '{}' http://127.0.0.1:8080/coppice.v1.StudyService/ListStudies
  and the console, where it is installed, at http://127.0.0.1:8080/,
  and the documentation, where it is installed, at http://127.0.0.1:8080/docs/

  The same from a file, checked before the restart:
    coppiced --config /etc/coppice/coppiced.toml --check-config

Offline, while no daemon runs on the store (each has its own --help):
    coppiced check --data-dir /var/lib/coppice
    coppiced repair --data-dir /var/lib/coppice --dry-run
    coppiced backup --data-dir /var/lib/coppice --to /backups/coppice
    coppiced restore --from /backups/coppice --data-dir /var/lib/coppice
    coppiced assign-owner --data-dir /var/lib/coppice --owner lab

A config file holds one setting a line, named like its flag:
    data-dir = "/var/lib/coppice"
    listen = "0.0.0.0:8443"

A policy file maps tokens, by their hash, and client certificates to roles; what it does not allow is
refused. Here anonymous devices may send reports, and one token may do everything:
    {"anonymous": ["device"],
     "tokens": [{"name": "ops", "sha256": "<from coppiced token>", "roles": ["admin"]}]}

Ctrl-C or SIGTERM finishes what was accepted and stops. SIGHUP reads the certificates, the policy,
the key file and the log level of the config file again. Exit codes: 0 done, 1 failed, 2 wrong usage,
75 another curator of the fleet leads now: start it again.)";

const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                 {"info", LogLevel::kInfo},
                                                 {"warning", LogLevel::kWarning},
                                                 {"error", LogLevel::kError}};

std::string LevelName(const std::string& name) {
  return kLevels.count(name) > 0 ? "" : "needs debug, info, warning or error";
}

void AddFleetFlags(CLI::App& app, FleetOptions& fleet) {
  app.add_option("--fleet-address", fleet.address,
                 "Be a curator of the fleet on the database of --store: one leads, the others "
                 "stand by, ready to take over. The address of this one, by which it is named to "
                 "operators")
      ->type_name("HOST:PORT");
  app.add_option("--lease-seconds", fleet.lease_seconds,
                 "How long after a leader disappears another curator may take over; the same for "
                 "the whole fleet")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 300).description(""))
      ->capture_default_str();
}

void AddHttpFlags(CLI::App& app, WebOptions& web) {
  app.add_option("--http-listen", web.listen,
                 "Also accept calls over HTTP/1.1 here, as JSON or protobuf (Connect protocol), "
                 "with the TLS and the policy of --listen. Off by default")
      ->type_name("HOST:PORT");
  app.add_option("--http-allow-origin", web.allow_origin,
                 "Let pages of this origin call from a browser, such as https://lab.example; may "
                 "be repeated. Default: none")
      ->type_name("ORIGIN");
  app.add_option("--http-connections", web.connections,
                 "Connections of HTTP at a time; one more takes the place of the one that has "
                 "waited longest for a request")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}).description(""))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--console",
         [&web](const std::string& folder) { web.console = folder.empty() ? kNoFolder : folder; },
         "Serve the console, a page for browsers, from this folder at / of --http-listen; \"none\" "
         "serves none (default: the installed one, if there is one)")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--site",
         [&web](const std::string& folder) { web.site = folder.empty() ? kNoFolder : folder; },
         "Serve the documentation from this folder at /docs/ of --http-listen; \"none\" serves "
         "none "
         "(default: the installed one, if there is one)")
      ->type_name("DIR");
}

void AddFlags(CLI::App& app, DaemonFlags& flags) {
  app.add_option("--store", flags.store.location,
                 "Where all state is kept: rocksdb:DIR, a folder that is created if missing, or "
                 "postgresql://USER@HOST/DATABASE?sslmode=verify-full, a database of PostgreSQL 15 "
                 "or newer. Keep its password in the file that PGPASSFILE names")
      ->type_name("STORE");
  app.add_option("--data-dir", flags.store.data_dir, "Short for --store rocksdb:DIR")
      ->type_name("DIR");
  app.add_option("--listen", flags.listen.address, "Where to listen; port 0 picks a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  AddHttpFlags(app, flags.web);
  app.add_option("--tls-cert", flags.listen.tls_cert, "Certificate chain, PEM")->type_name("FILE");
  app.add_option("--tls-key", flags.listen.tls_key, "Private key of the certificate, PEM")
      ->type_name("FILE");
  app.add_option("--client-ca", flags.listen.client_ca,
                 "Ask clients for a certificate signed by this authority (mutual TLS), PEM")
      ->type_name("FILE");
  app.add_option("--policy", flags.listen.policy,
                 "Who may do what, JSON. Without it the daemon listens only on loopback addresses, "
                 "and every caller may do everything")
      ->type_name("FILE");
  app.add_option(
         "--signing-key", flags.signing.key,
         "Ed25519 key that signs studies and models, PKCS#8 PEM (default: one in --data-dir)")
      ->type_name("FILE");
  app.add_option("--next-signing-key", flags.signing.next_key,
                 "Key that the signing key endorses and that signs from now on")
      ->type_name("FILE");
  app.add_flag("--break-key-chain", flags.signing.break_chain,
               "Accept --signing-key although the previous key is lost or stolen; devices refuse "
               "it until they are given it");
  app.add_flag("--insecure", flags.listen.insecure, "No TLS; on a loopback address only");
  app.add_option("--training-jobs", flags.curator.training_jobs,
                 "Training jobs that each owner may run at a time, from 0 (none) to 64; each takes "
                 "memory for its rows: see --training-memory")
      ->type_name("N")
      ->check(CLI::Range(0, 64).description(""))
      ->capture_default_str();
  app.add_option(
         "--training-threads", flags.curator.training_threads,
         "Threads that work on each training job of `auto`, from 1 to 256; the model is the "
         "same for any number, and other algorithms use one")
      ->type_name("N")
      ->check(CLI::Range(1, 256).description(""))
      ->capture_default_str();
  AddLimitFlags(app, flags.transport, flags.curator.limits);
  app.add_option("--ticket-rate", flags.curator.tickets.rate,
                 "Tickets per second that each study gives to devices without submission tokens; "
                 "0: no limit. Give as many as your devices need: the limit slows down attackers "
                 "who ask for tickets until one suits them")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1e9).description(""))
      ->capture_default_str();
  app.add_option("--ticket-burst", flags.curator.tickets.burst,
                 "Tickets that each study gives at once")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e9).description(""))
      ->capture_default_str();
  app.add_option("--backup-dir", flags.store.backups.folder,
                 "Folder for the backups of `coppice admin backup`, which others must not be able "
                 "to read; without it none are made")
      ->type_name("DIR");
  app.add_option("--backup-keep", flags.store.backups.keep,
                 "Number of backups to keep, the newest; 0 keeps all")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--spending-journal", flags.store.spending_journal,
                 "Also record what each dataset spends in this file, outside --data-dir and its "
                 "backups: it shows what a restored store has forgotten. Created if missing")
      ->type_name("FILE");
  app.add_option("--key-file", flags.store.key_file,
                 "Encrypt private rows and keys in --data-dir with the first key of this file, "
                 "which `coppiced key-file` makes. Keep it outside --data-dir and its backups, and "
                 "keep a copy: an encrypted store cannot be opened without it")
      ->type_name("FILE");
  app.add_option("--audit-days", flags.curator.audit_days,
                 "Days to keep entries of the audit log; 0 keeps all. A signed head remains of "
                 "what is dropped")
      ->type_name("N")
      ->check(CLI::Range(0, 36500).description(""))
      ->capture_default_str();
  AddFleetFlags(app, flags.fleet);
  app.add_option("--port-file", flags.listen.port_file,
                 "Write the port to this file once serving; replaces the file")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--log-level", [&flags](const std::string& name) { flags.log.level = kLevels.at(name); },
         "Lowest level to log: debug, info, warning, error")
      ->type_name("LEVEL")
      ->check(LevelName);
  app.add_flag("--json", flags.log.json, "Log one JSON object per line (always to stderr)");
  app.add_option(
         "--metrics-listen", flags.metrics.listen,
         "Serve metrics for Prometheus at http://HOST:PORT/metrics, without TLS and to anyone who "
         "can reach it: use a loopback address or a separate network. Off by default")
      ->type_name("HOST:PORT");
  app.add_option("--metrics-password-file", flags.metrics.password_file,
                 "Require the first line of this file as the password of the metrics page (HTTP "
                 "Basic, any user name). Default: none")
      ->type_name("FILE");
  app.add_option("--clock-tolerance", flags.clock_tolerance,
                 "Seconds that the clock may be behind the newest record at start-up")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_flag("--self-test", flags.self_test, "Run the start-up self-test on --data-dir, and exit")
      ->configurable(false);
  app.add_flag("--check-config", flags.check_config,
               "Check all settings and the files that they name, and exit")
      ->configurable(false);
}

}  // namespace

void DescribeDaemon(CLI::App& app, DaemonFlags& flags) {
  app.name("coppiced");
  app.description(kDescription);
  app.footer(kFooter);
  app.set_version_flag("--version", "coppiced " COPPICE_VERSION);
  AddFlags(app, flags);
  AddConfigFile(app);
}

int ParseFlags(int argc, const char* const* argv, DaemonFlags& flags) {
  CLI::App app;
  DescribeDaemon(app, flags);
  if (const auto done = ReadLine(app, "coppiced", argc, argv); done.has_value()) return *done;
  const Status status = CheckFlags(flags);
  return status.ok() ? -1 : Complain("coppiced", status.message());
}

StatusOr<DaemonFlags> ReadFlagsAgain(int argc, const char* const* argv) {
  CLI::App app;
  DaemonFlags flags;
  DescribeDaemon(app, flags);
  COPPICE_RETURN_IF_ERROR(ReadLineAgain(app, argc, argv));
  COPPICE_RETURN_IF_ERROR(CheckFlags(flags));
  return flags;
}

void WarnOfOpenKeyFiles(const DaemonFlags& flags, const Log& log) {
  WarnOfOpenKeyFiles({{"--tls-key", flags.listen.tls_key},
                      {"--signing-key", flags.signing.key},
                      {"--next-signing-key", flags.signing.next_key}},
                     log);
}

}  // namespace coppice::daemon
