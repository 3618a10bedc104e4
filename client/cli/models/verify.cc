#include "client/cli/models/verify.h"

#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal/describe.h"
#include "common/tree/certificate.h"
#include "common/wire/convert.h"

namespace coppice::cli {

namespace {

// A later version may have written what this one does not know: that is passed over. In a file of
// this version a name that is unknown is a mistake.
bool ReadsAsLaterVersion(const std::string& text, v1::Model& model) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  model.Clear();
  return google::protobuf::util::JsonStringToMessage(text, &model, options).ok() &&
         model.version() > kModelVersion;
}

}  // namespace

absl::StatusOr<v1::Model> ReadModelFile(const std::string& path, size_t max_bytes) {
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t read = kPiece; stream.good() && read == kPiece && text.size() <= max_bytes;) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    stream.read(text.data() + before, kPiece);
    read = static_cast<size_t>(stream.gcount());
    text.resize(before + read);
  }
  if (!stream.good() && !stream.eof()) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has more than ", max_bytes, " bytes: it is no model"));
  }
  v1::Model model;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &model);
  if (status.ok()) return model;
  if (ReadsAsLaterVersion(text, model)) return model;
  return absl::InvalidArgumentError(absl::StrCat(
      path, " is no model as `coppice model export` writes it: ", std::string(status.message())));
}

Verdict VerifyModel(const v1::Model& model) {
  const Certificate certificate = FromProto(model.certificate());
  const absl::StatusOr<uint64_t> cost = TotalCost(certificate.releases);
  Verdict verdict;
  verdict.status = cost.ok() ? FromProto(model).status() : cost.status();
  verdict.json = {{"model", IdOf(model.name())},
                  {"verified", verdict.status.ok()},
                  {"epsilon", EpsilonNumber(certificate.epsilon_nanos)},
                  {"epsilon_of_releases", cost.ok() ? Json(EpsilonNumber(*cost)) : Json()}};
  if (certificate.delta_atto > 0) verdict.json["delta"] = DeltaNumber(certificate.delta_atto);
  verdict.json["neighbouring"] = certificate.neighbouring;
  verdict.json["releases"] = Json::array();
  for (const v1::Release& release : model.certificate().releases()) {
    verdict.json["releases"].push_back(DescribeRelease(release));
  }
  if (verdict.status.ok()) verdict.words = DescribeCertificate(certificate);
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

}  // namespace coppice::cli
