#include "server/service/model_handlers.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "server/models/endpoint_record.h"
#include "server/models/model_record.h"
#include "server/service/messages.h"
#include "server/service/predict_rows.h"
#include "server/service/prediction_stream.h"
#include "server/service/unary.h"

namespace coppice::service {
namespace {

absl::Status Build(curator::Studies& studies, const v1::BuildModelRequest& request,
                   v1::BuildModelResponse& response, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const std::string study, ParseName(kStudies, request.study()));
  if (!request.model_id().empty() && !IsValidId(request.model_id())) {
    return FieldError("model_id",
                      "must be empty or 1 to 63 of a-z 0-9 - _, starting with a letter or digit");
  }
  COPPICE_ASSIGN_OR_RETURN(const curator::EstimatorOptions options, EstimatorOf(request));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info,
                           studies.BuildModel(study, request.model_id(), options, cancel));
  *response.mutable_model() = ToProto(info);
  return absl::OkStatus();
}

absl::Status Get(const models::Models& models, const v1::GetModelRequest& request,
                 v1::GetModelResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info, models.Get(id));
  *response.mutable_model() = ToProto(info);
  return absl::OkStatus();
}

absl::Status List(const models::Models& models, const v1::ListModelsRequest& request,
                  v1::ListModelsResponse& response) {
  if (!request.study().empty()) {
    COPPICE_RETURN_IF_ERROR(ParseName(kStudies, request.study()).status());
  }
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<models::ModelInfo> infos = models.List(request.study(), page);
  for (const models::ModelInfo& info : infos) *response.add_models() = SummaryOf(info);
  if (infos.size() == page.size &&
      !models.List(request.study(), {.size = 1, .after = infos.back().id}).empty()) {
    response.set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status DeleteModelNamed(models::Models& models, storage::Store& store,
                              const v1::DeleteModelRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  return models.Delete(store, id);
}

models::ChangeOptions OptionsOf(const auto& request) {
  models::ChangeOptions options{.allow_schema_change = request.allow_schema_change()};
  if (request.has_expected_version()) options.expected_version = request.expected_version();
  return options;
}

absl::Status SetServing(models::Endpoints& endpoints, const v1::SetServingModelRequest& request,
                        v1::SetServingModelResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.endpoint()));
  COPPICE_ASSIGN_OR_RETURN(const std::string model, ParseName(kModels, request.model()));
  COPPICE_ASSIGN_OR_RETURN(const models::EndpointInfo info,
                           endpoints.Set(id, model, OptionsOf(request)));
  *response.mutable_endpoint() = ToProto(info);
  return absl::OkStatus();
}

absl::Status RollBackEndpoint(models::Endpoints& endpoints, const v1::RollBackRequest& request,
                              v1::RollBackResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.endpoint()));
  COPPICE_ASSIGN_OR_RETURN(const models::EndpointInfo info,
                           endpoints.RollBack(id, request.to_version(), OptionsOf(request)));
  *response.mutable_endpoint() = ToProto(info);
  return absl::OkStatus();
}

absl::Status FindEndpoint(const models::Endpoints& endpoints, const v1::GetEndpointRequest& request,
                          v1::GetEndpointResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const models::EndpointInfo info, endpoints.Get(id));
  *response.mutable_endpoint() = ToProto(info);
  return absl::OkStatus();
}

absl::Status ListAll(const models::Endpoints& endpoints, const v1::ListEndpointsRequest& request,
                     v1::ListEndpointsResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<models::EndpointInfo> infos = endpoints.List(page);
  for (const models::EndpointInfo& info : infos) *response.add_endpoints() = ToProto(info);
  if (infos.size() == page.size && !endpoints.List({.size = 1, .after = infos.back().id}).empty()) {
    response.set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status DeleteEndpointNamed(models::Endpoints& endpoints,
                                 const v1::DeleteEndpointRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.name()));
  return endpoints.Delete(id);
}

absl::StatusOr<std::shared_ptr<const models::ServedModel>> ModelFor(
    const models::Models& models, const models::Endpoints& endpoints,
    const v1::PredictRequest& request) {
  COPPICE_RETURN_IF_ERROR(
      CheckRowCount(request.rows(), request.explain() ? kMaxRowsPerExplain : kMaxRowsPerPredict));
  return FindModel(models, endpoints, request.name());
}

}  // namespace

grpc::ServerUnaryReactor* ModelServiceImpl::BuildModel(grpc::CallbackServerContext* context,
                                                       const v1::BuildModelRequest* request,
                                                       v1::BuildModelResponse* response) {
  return ReplyLater(builds_, context, [this, request, response](const CancelCheck& cancel) {
    return Build(studies_, *request, *response, cancel);
  });
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

grpc::ServerUnaryReactor* ModelServiceImpl::DeleteModel(grpc::CallbackServerContext* context,
                                                        const v1::DeleteModelRequest* request,
                                                        v1::DeleteModelResponse* /*response*/) {
  return ReplyLater(pool_, context,
                    [this, request] { return DeleteModelNamed(models_, store_, *request); });
}

grpc::ServerUnaryReactor* ModelServiceImpl::Predict(grpc::CallbackServerContext* context,
                                                    const v1::PredictRequest* request,
                                                    v1::PredictResponse* response) {
  absl::StatusOr<std::shared_ptr<const models::ServedModel>> served =
      ModelFor(models_, endpoints_, *request);
  if (!served.ok()) return Reply(context, served.status());
  if (!request->explain() && IsQuick(*(*served)->model.model, request->rows())) {
    return Reply(context, AnswerPredict(**served, *request, *response));
  }
  return ReplyLater(pool_, context, [request, response, model = *std::move(served)] {
    return AnswerPredict(*model, *request, *response);
  });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ModelServiceImpl::StreamPredictions(
    grpc::CallbackServerContext* context) {
  return PredictionStream::Start(models_, endpoints_, pool_, *context);
}

grpc::ServerUnaryReactor* ModelServiceImpl::SetServingModel(
    grpc::CallbackServerContext* context, const v1::SetServingModelRequest* request,
    v1::SetServingModelResponse* response) {
  return ReplyLater(pool_, context, [this, request, response] {
    return SetServing(endpoints_, *request, *response);
  });
}

grpc::ServerUnaryReactor* ModelServiceImpl::RollBack(grpc::CallbackServerContext* context,
                                                     const v1::RollBackRequest* request,
                                                     v1::RollBackResponse* response) {
  return ReplyLater(pool_, context, [this, request, response] {
    return RollBackEndpoint(endpoints_, *request, *response);
  });
}

grpc::ServerUnaryReactor* ModelServiceImpl::GetEndpoint(grpc::CallbackServerContext* context,
                                                        const v1::GetEndpointRequest* request,
                                                        v1::GetEndpointResponse* response) {
  return Reply(context, FindEndpoint(endpoints_, *request, *response));
}

grpc::ServerUnaryReactor* ModelServiceImpl::ListEndpoints(grpc::CallbackServerContext* context,
                                                          const v1::ListEndpointsRequest* request,
                                                          v1::ListEndpointsResponse* response) {
  return Reply(context, ListAll(endpoints_, *request, *response));
}

grpc::ServerUnaryReactor* ModelServiceImpl::DeleteEndpoint(
    grpc::CallbackServerContext* context, const v1::DeleteEndpointRequest* request,
    v1::DeleteEndpointResponse* /*response*/) {
  return ReplyLater(pool_, context,
                    [this, request] { return DeleteEndpointNamed(endpoints_, *request); });
}

}  // namespace coppice::service
