#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/command_line/listen_address.h"
#include "server/daemon/config/flags.h"
#include "server/http/origins.h"

namespace coppice::daemon {
namespace {

Status CheckHttpFlags(const WebOptions& web) {
  if (web.listen.empty() && !web.allow_origin.empty()) {
    return InvalidArgumentError("--http-allow-origin needs --http-listen HOST:PORT");
  }
  for (const auto& [flag, folder] :
       {std::pair("--console", web.console), std::pair("--site", web.site)}) {
    if (web.listen.empty() && folder.value_or(kNoFolder) != kNoFolder) {
      return InvalidArgumentError(
          StrCat(flag, " needs --http-listen HOST:PORT, where browsers connect"));
    }
  }
  return http::CheckAllowedOrigins(web.allow_origin);
}

Status CheckFleetFlags(const DaemonFlags& flags) {
  if (!flags.in_fleet()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location, LocationOf(flags.store));
  if (!location.is_postgres()) {
    return InvalidArgumentError(
        "--fleet-address needs --store postgresql://...: the curators of a fleet share a database");
  }
  COPPICE_ASSIGN_OR_RETURN(const HostPort address,
                           ParseListen("--fleet-address", flags.fleet.address));
  if (address.port == 0 || address.host == "0.0.0.0" || address.host == "[::]") {
    return InvalidArgumentError(
        StrCat("--fleet-address must be the host and port by which this curator is known, such as "
               "a.example:8443, not \"",
               flags.fleet.address, "\""));
  }
  if (flags.self_test) {
    return InvalidArgumentError(
        "--self-test cannot be used with --fleet-address: the curator that leads works on the "
        "store");
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
        "--store and --data-dir both name the store; give only one of them");
  }
  StatusOr<storage::StoreLocation> location = storage::StoreLocation::Parse(store);
  if (location.ok()) return location;
  return InvalidArgumentError(StrCat("--store: ", location.status().message()));
}

Status CheckFlags(const DaemonFlags& flags) {
  COPPICE_RETURN_IF_ERROR(LocationOf(flags.store).status());
  if (flags.signing.break_chain && (flags.signing.key.empty() || !flags.signing.next_key.empty())) {
    return InvalidArgumentError(
        "--break-key-chain needs --signing-key FILE, the new key, and cannot be used with "
        "--next-signing-key");
  }
  COPPICE_RETURN_IF_ERROR(CheckFleetFlags(flags));
  COPPICE_ASSIGN_OR_RETURN(const HostPort listen, ParseListen("--listen", flags.listen.address));
  if (!flags.metrics.listen.empty()) {
    COPPICE_RETURN_IF_ERROR(ParseListen("--metrics-listen", flags.metrics.listen).status());
  }
  const bool any_tls = !flags.listen.tls_cert.empty() || !flags.listen.tls_key.empty() ||
                       !flags.listen.client_ca.empty();
  if (flags.listen.insecure && any_tls) {
    return InvalidArgumentError(
        "--insecure cannot be used with --tls-cert, --tls-key or --client-ca; leave out one or the "
        "other");
  }
  const bool has_http = !flags.web.listen.empty();
  HostPort http_listen{.host = "localhost"};
  if (has_http) {
    COPPICE_ASSIGN_OR_RETURN(http_listen, ParseListen("--http-listen", flags.web.listen));
  }
  COPPICE_RETURN_IF_ERROR(CheckHttpFlags(flags.web));
  const bool is_local = IsLoopback(listen.host);
  const bool is_http_local = IsLoopback(http_listen.host);
  if (flags.listen.insecure && !(is_local && is_http_local)) {
    return InvalidArgumentError(StrCat(
        "--insecure needs a loopback address in ", is_local ? "--http-listen" : "--listen",
        ", such as 127.0.0.1:8443, not \"", is_local ? flags.web.listen : flags.listen.address,
        "\"; to serve other machines use --tls-cert and --tls-key"));
  }
  if (flags.listen.insecure && !flags.listen.policy.empty()) {
    return InvalidArgumentError(
        "--insecure cannot be used with --policy: without TLS anyone on the network could read the "
        "tokens; use --tls-cert and --tls-key");
  }
  if (!flags.listen.insecure && flags.listen.tls_cert.empty() && flags.listen.tls_key.empty()) {
    return InvalidArgumentError(
        "--tls-cert and --tls-key are missing. Make a pair for testing with "
        "`deploy/make-certs.sh DIR`, then add --tls-cert DIR/server.crt --tls-key DIR/server.key; "
        "or, on this machine only, use --insecure");
  }
  if (!flags.listen.insecure && (flags.listen.tls_cert.empty() || flags.listen.tls_key.empty())) {
    return InvalidArgumentError(StrCat(
        flags.listen.tls_cert.empty() ? "--tls-key needs --tls-cert" : "--tls-cert needs --tls-key",
        " FILE: TLS needs a certificate and its key"));
  }
  if (flags.listen.policy.empty() && !(is_local && is_http_local)) {
    return InvalidArgumentError(
        StrCat(is_local ? "--http-listen " : "--listen ",
               is_local ? flags.web.listen : flags.listen.address,
               " is open to other machines and therefore needs --policy FILE, which says who may "
               "do what (coppiced --help shows one); without a policy use a loopback address, such "
               "as 127.0.0.1:8443"));
  }
  return OkStatus();
}

}  // namespace coppice::daemon
