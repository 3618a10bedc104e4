#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/command_line/listen_address.h"
#include "server/daemon/config/flags.h"

namespace coppice::daemon {
namespace {

// Origins must be written as browsers send them: scheme, host and port alone.
Status CheckHttpFlags(const DaemonFlags& flags) {
  if (flags.http_listen.empty() && !flags.http_allow_origin.empty()) {
    return InvalidArgumentError("--http-allow-origin wants --http-listen HOST:PORT beside it");
  }
  for (const auto& [flag, folder] :
       {std::pair("--console", flags.console), std::pair("--site", flags.site)}) {
    if (flags.http_listen.empty() && folder.value_or(kNoFolder) != kNoFolder) {
      return InvalidArgumentError(
          StrCat(flag, " wants --http-listen HOST:PORT beside it, where browsers find it"));
    }
  }
  for (const std::string& origin : flags.http_allow_origin) {
    const size_t scheme = origin.find("://");
    const bool is_web = StartsWith(origin, "https://") || StartsWith(origin, "http://");
    const bool is_plain = origin.find_first_of("/?#*@ \t\r\n\"", scheme + 3) == std::string::npos &&
                          AsciiStrToLower(origin) == origin;
    if (is_web && is_plain && origin.size() > scheme + 3) continue;
    return InvalidArgumentError(StrCat(
        "--http-allow-origin wants an origin as browsers send it, such as https://lab.example or "
        "http://127.0.0.1:3000, in lower case and without a path; it is \"",
        origin, "\""));
  }
  return OkStatus();
}

Status CheckFleetFlags(const DaemonFlags& flags) {
  if (!flags.in_fleet()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                           LocationOf(flags.store, flags.data_dir));
  if (!location.is_postgres()) {
    return InvalidArgumentError(
        "--fleet-address wants --store postgresql://...: the curators of a fleet share a database");
  }
  COPPICE_ASSIGN_OR_RETURN(const HostPort address,
                           ParseListen("--fleet-address", flags.fleet_address));
  if (address.port == 0 || address.host == "0.0.0.0" || address.host == "[::]") {
    return InvalidArgumentError(
        StrCat("--fleet-address wants the host and port by which this curator is known, such as "
               "a.example:8443, not \"",
               flags.fleet_address, "\""));
  }
  if (flags.self_test) {
    return InvalidArgumentError(
        "--self-test wants no --fleet-address: the curator that leads works on the store");
  }
  return OkStatus();
}

}  // namespace

StatusOr<storage::StoreLocation> LocationOf(const std::string& store, const std::string& data_dir) {
  if (store.empty() && data_dir.empty()) {
    return InvalidArgumentError(
        "--store is missing: give --store rocksdb:DIR, which --data-dir DIR is short for, or "
        "--store postgresql://HOST/DATABASE");
  }
  if (store.empty()) return storage::StoreLocation::DataDir(data_dir);
  if (!data_dir.empty()) {
    return InvalidArgumentError(
        "--store and --data-dir both say where the store is: leave one of them out");
  }
  StatusOr<storage::StoreLocation> location = storage::StoreLocation::Parse(store);
  if (location.ok()) return location;
  return InvalidArgumentError(StrCat("--store: ", location.status().message()));
}

Status CheckFlags(const DaemonFlags& flags) {
  COPPICE_RETURN_IF_ERROR(LocationOf(flags.store, flags.data_dir).status());
  if (flags.break_key_chain && (flags.signing_key.empty() || !flags.next_signing_key.empty())) {
    return InvalidArgumentError(
        "--break-key-chain wants --signing-key FILE, the new key, and no --next-signing-key");
  }
  COPPICE_RETURN_IF_ERROR(CheckFleetFlags(flags));
  COPPICE_ASSIGN_OR_RETURN(const HostPort listen, ParseListen("--listen", flags.listen));
  if (!flags.metrics_listen.empty()) {
    COPPICE_RETURN_IF_ERROR(ParseListen("--metrics-listen", flags.metrics_listen).status());
  }
  const bool any_tls =
      !flags.tls_cert.empty() || !flags.tls_key.empty() || !flags.client_ca.empty();
  if (flags.insecure && any_tls) {
    return InvalidArgumentError(
        "--insecure wants no --tls-cert, --tls-key or --client-ca: leave out the one or the "
        "others");
  }
  const bool has_http = !flags.http_listen.empty();
  HostPort http_listen{.host = "localhost"};
  if (has_http) {
    COPPICE_ASSIGN_OR_RETURN(http_listen, ParseListen("--http-listen", flags.http_listen));
  }
  COPPICE_RETURN_IF_ERROR(CheckHttpFlags(flags));
  const bool is_local = IsLoopback(listen.host);
  const bool is_http_local = IsLoopback(http_listen.host);
  if (flags.insecure && !(is_local && is_http_local)) {
    return InvalidArgumentError(
        StrCat("--insecure wants a loopback address in ", is_local ? "--http-listen" : "--listen",
               ", such as 127.0.0.1:8443, not \"", is_local ? flags.http_listen : flags.listen,
               "\"; to serve other machines use --tls-cert and --tls-key"));
  }
  if (flags.insecure && !flags.policy.empty()) {
    return InvalidArgumentError(
        "--insecure wants no --policy: without TLS, whoever listens would read the tokens; use "
        "--tls-cert and --tls-key");
  }
  if (!flags.insecure && flags.tls_cert.empty() && flags.tls_key.empty()) {
    return InvalidArgumentError(
        "--tls-cert and --tls-key are missing. Make a pair for testing with "
        "`deploy/make-certs.sh DIR`, then add --tls-cert DIR/server.crt --tls-key DIR/server.key; "
        "or, on this machine only, use --insecure");
  }
  if (!flags.insecure && (flags.tls_cert.empty() || flags.tls_key.empty())) {
    return InvalidArgumentError(
        StrCat(flags.tls_cert.empty() ? "--tls-key wants --tls-cert" : "--tls-cert wants --tls-key",
               " FILE beside it: TLS needs a certificate and its key"));
  }
  if (flags.policy.empty() && !(is_local && is_http_local)) {
    return InvalidArgumentError(StrCat(
        is_local ? "--http-listen " : "--listen ", is_local ? flags.http_listen : flags.listen,
        " is open to other machines, and so wants --policy FILE, which says who may do what "
        "(coppiced --help shows one); without it take a loopback address, such as 127.0.0.1:8443"));
  }
  return OkStatus();
}

}  // namespace coppice::daemon
