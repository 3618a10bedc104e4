#include "common/verdict/verdict.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/amplification/amplification.h"
#include "common/base/printable.h"
#include "common/base/status_macros.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "common/study/relay_promise.h"
#include "common/tree/certificate.h"
#include "common/tree/model.h"
#include "common/wire/convert.h"
#include "common/wire/manifest.h"
#include "common/wire/model_signature.h"

namespace coppice {
namespace {

using Json = nlohmann::ordered_json;

double OfNanos(uint64_t nanos) { return static_cast<double>(nanos) / 1e9; }
double OfAtto(uint64_t atto) { return static_cast<double>(atto) / 1e18; }

// ---- The promise towards a curator that does not collude with the relay

absl::Status RelayError(absl::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("the certificate's promise towards the curator: ", problem));
}

// Checks the numbers of the promise against one another and the rest of the model.
absl::Status CheckRelayNumbers(const Model& model) {
  const Certificate& certificate = model.certificate();
  const RelayBound& relay = certificate.relay;
  if (!absl::EndsWith(certificate.neighbouring, "(local)") ||
      !model.schema().public_features().empty()) {
    return RelayError("none can be made where rows, or features of them, are shown to the curator");
  }
  if (relay.relay_key.size() != std::tuple_size_v<KeyId>) {
    return RelayError("it does not say which relay's");
  }
  if (relay.batches == 0 || relay.least_accepted > kMaxEpochTickets ||
      relay.least_accepted > certificate.reports / relay.batches) {
    return RelayError(absl::StrCat(relay.batches, " batches of ", relay.least_accepted,
                                   " reports or more are not what ", certificate.reports,
                                   " reports came in"));
  }
  const uint64_t most_delta = LargestBatchDelta(relay.least_accepted);
  if (relay.delta_atto > most_delta) {
    return RelayError(
        absl::StrFormat("it may fail with delta %g, and among %d reports that must be at most %g, "
                        "a tenth of one in "
                        "them",
                        OfAtto(relay.delta_atto), relay.least_accepted, OfAtto(most_delta)));
  }
  const uint64_t honest = HonestReports(relay.least_accepted, relay.dishonest_millionths);
  if (relay.honest_reports <= honest) return absl::OkStatus();
  return RelayError(absl::StrCat("of the smallest batch's ", relay.least_accepted, " reports ",
                                 honest, " are assumed to be honest, and it rests on ",
                                 relay.honest_reports));
}

// The least epsilon that the promise may state, given everything else in the model. Its trees may
// have been pruned: a promise then uses the larger mass of both forms.
absl::StatusOr<Budget> RelayEpsilon(const Model& model) {
  const Certificate& certificate = model.certificate();
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(certificate.mechanism));
  COPPICE_ASSIGN_OR_RETURN(const Budget local, Budget::FromNanos(certificate.epsilon_nanos));
  std::vector<uint32_t> leaves;
  for (const Tree& tree : model.forest()) leaves.push_back(tree.num_leaves());
  COPPICE_ASSIGN_OR_RETURN(const double mass,
                           LargestTwoSidedMass(kind, local, leaves, model.schema().num_outputs()));
  const RelayBound& relay = certificate.relay;
  return EpsilonBound({relay.honest_reports, local, mass}, relay.delta_atto);
}

// Adds the promise to `json`. Returns the reason if it makes the model be refused.
absl::Status AddRelayBound(const Model& model, Json& json) {
  const RelayBound& relay = model.certificate().relay;
  if (relay.epsilon_nanos == 0) return absl::OkStatus();
  json["relay"] = {{"epsilon", OfNanos(relay.epsilon_nanos)},
                   {"delta", OfAtto(relay.delta_atto)},
                   {"honest_reports", relay.honest_reports},
                   {"dishonest", relay.dishonest_millionths / 1e6},
                   {"batches", relay.batches},
                   {"least_accepted", relay.least_accepted},
                   {"relay_key_id", absl::BytesToHexString(relay.relay_key)}};
  COPPICE_RETURN_IF_ERROR(CheckRelayNumbers(model));
  const absl::StatusOr<Budget> epsilon = RelayEpsilon(model);
  if (!epsilon.ok()) return RelayError(Printable(epsilon.status().message()));
  json["relay"]["epsilon_recomputed"] = epsilon->epsilon();
  if (epsilon->nanos() <= relay.epsilon_nanos &&
      relay.epsilon_nanos < model.certificate().epsilon_nanos) {
    return absl::OkStatus();
  }
  return RelayError(absl::StrFormat(
      "it says epsilon %.9f, and %d honest reports of epsilon %.9f by %s give %s at delta %g",
      OfNanos(relay.epsilon_nanos), relay.honest_reports,
      OfNanos(model.certificate().epsilon_nanos), model.certificate().mechanism,
      epsilon->ToString(), OfAtto(relay.delta_atto)));
}

// Returns one word for scripts.
const char* SignatureWord(const absl::Status& signature, bool is_pinned) {
  switch (signature.code()) {
    case absl::StatusCode::kOk:
      return is_pinned ? "valid" : "unpinned";
    case absl::StatusCode::kNotFound:
      return "unsigned";
    case absl::StatusCode::kFailedPrecondition:
      return "other_key";
    case absl::StatusCode::kUnimplemented:
      return "unknown";
    default:
      return "invalid";
  }
}

std::string WhoSigned(const std::string& pin, bool is_pinned) {
  if (pin.empty()) {
    return "Nobody signed this model: nothing shows that a curator made it, nor that it is as it "
           "was made.";
  }
  return absl::StrCat(
      "The model and this certificate are as the holder of the key ", pin, " signed them, ",
      is_pinned ? "which is the curator's key that it was checked with, or one that this leads to."
                : "whoever that is: --curator-key FILE says whose it must be.");
}

// Adds the signer to the verdict. Returns the reason if it makes the model be refused.
absl::Status AddSignature(const v1::Model& model, const std::optional<PublicKey>& curator_key,
                          Verdict& verdict) {
  const absl::Status signature = CheckModelSignature(model, curator_key, std::time(nullptr));
  verdict.json["signature"] = SignatureWord(signature, curator_key.has_value());
  std::string pin;  // the signer's, even if that is somebody else
  if (signature.ok() || absl::IsFailedPrecondition(signature)) {
    pin = ToPin(*ParsePublicKeyBytes(model.signature().key()));
    verdict.json["signed_by"] = pin;
  }
  const bool may_be_unsigned = !curator_key.has_value();
  if (!signature.ok() && !(absl::IsNotFound(signature) && may_be_unsigned)) return signature;
  verdict.words.sections.push_back({"Who signed it", {WhoSigned(pin, curator_key.has_value())}});
  return absl::OkStatus();
}

}  // namespace

Json DescribeRelease(const v1::Release& release) {
  Json json = {{"what", release.what()},
               {"mechanism", release.mechanism()},
               {"epsilon", OfNanos(release.epsilon_nanos())}};
  if (release.delta_atto() > 0) json["delta"] = OfAtto(release.delta_atto());
  if (release.rho_pico() > 0) json["rho"] = static_cast<double>(release.rho_pico()) / 1e12;
  json["times"] = release.times();
  json["part"] = release.part().empty() ? "all" : release.part();
  return json;
}

Verdict VerifyModel(const v1::Model& model, const std::optional<PublicKey>& curator_key) {
  const Certificate certificate = FromProto(model.certificate());
  const absl::StatusOr<uint64_t> cost = TotalCost(certificate.releases);
  Verdict verdict;
  const absl::StatusOr<Model> read = FromProto(model);
  verdict.status = cost.ok() ? read.status() : cost.status();
  Json relay = Json::object();
  if (verdict.status.ok()) verdict.status = AddRelayBound(*read, relay);
  verdict.json = {{"model", model.name().substr(model.name().rfind('/') + 1)},
                  {"verified", verdict.status.ok()},
                  {"consistent", verdict.status.ok()},
                  {"epsilon", OfNanos(certificate.epsilon_nanos)},
                  {"epsilon_of_releases", cost.ok() ? Json(OfNanos(*cost)) : Json()}};
  if (certificate.delta_atto > 0) verdict.json["delta"] = OfAtto(certificate.delta_atto);
  verdict.json["neighbouring"] = certificate.neighbouring;
  verdict.json.update(relay);
  verdict.json["releases"] = Json::array();
  for (const v1::Release& release : model.certificate().releases()) {
    verdict.json["releases"].push_back(DescribeRelease(release));
  }
  if (verdict.status.ok()) verdict.words = DescribeCertificate(certificate);
  verdict.status.Update(AddSignature(model, curator_key, verdict));
  if (!verdict.status.ok()) verdict.words.sections.clear();
  verdict.json["verified"] = verdict.status.ok();
  verdict.json["words"] = Json::array();
  for (const CertificateText::Section& section : verdict.words.sections) {
    verdict.json["words"].push_back({{"title", section.title}, {"sentences", section.sentences}});
  }
  if (!verdict.status.ok()) {
    verdict.status = absl::FailedPreconditionError(
        absl::StrCat("do not use this model: ", verdict.status.message()));
  }
  return verdict;
}

std::string ToText(const CertificateText& words) {
  std::string text;
  for (const CertificateText::Section& section : words.sections) {
    absl::StrAppend(&text, "\n", section.title, "\n");
    for (const std::string& sentence : section.sentences) {
      absl::StrAppend(&text, "  ", sentence, "\n");
    }
  }
  return text;
}

}  // namespace coppice
