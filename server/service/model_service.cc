#include "server/service/model_service.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "server/models/model_record.h"
#include "server/service/messages.h"
#include "server/service/unary.h"

namespace coppice {
namespace {

absl::Status Build(Studies& studies, const v1::BuildModelRequest& request,
                   v1::BuildModelResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string study, ParseName(kStudies, request.study()));
  if (!request.model_id().empty() && !IsValidId(request.model_id())) {
    return FieldError("model_id",
                      "must be empty or 1 to 63 of a-z 0-9 - _, starting with a letter or digit");
  }
  COPPICE_ASSIGN_OR_RETURN(const EstimatorOptions options, EstimatorOf(request));
  COPPICE_ASSIGN_OR_RETURN(const ModelInfo info,
                           studies.BuildModel(study, request.model_id(), options));
  *response.mutable_model() = ToProto(info);
  return absl::OkStatus();
}

absl::Status Get(const Models& models, const v1::GetModelRequest& request,
                 v1::GetModelResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const ModelInfo info, models.Get(id));
  *response.mutable_model() = ToProto(info);
  return absl::OkStatus();
}

absl::Status List(const Models& models, const v1::ListModelsRequest& request,
                  v1::ListModelsResponse& response) {
  if (!request.study().empty()) {
    COPPICE_RETURN_IF_ERROR(ParseName(kStudies, request.study()).status());
  }
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<ModelInfo> infos = models.List(request.study(), page);
  for (const ModelInfo& info : infos) *response.add_models() = SummaryOf(info);
  if (infos.size() == page.size &&
      !models.List(request.study(), {.size = 1, .after = infos.back().id}).empty()) {
    response.set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status PredictRows(const Models& models, const v1::PredictRequest& request,
                         v1::PredictResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  const int rows = request.rows_size();
  if (rows < 1 || rows > ModelServiceImpl::kMaxRowsPerPredict) {
    return FieldError("rows", absl::StrCat("must be 1 to ", ModelServiceImpl::kMaxRowsPerPredict,
                                           " in one request, are ", rows));
  }
  COPPICE_ASSIGN_OR_RETURN(const ModelInfo info, models.Get(id));
  const Schema& schema = info.model->schema();
  response.mutable_classes()->Assign(schema.classes().begin(), schema.classes().end());
  for (int i = 0; i < rows; ++i) {
    const absl::StatusOr<Row> row = FromProto(request.rows(i), schema);
    if (!row.ok()) return InField(ElementName("rows", i), row.status());
    *response.add_predictions() = ToProto(info.model->Predict(*row));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* ModelServiceImpl::BuildModel(grpc::CallbackServerContext* context,
                                                       const v1::BuildModelRequest* request,
                                                       v1::BuildModelResponse* response) {
  return ReplyLater(pool_, context,
                    [this, request, response] { return Build(studies_, *request, *response); });
}

grpc::ServerUnaryReactor* ModelServiceImpl::GetModel(grpc::CallbackServerContext* context,
                                                     const v1::GetModelRequest* request,
                                                     v1::GetModelResponse* response) {
  return Reply(context, Get(models_, *request, *response));
}

grpc::ServerUnaryReactor* ModelServiceImpl::ListModels(grpc::CallbackServerContext* context,
                                                       const v1::ListModelsRequest* request,
                                                       v1::ListModelsResponse* response) {
  return Reply(context, List(models_, *request, *response));
}

grpc::ServerUnaryReactor* ModelServiceImpl::Predict(grpc::CallbackServerContext* context,
                                                    const v1::PredictRequest* request,
                                                    v1::PredictResponse* response) {
  return ReplyLater(pool_, context, [this, request, response] {
    return PredictRows(models_, *request, *response);
  });
}

}  // namespace coppice
