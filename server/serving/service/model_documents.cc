// ModelHandlers::DescribeModel() and ExportModel(): a model for people and for other programs.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/verdict.h"
#include "common/export/formats.h"
#include "common/model/summary.h"
#include "common/pages/pages.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_file.h"
#include "server/serving/service/handlers.h"
#include "server/store/models/model_record.h"

namespace coppice::service {
namespace {

constexpr size_t kMaxExportBytes = models::kMaxModelBytes;

constexpr std::string_view kOwnFormat = "coppice";

struct FileEnding {
  std::string_view format, ending;
};
constexpr std::array<FileEnding, 6> kEndings = {{{kOwnFormat, ".coppice.json"},
                                                 {"json", ".json"},
                                                 {"onnx", ".onnx"},
                                                 {"xgboost", ".xgboost.json"},
                                                 {"c", ".h"},
                                                 {"sql", ".sql"}}};

StatusOr<std::string_view> EndingOf(std::string_view format) {
  std::vector<std::string_view> names;
  for (const FileEnding& known : kEndings) {
    if (known.format == format) return known.ending;
    names.push_back(known.format);
  }
  return FieldError("format", StrCat("must be one of ", StrJoin(names, ", ")));
}

Status TooLargeToSend(std::string_view id, std::string_view format) {
  const std::string flag = format == kOwnFormat ? "" : StrCat(" --format ", format);
  return FailedPreconditionError(
      StrCat("models/", id, " is larger as ", format, " than the ", kMaxExportBytes,
             " bytes that the curator sends as a file: `coppice model export --model ", id, flag,
             " --output FILE` writes it on your machine"));
}

StatusOr<std::string> WriteModel(const models::ModelInfo& info, const std::string& format) {
  const v1::Model proto = ToProto(info);
  if (proto.ByteSizeLong() > kMaxExportBytes) return TooLargeToSend(info.id, format);
  StatusOr<std::string> content = format == kOwnFormat
                                      ? ModelFileText(proto)
                                      : formats::ExportModel(*info.model, info.id, format);
  // The format cannot express the model.
  if (IsInvalidArgument(content.status())) {
    return FailedPreconditionError(content.status().message());
  }
  if (content.ok() && content->size() > kMaxExportBytes) return TooLargeToSend(info.id, format);
  return content;
}

// A model without a signature is shown as unsigned; a signature must be this curator's.
Verdict Judge(const v1::Model& model, const PublicKey& curator_key) {
  return VerifyModel(model, model.has_signature() ? std::make_optional(curator_key) : std::nullopt);
}

void AddSummary(const Model& model, v1::DescribeModelResponse& response) {
  const ForestSummary summary = Summarize(model);
  response.set_trees(summary.trees);
  response.set_leaves(summary.leaves);
  response.set_min_depth(summary.min_depth);
  response.set_max_depth(summary.max_depth);
  for (const Importance& one : summary.importances) {
    v1::FeatureImportance& proto = *response.add_importances();
    proto.set_feature(model.tree_schema().features()[one.feature].name);
    proto.set_importance(one.importance);
    if (one.standard_error) proto.set_standard_error(*one.standard_error);
  }
}

void AddCertificate(const Verdict& verdict, v1::DescribeModelResponse& response) {
  for (const CertificateText::Section& section : verdict.words.sections) {
    v1::TextSection& proto = *response.add_certificate();
    proto.set_title(section.title);
    for (const std::string& sentence : section.sentences) proto.add_sentences(sentence);
  }
  if (!verdict.status.ok()) {
    v1::TextSection& proto = *response.add_certificate();
    proto.set_title("What is wrong with it");
    proto.add_sentences(std::string(verdict.status.message()));
  }
  response.set_certificate_page(report::CertificatePage(verdict.json));
}

}  // namespace

Status ModelHandlers::DescribeModel(const Caller& /*caller*/,
                                    const v1::DescribeModelRequest& request,
                                    v1::DescribeModelResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info, models_.Get(id));
  AddSummary(*info.model, *response);
  AddCertificate(Judge(ToProto(info), studies_.SigningKeysInUse().key), *response);
  return OkStatus();
}

Status ModelHandlers::ExportModel(const Caller& /*caller*/, const v1::ExportModelRequest& request,
                                  v1::ExportModelResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const std::string_view ending, EndingOf(request.format()));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info, models_.Get(id));
  COPPICE_ASSIGN_OR_RETURN(*response->mutable_content(), WriteModel(info, request.format()));
  response->set_file_name(StrCat(id, ending));
  return OkStatus();
}

}  // namespace coppice::service
