#include <set>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/command_line/listen_address.h"
#include "common/terms/public_key_file.h"
#include "common/terms/terms.h"
#include "server/http/origins.h"
#include "server/relay/daemon/flags.h"

namespace coppice::relay {
namespace {

constexpr absl::Duration kLongestDeal = absl::Hours(24 * 90);

StatusOr<absl::Duration> ParseDealDuration(std::string_view flag, const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration >= absl::Seconds(1) &&
      duration <= kLongestDeal) {
    return duration;
  }
  return InvalidArgumentError(
      StrCat(flag, " needs a duration from 1s to 2160h (90 days), such as 30m or 12h; it is \"",
             text, "\""));
}

Status Missing(std::string_view flag, std::string_view what) {
  return InvalidArgumentError(StrCat(flag, " is missing: ", what));
}

std::string StudyId(std::string_view study) { return std::string(StripPrefix(study, "studies/")); }

Status CheckStudies(const std::vector<std::string>& studies) {
  if (studies.empty()) return Missing("--study", "give the id of the study to relay");
  std::set<std::string> seen;
  for (const std::string& study : studies) {
    const std::string id = StudyId(study);
    if (!IsValidId(id)) {
      return InvalidArgumentError(StrCat(
          "--study needs the id that `coppice study create` printed; it is \"", study, "\""));
    }
    if (!seen.insert(id).second) {
      return InvalidArgumentError(StrCat("--study ", id, " is given twice"));
    }
  }
  return OkStatus();
}

Status CheckDeals(const RelayFlags& flags) {
  COPPICE_RETURN_IF_ERROR(CheckStudies(flags.studies));
  if (flags.tickets == 0) {
    return Missing("--tickets",
                   "give the number of tickets of a deal, at least the smallest batch");
  }
  if (flags.min_batch > flags.tickets) {
    return InvalidArgumentError(StrCat("--min-batch ", flags.min_batch, " is more than --tickets ",
                                       flags.tickets, ", so that no batch could ever be sent"));
  }
  COPPICE_ASSIGN_OR_RETURN(const absl::Duration deal, ParseDealDuration("--deal", flags.deal));
  COPPICE_ASSIGN_OR_RETURN(const absl::Duration collect,
                           ParseDealDuration("--collect", flags.collect));
  if (deal <= collect) return OkStatus();
  return InvalidArgumentError(
      "--collect is shorter than --deal; both start when a deal opens, and reports need time after "
      "the last ticket");
}

Status CheckCurator(const RelayFlags& flags) {
  if (flags.curator.empty()) return Missing("--curator", "give its HOST:PORT");
  if (flags.curator_key.empty()) {
    return Missing("--curator-key",
                   "get the curator's public key (`coppice study key`) from a source that you "
                   "trust, and give \"ed25519:...\" or a file with it");
  }
  const Status status = CheckConnectOptions(CuratorConnectionOf(flags));
  if (status.ok()) return status;
  return InvalidArgumentError(StrCat("--curator: ", status.message()));
}

// --http-listen is as open as --listen, and has the same TLS.
Status CheckHttp(const RelayFlags& flags) {
  if (flags.http_listen.empty()) {
    if (flags.http_allow_origin.empty()) return OkStatus();
    return InvalidArgumentError("--http-allow-origin needs --http-listen HOST:PORT");
  }
  COPPICE_ASSIGN_OR_RETURN(const HostPort listen, ParseListen("--http-listen", flags.http_listen));
  COPPICE_RETURN_IF_ERROR(http::CheckAllowedOrigins(flags.http_allow_origin));
  if (!flags.insecure || IsLoopback(listen.host)) return OkStatus();
  return InvalidArgumentError(
      StrCat("--insecure needs a loopback address in --http-listen, such as 127.0.0.1:8080, not \"",
             flags.http_listen, "\"; to serve other machines use --tls-cert and --tls-key"));
}

Status CheckTls(const RelayFlags& flags, const HostPort& listen) {
  const bool any_tls =
      !flags.tls_cert.empty() || !flags.tls_key.empty() || !flags.client_ca.empty();
  if (flags.insecure && any_tls) {
    return InvalidArgumentError(
        "--insecure cannot be used with --tls-cert, --tls-key or --client-ca; leave out one or the "
        "other");
  }
  if (flags.insecure && !IsLoopback(listen.host)) {
    return InvalidArgumentError(
        StrCat("--insecure needs a loopback address in --listen, such as 127.0.0.1:8445, not \"",
               flags.listen, "\"; to serve other machines use --tls-cert and --tls-key"));
  }
  if (flags.insecure || (!flags.tls_cert.empty() && !flags.tls_key.empty())) {
    return OkStatus();
  }
  if (flags.tls_cert.empty() && flags.tls_key.empty()) {
    return InvalidArgumentError(
        "--tls-cert and --tls-key are missing: make a pair for testing with "
        "`deploy/make-certs.sh DIR`; or, on this machine only, use --insecure");
  }
  return InvalidArgumentError(
      StrCat(flags.tls_cert.empty() ? "--tls-key needs --tls-cert" : "--tls-cert needs --tls-key",
             " FILE: TLS needs a certificate and its key"));
}

Status CheckAdmission(const RelayFlags& flags) {
  if (flags.admission.empty() && !flags.admit_all) {
    return Missing("--admission",
                   "give a file that says who may take tickets; or --admit-all, with which anyone "
                   "gets as many as they like, so that one party may make up most of a batch");
  }
  if (!flags.admission.empty() && flags.admit_all) {
    return InvalidArgumentError(
        "--admission and --admit-all both say who may take tickets; give only one of them");
  }
  if (flags.insecure && !flags.admission.empty()) {
    return InvalidArgumentError(
        "--insecure cannot be used with --admission: without TLS anyone on the network could read "
        "the tokens; use --tls-cert and --tls-key, or --admit-all");
  }
  return OkStatus();
}

StatusOr<PublicKey> ReadPin(const std::string& pin_or_file) {
  StatusOr<PublicKey> key = ReadPublicKey(pin_or_file);
  if (key.ok()) return key;
  return InvalidArgumentError(StrCat("--curator-key ", key.status().message()));
}

}  // namespace

Status CheckRelayFlags(const RelayFlags& flags) {
  if (flags.data_dir.empty()) {
    return Missing("--data-dir", "name the folder that `coppice-relay keygen --data-dir DIR` made");
  }
  COPPICE_ASSIGN_OR_RETURN(const HostPort listen, ParseListen("--listen", flags.listen));
  if (!flags.metrics_listen.empty()) {
    COPPICE_RETURN_IF_ERROR(ParseListen("--metrics-listen", flags.metrics_listen).status());
  }
  COPPICE_RETURN_IF_ERROR(CheckTls(flags, listen));
  COPPICE_RETURN_IF_ERROR(CheckHttp(flags));
  COPPICE_RETURN_IF_ERROR(CheckAdmission(flags));
  COPPICE_RETURN_IF_ERROR(CheckCurator(flags));
  return CheckDeals(flags);
}

StatusOr<RelayOptions> RelayOptionsOf(const RelayFlags& flags) {
  RelayOptions options;
  options.data_dir = flags.data_dir;
  for (const std::string& study : flags.studies) options.studies.push_back(StudyId(study));
  COPPICE_ASSIGN_OR_RETURN(options.curator_key, ReadPin(flags.curator_key));
  options.tickets = flags.tickets;
  options.min_batch = flags.min_batch;
  COPPICE_ASSIGN_OR_RETURN(options.deal_for, ParseDealDuration("--deal", flags.deal));
  COPPICE_ASSIGN_OR_RETURN(options.collect_for, ParseDealDuration("--collect", flags.collect));
  return options;
}

ConnectOptions CuratorConnectionOf(const RelayFlags& flags) {
  return {.server = flags.curator,
          .ca_file = flags.curator_ca,
          .cert_file = flags.curator_cert,
          .key_file = flags.curator_client_key,
          .token_file = flags.curator_token_file,
          .insecure = flags.curator_insecure};
}

}  // namespace coppice::relay
