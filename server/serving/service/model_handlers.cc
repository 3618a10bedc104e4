#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/serving/calls/unchanged.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/messages.h"
#include "server/serving/service/predictions.h"
#include "server/store/models/endpoint_record.h"
#include "server/store/models/ids.h"
#include "server/store/models/model_record.h"

namespace coppice::service {
namespace {

models::ChangeOptions OptionsOf(const auto& request) {
  models::ChangeOptions options{.allow_schema_change = request.allow_schema_change()};
  if (request.has_expected_version()) options.expected_version = request.expected_version();
  return options;
}

}  // namespace

void ModelHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &ModelHandlers::BuildModel);
  registry.Add(*this, &ModelHandlers::GetModel);
  registry.Add(*this, &ModelHandlers::DescribeModel);
  registry.Add(*this, &ModelHandlers::ExportModel);
  registry.Add(*this, &ModelHandlers::ListModels);
  registry.Add(*this, &ModelHandlers::DeleteModel);
  registry.Add(*this, &ModelHandlers::Predict);
  registry.AddStreamOf<v1::StreamPredictionsRequest>(*this, &ModelHandlers::StreamPredictions);
  registry.Add(*this, &ModelHandlers::SetServingModel);
  registry.Add(*this, &ModelHandlers::RollBack);
  registry.Add(*this, &ModelHandlers::GetEndpoint);
  registry.Add(*this, &ModelHandlers::ListEndpoints);
  registry.Add(*this, &ModelHandlers::DeleteEndpoint);
}

Status ModelHandlers::BuildModel(const Caller& caller, const v1::BuildModelRequest& request,
                                 v1::BuildModelResponse* response, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const std::string study, ParseName(kStudies, request.study()));
  if (!request.model_id().empty() && !IsValidId(request.model_id())) {
    return FieldError("model_id",
                      "must be empty or 1 to 63 of a-z 0-9 - _, starting with a letter or digit");
  }
  COPPICE_ASSIGN_OR_RETURN(curator::EstimatorOptions options, EstimatorOf(request));
  const StatusOr<models::ModelSummary> before = models_.Describe(request.model_id());
  models::ModelClaim room;  // until the model is there
  if (!before.ok()) {
    COPPICE_ASSIGN_OR_RETURN(options.most_bytes, MostBytes(request));
    COPPICE_ASSIGN_OR_RETURN(room, ReserveRoom(study, options.most_bytes));
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string id,
                           models::IdOrRandom(request.model_id(), MayDraw(caller, {kModels})));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info,
                           studies_.BuildModel(study, id, options, cancel));
  const bool was_made = before.ok() && before->created_unix_seconds == info.created_unix_seconds;
  if (was_made) NoteUnchanged();
  *response->mutable_model() = ToProto(info);
  return OkStatus();
}

StatusOr<uint64_t> ModelHandlers::MostBytes(const v1::BuildModelRequest& request) const {
  if (request.max_model_bytes() > max_model_bytes_) {
    return FieldError("max_model_bytes",
                      StrCat("must be at most ", max_model_bytes_,
                             ", the curator's --max-model-bytes, is ", request.max_model_bytes()));
  }
  return request.max_model_bytes() == 0 ? max_model_bytes_ : request.max_model_bytes();
}

// The model may take what its owner's quota has left, and counts with that while it is built.
StatusOr<models::ModelClaim> ModelHandlers::ReserveRoom(const std::string& study,
                                                        uint64_t& most_bytes) {
  const std::string owner = studies_.OwnerOf(study).value_or("");
  const owners::Quota quota = quotas_(owner);
  if (quota.model_bytes > 0) {
    const uint64_t used = std::min(models_.UseOf(owner).bytes, quota.model_bytes - 1);
    most_bytes = std::min(most_bytes, quota.model_bytes - used);
  }
  return models_.Reserve(owner, {.models = 1, .bytes = most_bytes},
                         {.models = quota.models, .bytes = quota.model_bytes});
}

Status ModelHandlers::GetModel(const Caller& /*caller*/, const v1::GetModelRequest& request,
                               v1::GetModelResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo info, models_.Get(id));
  *response->mutable_model() = ToProto(info);
  return OkStatus();
}

Status ModelHandlers::ListModels(const Caller& caller, const v1::ListModelsRequest& request,
                                 v1::ListModelsResponse* response) const {
  if (!request.study().empty()) {
    COPPICE_RETURN_IF_ERROR(ParseName(kStudies, request.study()).status());
  }
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  response->set_next_page_token(AddPage(
      page, [&](const Page& part) { return models_.List(request.study(), part); },
      [&](const models::ModelSummary& summary) {
        return caller.sees_all || guard_.MaySee(caller, kModels, summary.id);
      },
      [&](const models::ModelSummary& summary) { *response->add_models() = SummaryOf(summary); }));
  return OkStatus();
}

Status ModelHandlers::DeleteModel(const Caller& /*caller*/, const v1::DeleteModelRequest& request,
                                  v1::DeleteModelResponse* /*response*/) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kModels, request.name()));
  return models_.Delete(store_, id);
}

StatusOr<Later> ModelHandlers::Predict(const Caller& /*caller*/, const v1::PredictRequest& request,
                                       v1::PredictResponse* response) const {
  COPPICE_RETURN_IF_ERROR(
      CheckRowCount(request.rows(), request.explain() ? kMaxRowsPerExplain : kMaxRowsPerPredict));
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const models::ServedModel> in_memory,
                           FindModelInMemory(models_, endpoints_, request.name()));
  if (in_memory != nullptr && !request.explain() &&
      IsQuick(*in_memory->model.model, request.rows())) {
    COPPICE_RETURN_IF_ERROR(AnswerPredict(*in_memory, request, *response));
    return Later();
  }
  return Later([this, in_memory, &request, response]() -> Status {
    if (in_memory != nullptr) return AnswerPredict(*in_memory, request, *response);
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const models::ServedModel> read,
                             FindModel(models_, endpoints_, request.name()));
    return AnswerPredict(*read, request, *response);
  });
}

StatusOr<StreamHandlerPtr> ModelHandlers::StreamPredictions(const Caller& caller,
                                                            StreamCall& call) const {
  return PredictionStream::Start(models_, endpoints_, guard_, caller, call);
}

Status ModelHandlers::SetServingModel(const Caller& caller,
                                      const v1::SetServingModelRequest& request,
                                      v1::SetServingModelResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.endpoint()));
  COPPICE_ASSIGN_OR_RETURN(const std::string model, ParseName(kModels, request.model()));
  models::ChangeOptions options = OptionsOf(request);
  options.owner = caller.name;
  const StatusOr<models::EndpointInfo> before = endpoints_.Get(id);
  COPPICE_ASSIGN_OR_RETURN(const models::EndpointInfo info, endpoints_.Set(id, model, options));
  const bool was_set = before.ok() && before->versions.back().number == info.versions.back().number;
  if (was_set) NoteUnchanged();
  *response->mutable_endpoint() = ToProto(info);
  return OkStatus();
}

Status ModelHandlers::RollBack(const Caller& /*caller*/, const v1::RollBackRequest& request,
                               v1::RollBackResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.endpoint()));
  COPPICE_ASSIGN_OR_RETURN(const models::EndpointInfo info,
                           endpoints_.RollBack(id, request.to_version(), OptionsOf(request)));
  *response->mutable_endpoint() = ToProto(info);
  return OkStatus();
}

Status ModelHandlers::GetEndpoint(const Caller& /*caller*/, const v1::GetEndpointRequest& request,
                                  v1::GetEndpointResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const models::EndpointInfo info, endpoints_.Get(id));
  *response->mutable_endpoint() = ToProto(info);
  return OkStatus();
}

Status ModelHandlers::ListEndpoints(const Caller& caller, const v1::ListEndpointsRequest& request,
                                    v1::ListEndpointsResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  response->set_next_page_token(AddPage(
      page, [this](const Page& part) { return endpoints_.List(part); },
      [&](const models::EndpointInfo& info) {
        return caller.MaySee({.names = {MakeName(kEndpoints, info.id)}, .owner = info.owner});
      },
      [&](const models::EndpointInfo& info) { *response->add_endpoints() = ToProto(info); }));
  return OkStatus();
}

Status ModelHandlers::DeleteEndpoint(const Caller& /*caller*/,
                                     const v1::DeleteEndpointRequest& request,
                                     v1::DeleteEndpointResponse* /*response*/) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kEndpoints, request.name()));
  return endpoints_.Delete(id);
}

}  // namespace coppice::service
