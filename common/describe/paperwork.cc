#include "common/describe/paperwork.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/text.h"
#include "common/model/certificate_text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kToSay[] = "TO SAY: ";
constexpr int kFullTier = 3;  // every part of an entry

std::string Joined(const CertificateText& words, CertificateSection section) {
  std::string text;
  for (const std::string& sentence : words.sections[section].sentences) {
    StrAppend(&text, text.empty() ? "" : " ", sentence);
  }
  return text;
}

bool IsLocal(const Certificate& certificate) { return PromiseOf(certificate) == Promise::kLocal; }

// ---- sentences that only these papers need

constexpr char kExactNoise[] =
    "Noise is drawn by exact samplers over whole numbers from OpenSSL's generator; no "
    "floating-point number stands between a private value and what is released, and there is no "
    "seed.";

std::string Correctness(const Certificate& certificate) {
  return StrCat(
      "Made by Coppice ", certificate.code_version,
      ", an open implementation whose documents prove each mechanism and say which of the proofs a "
      "machine checks. ",
      kExactNoise,
      " The releases of this certificate were added up anew when this was written, and give its ε"
      " and δ.");
}

constexpr char kDeviceTime[] =
    "Someone who shares the device, or sees it send at once, may learn something from the time of "
    "its draws and of finding its leaf; a device that delivers on a schedule shows none of that. "
    "That it answers, when, and from which address is not hidden, except from a curator behind a "
    "relay.";
constexpr char kRowsOnDevices[] =
    "Rows stay on their devices: what leaves one is randomized already.";
constexpr char kRowsAtTheCurator[] =
    "The curator holds the rows, and no call returns them. In a sealed store neither its files nor "
    "its backups can be read without the key.";

std::string UnitOf(const Certificate& certificate) {
  switch (PromiseOf(certificate)) {
    case Promise::kLocal:
      return "one report of one device";
    case Promise::kRow:
      return "one row";
    case Promise::kLabel:
      return "the label of one row";
    case Promise::kNone:
    case Promise::kOther:
      break;
  }
  return certificate.neighbouring;
}

// ---- the registry's entry, part by part

std::string ToSay(std::string_view what) { return StrCat(kToSay, what); }

Json Basic(const v1::Model& model, const std::string& published) {
  const bool number = model.schema().has_target();
  return {
      {"name", ToSay("what the data product is called")},
      {"data_curators", {ToSay("who publishes it")}},
      {"description",
       StrCat("Decision trees that predict ",
              number ? "a number" : StrCat("one of ", model.schema().classes_size(), " classes"),
              " from ", model.schema().features_size(), " features (",
              ToSay("of whom, and what it predicts"), ")")},
      {"intended_use", ToSay("what it is used for")},
      {"data_product_type", "Machine learning model"},
      {"data_product_region", ToSay("the region that its rows describe")},
      {"publication_date", published}};
}

Json Variant(const Certificate& certificate, const CertificateText& words) {
  const char* name = certificate.delta_atto > 0 ? "Approximate DP" : "Pure DP";
  if (PromiseOf(certificate) == Promise::kOther) name = "Custom";
  return {{"variant_name", name},
          {"data_domain", IsLocal(certificate)
                              ? "All rows that the study's schema allows, which is public."
                              : "All tables of rows that the dataset's schema allows."},
          {"unprotected_quantities", Joined(words, kNotCovered)}};
}

Json Loss(const Certificate& certificate, const CertificateText& words) {
  Json parameters = {{"epsilon", EpsilonNumber(certificate.epsilon_nanos)}};
  if (certificate.delta_atto > 0) parameters["delta"] = DeltaNumber(certificate.delta_atto);
  return {{"privacy_unit", UnitOf(certificate)},
          {"privacy_unit_details", Joined(words, kProtectedFrom)},
          {"privacy_parameters", parameters},
          {"privacy_parameters_details", Joined(words, kMeaning)}};
}

Json DeploymentModel(const Certificate& certificate) {
  const bool local = IsLocal(certificate);
  Json part = {{"model_name", local ? "Local" : "Central"}};
  if (certificate.relay.epsilon_nanos > 0) {
    part["model_name_details"] =
        "A relay stands between devices and the curator, which gives a further promise towards a "
        "curator that does not collude with it.";
  }
  part["actors"] = local ? "Devices, which are trusted with their own rows; the curator, which is "
                           "not trusted with "
                           "rows; whoever sees the model."
                         : "The curator, which is trusted with the rows; whoever sees the model or "
                           "its predictions, "
                           "who is not.";
  part.update(
      {{"release_type", "One release"},
       {"release_type_details", ToSay("whether more will be learned from the same rows")},
       {"data_source_type", "Static"},
       {"access_type", "Non-interactive"},
       {"access_type_details",
        "The model and its predictions follow from the releases: using them costs nothing more."}});
  return part;
}

Json Accounting(const Certificate& certificate) {
  const std::vector<Release>& releases = certificate.releases;
  const bool parts = std::any_of(releases.begin(), releases.end(),
                                 [](const Release& one) { return !one.part.empty(); });
  const bool concentrated = std::any_of(releases.begin(), releases.end(),
                                        [](const Release& one) { return one.rho_pico > 0; });
  std::string composition =
      concentrated ? "Releases are added up as zero-concentrated DP and converted to ε "
                     "and δ once, at the end."
                   : "Sequential composition: the ε of all releases add up.";
  if (parts) {
    composition +=
        " Parallel composition over parts of the rows: a row is in one part, so only the "
        "most expensive part counts.";
  }
  return {{"post_processing",
           StrCat("The trees' leaves follow from the releases and from public inputs (",
                  certificate.estimator, "), and cost nothing.")},
          {"composition", composition}};
}

Json Implementation(const Certificate& certificate, const CertificateText& words) {
  return {
      {"preprocessing_and_hyperparameter_tuning",
       ToSay("what was tried on the same rows before this model, and whether its cost was counted. "
             "The certificate counts this model alone.")},
      {"mechanisms", StrCat(Joined(words, kReleased), " ", Correctness(certificate), " ",
                            IsLocal(certificate) ? kDeviceTime : kTrainingTells)},
      {"justification", ToSay("why this ε, and who decided it")}};
}

// ---- YAML

// A string in double quotes with the escapes of JSON is YAML too. So is a number, except that
// YAML 1.1 takes "1e-6" for a text and "1.0e-6" for a number.
std::string Scalar(const Json& value) {
  std::string text = value.dump();
  const size_t exponent = value.is_number() ? text.find('e') : std::string::npos;
  if (exponent != std::string::npos && text.find('.') == std::string::npos) {
    text.insert(exponent, ".0");
  }
  return text;
}

void WriteYaml(const Json& value, size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  for (const auto& [key, member] : value.items()) {
    StrAppend(&out, margin, key, ":");
    if (member.is_object()) {
      out += "\n";
      WriteYaml(member, indent + 2, out);
    } else if (member.is_array()) {
      out += "\n";
      for (const Json& element : member) StrAppend(&out, margin, "  - ", Scalar(element), "\n");
    } else {
      StrAppend(&out, " ", Scalar(member), "\n");
    }
  }
}

// "deployment.basic.name" for each text that holds a mark.
void FindMarks(const Json& value, const std::string& path, std::vector<std::string>& found) {
  if (value.is_string()) {
    if (value.get<std::string>().find(kToSay) != std::string::npos) found.push_back(path);
    return;
  }
  if (!value.is_object() && !value.is_array()) return;
  for (const auto& [key, member] : value.items()) {
    FindMarks(member, value.is_array() ? path : path.empty() ? key : StrCat(path, ".", key), found);
  }
}

std::string Notes(const Certificate& certificate) {
  std::string text = "Questions of NIST SP 800-226.";
  for (const ReviewAnswer& one : AnswerReview(certificate)) {
    StrAppend(&text, "\n\n**", one.question, "**");
    if (!one.answer.empty()) StrAppend(&text, " ", one.answer);
    if (!one.to_say.empty()) StrAppend(&text, " ", ToSay(one.to_say));
  }
  return text;
}

}  // namespace

std::vector<ReviewAnswer> AnswerReview(const Certificate& certificate) {
  const CertificateText words = DescribeCertificate(certificate);
  const bool local = IsLocal(certificate);
  return {
      {"What is the unit of privacy?",
       StrCat(UnitOf(certificate), ": ", Joined(words, kProtectedFrom)),
       local ? "how many reports a person can send, over studies and devices"
             : "how many rows a person can have"},
      {"What are ε and δ, and how were they chosen?",
       StrCat(CostText(certificate), ". ", Joined(words, kMeaning)),
       "how and by whom they were chosen"},
      {"Who is trusted?", words.sections[kProtectedFrom].sentences.front(), ""},
      {"Are the algorithm and its noise correct?", Correctness(certificate), ""},
      {"What about side channels?", local ? kDeviceTime : kTrainingTells, ""},
      {"How are the data protected before the noise?", local ? kRowsOnDevices : kRowsAtTheCurator,
       local ? "" : "who can reach the curator's machine, store and backups"},
      {"Who may use and delete what?",
       local ? "A person can opt out on the device; what was reported stays counted."
             : "An owner can delete the dataset or one model; what was released stays released.",
       "who may see the model"},
      {"Which share of the whole privacy budget is this?",
       "The certificate counts this model alone.",
       local ? "what other studies ask of the same devices"
             : "the dataset's budget, and what was spent on other datasets with the same people"},
      {"How useful are the results, and are they biased against a group?", "",
       "how accurate the model is, for each group that matters: a certificate knows nothing of "
       "that"},
  };
}

Json DescribeReview(const std::vector<ReviewAnswer>& answers) {
  Json described = Json::array();
  for (const ReviewAnswer& one : answers) {
    Json& entry = described.emplace_back(Json{{"question", one.question}});
    if (!one.answer.empty()) entry["answer"] = one.answer;
    if (!one.to_say.empty()) entry["to_say"] = one.to_say;
  }
  return described;
}

StatusOr<std::string> RegistryEntry(const v1::Model& model, const std::string& today) {
  const Certificate certificate = ParseCertificate(model.certificate());
  COPPICE_RETURN_IF_ERROR(CheckCertificate(certificate));
  if (PromiseOf(certificate) == Promise::kNone) {
    return FailedPreconditionError(
        "this model was trained without privacy: there is nothing to register");
  }
  const CertificateText words = DescribeCertificate(certificate);
  const std::string published =
      model.created_unix_seconds() > 0
          ? absl::FormatTime("%Y-%m-%d", absl::FromUnixSeconds(model.created_unix_seconds()),
                             absl::UTCTimeZone())
          : today;
  const Json entry = {
      {"url_slug", StrCat("coppice-", IdOf(model.name()))},
      {"status", "Draft"},
      {"tier", kFullTier},
      {"deployment",
       {{"basic", Basic(model, published)},
        {"dp_variant", Variant(certificate, words)},
        {"privacy_loss", Loss(certificate, words)},
        {"deployment_model", DeploymentModel(certificate)},
        {"accounting", Accounting(certificate)},
        {"implementation", Implementation(certificate, words)},
        {"administrative",
         {{"notes", Notes(certificate)}, {"registry_authors", {ToSay("who wrote this entry")}}}}}}};
  std::vector<std::string> marks;
  FindMarks(entry, "", marks);
  std::string yaml =
      "# An entry of the public registry of deployments of differential privacy, from a model's "
      "certificate.\n# Only a person can say (search for TO SAY; the day of publication is the "
      "model's, "
      "and a sector may be added):\n";
  for (const std::string& mark : marks) StrAppend(&yaml, "#   ", mark, "\n");
  WriteYaml(entry, 0, yaml);
  return yaml;
}

}  // namespace coppice
