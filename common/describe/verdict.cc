#include "common/describe/verdict.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/paperwork.h"
#include "common/describe/shuffled_promise.h"
#include "common/describe/text.h"
#include "common/ldp/amplification.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/certificate.h"
#include "common/model/model.h"
#include "common/privacy/budget.h"
#include "common/terms/relay_promise.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/model_signature.h"

namespace coppice {
namespace {

using Json = nlohmann::ordered_json;

// One word for scripts.
const char* SignatureWord(const Status& signature, bool is_pinned) {
  switch (signature.code()) {
    case StatusCode::kOk:
      return is_pinned ? "valid" : "unpinned";
    case StatusCode::kNotFound:
      return "unsigned";
    case StatusCode::kFailedPrecondition:
      return "other_key";
    case StatusCode::kUnimplemented:
      return "unknown";
    default:
      return "invalid";
  }
}

std::string WhoSigned(const std::string& pin, bool is_pinned) {
  if (pin.empty()) {
    return "Nobody signed this model: nothing shows that a curator made it, or that it was not "
           "changed since.";
  }
  return StrCat(
      "The model and this certificate were signed, and not changed since, by the holder of the "
      "key ",
      pin, " signed them, ",
      is_pinned ? "which is the curator's key that you gave, or one that it endorsed."
                : "whose owner is not checked: give --curator-key FILE to check it.");
}

// Adds the signer to the verdict. Returns the reason if it makes the model be refused.
Status AddSignature(const v1::Model& model, const std::optional<PublicKey>& curator_key,
                    Verdict& verdict) {
  const Status signature = CheckModelSignature(model, curator_key, std::time(nullptr));
  verdict.json["signature"] = SignatureWord(signature, curator_key.has_value());
  std::string pin;  // the signer's, even if that is somebody else
  if (signature.ok() || IsFailedPrecondition(signature)) {
    pin = ToPin(*ParsePublicKeyBytes(model.signature().key()));
    verdict.json["signed_by"] = pin;
  }
  const bool may_be_unsigned = !curator_key.has_value();
  if (!signature.ok() && !(IsNotFound(signature) && may_be_unsigned)) return signature;
  verdict.words.sections.push_back({"Who signed it", {WhoSigned(pin, curator_key.has_value())}});
  return OkStatus();
}

}  // namespace

Verdict VerifyModel(const v1::Model& model, const std::optional<PublicKey>& curator_key) {
  const Certificate certificate = ParseCertificate(model.certificate());
  const StatusOr<uint64_t> cost = TotalCost(certificate.releases);
  Verdict verdict;
  const StatusOr<Model> read = ParseModel(model);
  verdict.status = cost.ok() ? read.status() : cost.status();
  Json promises = Json::object();
  if (verdict.status.ok()) verdict.status = CheckShuffledPromises(*read, promises);
  verdict.json = {{"model", model.name().substr(model.name().rfind('/') + 1)},
                  {"verified", verdict.status.ok()},
                  {"consistent", verdict.status.ok()},
                  {"epsilon", EpsilonNumber(certificate.epsilon_nanos)},
                  {"epsilon_of_releases", cost.ok() ? Json(EpsilonNumber(*cost)) : Json()}};
  if (certificate.delta_atto > 0) verdict.json["delta"] = DeltaNumber(certificate.delta_atto);
  verdict.json["neighbouring"] = certificate.neighbouring;
  if (!certificate.public_rows_sha256.empty()) {
    verdict.json["public_rows"] = certificate.public_rows;
    verdict.json["public_rows_sha256"] = certificate.public_rows_sha256;
  }
  verdict.json.update(promises);
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
  if (verdict.status.ok()) verdict.json["questions"] = DescribeReview(AnswerReview(certificate));
  if (!verdict.status.ok()) {
    verdict.status =
        FailedPreconditionError(StrCat("do not use this model: ", verdict.status.message()));
  }
  return verdict;
}

void AddPublicRows(const v1::Certificate& certificate, const std::string& digest,
                   Verdict& verdict) {
  const std::string& named = certificate.public_rows_sha256();
  if (named.empty()) {
    verdict.status.Update(InvalidArgumentError(
        "the certificate names no public rows to compare with: leave --public out"));
    return;
  }
  const bool same = digest == named;
  verdict.json["public_rows_match"] = same;
  if (same) return;
  verdict.json["verified"] = false;
  verdict.status.Update(FailedPreconditionError(
      StrCat("these are not the ", certificate.public_rows(),
             " public rows that the model was trained from: their digest is ", digest,
             ", and the certificate names ", Printable(named),
             ". Rows, columns and their order must be the same, and the schema's bounds too")));
}

std::string ToText(const CertificateText& words) {
  std::string text;
  for (const CertificateText::Section& section : words.sections) {
    StrAppend(&text, "\n", section.title, "\n");
    for (const std::string& sentence : section.sentences) {
      StrAppend(&text, "  ", sentence, "\n");
    }
  }
  return text;
}

}  // namespace coppice
