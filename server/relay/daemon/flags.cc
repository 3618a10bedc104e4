#include "server/relay/daemon/flags.h"

#include <map>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/command_line/complain.h"
#include "common/command_line/config_file.h"

namespace coppice::relay {
namespace {

constexpr char kDescription[] =
    "Coppice's relay: deals a curator's tickets to devices at random, keeps their sealed "
    "reports, and passes them to the curator in the order of tickets once there are enough. Must "
    "be run by a different party from the curator.";

constexpr char kFooter[] = R"(
Examples:
  The relay's key, made once. What it prints goes to devices' owners and into the study:
    coppice-relay keygen --data-dir /var/lib/coppice-relay

  A study of the curator at curator.example, for devices that a file names:
    coppice-relay --data-dir /var/lib/coppice-relay --listen 0.0.0.0:8445 \
        --tls-cert server.crt --tls-key server.key --admission devices.txt \
        --curator curator.example:8443 --curator-ca curator-ca.crt \
        --curator-token-file relay.token --curator-key ed25519:... \
        --study 8c1f... --tickets 100000 --deal 12h --collect 24h

  A first try, on this machine only:
    coppice-relay --data-dir /tmp/relay --insecure --admit-all \
        --curator 127.0.0.1:8443 --curator-insecure --curator-key ed25519:... \
        --study 8c1f... --tickets 2000

  The same from a file, checked before the restart:
    coppice-relay --config /etc/coppice/relay.toml --check-config

A config file holds one setting a line, named like its flag:
    data-dir = "/var/lib/coppice-relay"
    study = ["8c1f..."]

A file of --admission has a line for each device, of those who may take tickets:
    NAME SHA256-OF-TOKEN [TICKETS]              # `coppice-relay token` makes one
    NAME certificate:SHA256 [TICKETS]           # of its certificate, with --client-ca
Each may take 3 tickets of a deal unless its line says otherwise: a lost answer costs one.

Ctrl-C or SIGTERM answers what was accepted and stops; deals go on at the next start. SIGHUP reads
the certificates, the file of --admission and the log level of the config file again; a changed file
of --admission is read without it. Exit codes: 0 done, 1 failed, 2 wrong usage.)";

const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                 {"info", LogLevel::kInfo},
                                                 {"warning", LogLevel::kWarning},
                                                 {"error", LogLevel::kError}};

std::string CheckLevel(const std::string& name) {
  return kLevels.count(name) > 0 ? "" : "needs debug, info, warning or error";
}

CLI::Option* AddText(CLI::App& app, const std::string& flag, std::string& value,
                     const std::string& type, const std::string& description) {
  return app.add_option(flag, value, description)->type_name(type);
}

void AddServingFlags(CLI::App& app, RelayFlags& flags) {
  AddText(app, "--data-dir", flags.data_dir, "DIR",
          "Folder of the relay's key and deals, which `coppice-relay keygen` makes. Only its owner "
          "may read it, and it must never be restored from a backup");
  AddText(app, "--listen", flags.listen, "HOST:PORT",
          "Where devices connect; port 0 picks a free one")
      ->capture_default_str();
  AddText(app, "--tls-cert", flags.tls_cert, "FILE", "Certificate chain, PEM");
  AddText(app, "--tls-key", flags.tls_key, "FILE", "Private key of the certificate, PEM");
  AddText(app, "--client-ca", flags.client_ca, "FILE",
          "Ask devices for a certificate signed by this authority (mutual TLS), PEM");
  app.add_flag("--insecure", flags.insecure, "No TLS; on a loopback address only");
  AddText(
      app, "--http-listen", flags.http_listen, "HOST:PORT",
      "Also accept devices over HTTP/1.1 here, as JSON or protobuf (Connect protocol), with the "
      "TLS and the admission of --listen. Off by default");
  app.add_option("--http-allow-origin", flags.http_allow_origin,
                 "Let pages of this origin call from a browser, such as https://lab.example; may "
                 "be repeated. Default: none")
      ->type_name("ORIGIN");
  app.add_option("--http-connections", flags.http_connections,
                 "Connections of HTTP at a time; one more takes the place of the one that has "
                 "waited longest for a request")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}).description(""))
      ->capture_default_str();
  AddText(app, "--admission", flags.admission, "FILE",
          "Who may take tickets, and how many from each deal: one line per device");
  app.add_flag("--admit-all", flags.admit_all,
               "Give tickets to anyone, as often as they ask. One party may then make up most of a "
               "batch, and devices are protected only by the few others");
}

void AddCuratorFlags(CLI::App& app, RelayFlags& flags) {
  AddText(app, "--curator", flags.curator, "HOST:PORT", "The curator of the studies");
  AddText(app, "--curator-key", flags.curator_key, "PIN|FILE",
          "The curator's public key, from a source that it does not control: \"ed25519:...\", or a "
          "file with that or with PEM. Studies signed by another key are not dealt");
  AddText(app, "--curator-ca", flags.curator_ca, "FILE",
          "Authority of the curator's TLS certificate, PEM (default: this machine's)");
  AddText(app, "--curator-cert", flags.curator_cert, "FILE",
          "Client certificate, if the curator asks for one, PEM");
  AddText(app, "--curator-client-key", flags.curator_client_key, "FILE",
          "Private key of --curator-cert, PEM");
  AddText(app, "--curator-token-file", flags.curator_token_file, "FILE",
          "Bearer token of role relay, one line; read again when it changes");
  app.add_flag("--curator-insecure", flags.curator_insecure,
               "Call the curator without TLS; loopback addresses only");
}

void AddDealFlags(CLI::App& app, RelayFlags& flags) {
  app.add_option("--study", flags.studies, "Ids of the studies to relay")
      ->type_name("ID,...")
      ->delimiter(',');
  app.add_option("--tickets", flags.tickets,
                 "Tickets per deal: the largest number of devices that can answer")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, kMaxEpochTickets).description(""));
  app.add_option("--min-batch", flags.min_batch,
                 "Batches with fewer reports are erased and never sent (default and minimum: what "
                 "the study requires)")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, kMaxEpochTickets).description(""));
  AddText(app, "--deal", flags.deal, "DURATION", "How long the tickets of a deal are given out")
      ->capture_default_str();
  AddText(app, "--collect", flags.collect, "DURATION",
          "How long after its opening a deal accepts reports, before they are sent")
      ->capture_default_str();
}

void AddOperatingFlags(CLI::App& app, RelayFlags& flags) {
  AddText(app, "--port-file", flags.port_file, "FILE",
          "Write the port to this file once serving; replaces the file");
  app.add_option_function<std::string>(
         "--log-level", [&flags](const std::string& name) { flags.log_level = kLevels.at(name); },
         "Lowest level to log: debug, info, warning, error")
      ->type_name("LEVEL")
      ->check(CheckLevel);
  app.add_flag("--json", flags.json, "Log one JSON object per line (always to stderr)");
  AddText(app, "--metrics-listen", flags.metrics_listen, "HOST:PORT",
          "Serve metrics for Prometheus at http://HOST:PORT/metrics, without TLS and to anyone who "
          "can reach it: use a loopback address or a separate network. Off by default");
  AddText(app, "--metrics-password-file", flags.metrics_password_file, "FILE",
          "Require the first line of this file as the password of the metrics page (HTTP Basic, "
          "any user name). Default: none");
  app.add_flag("--self-test", flags.self_test, "Run the start-up self-test on --data-dir, and exit")
      ->configurable(false);
  app.add_flag("--check-config,--check", flags.check_config,
               "Check all settings and the files that they name, and exit")
      ->configurable(false);
}

}  // namespace

void DescribeRelay(CLI::App& app, RelayFlags& flags) {
  app.name("coppice-relay");
  app.description(kDescription);
  app.footer(kFooter);
  app.set_version_flag("--version", "coppice-relay " COPPICE_VERSION);
  AddServingFlags(app, flags);
  AddCuratorFlags(app, flags);
  AddDealFlags(app, flags);
  AddOperatingFlags(app, flags);
  AddConfigFile(app);
}

int ParseRelayFlags(int argc, const char* const* argv, RelayFlags& flags) {
  CLI::App app;
  DescribeRelay(app, flags);
  if (const auto done = ReadLine(app, "coppice-relay", argc, argv); done.has_value()) return *done;
  const Status status = CheckRelayFlags(flags);
  return status.ok() ? -1 : Complain("coppice-relay", status.message());
}

StatusOr<RelayFlags> ReadRelayFlagsAgain(int argc, const char* const* argv) {
  CLI::App app;
  RelayFlags flags;
  DescribeRelay(app, flags);
  COPPICE_RETURN_IF_ERROR(ReadLineAgain(app, argc, argv));
  COPPICE_RETURN_IF_ERROR(CheckRelayFlags(flags));
  return flags;
}

}  // namespace coppice::relay
