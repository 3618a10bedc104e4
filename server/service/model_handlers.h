// ModelService over all models, over Studies, which build some, and over the endpoints that serve
// them.

#ifndef COPPICE_SERVER_SERVICE_MODEL_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_MODEL_HANDLERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "coppice/v1/model.pb.h"
#include "server/curator/studies/studies.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"
#include "server/service/calls/handler_registry.h"
#include "server/storage/store.h"

namespace coppice::service {

// A few rows are predicted at once, which is sooner than another thread wakes. Rows to predict are
// neither kept nor logged, and no error quotes a value of theirs.
//
// Errors     those of Studies, Models and Endpoints, and InvalidArgument that names the field.
// Threads    safe to share. What it is made of must outlive it. `store` holds the models.
class ModelHandlers {
 public:
  ModelHandlers(storage::Store& store, curator::Studies& studies, models::Models& models,
                models::Endpoints& endpoints)
      : store_(store), studies_(studies), models_(models), endpoints_(endpoints) {}

  void Register(HandlerRegistry& registry);

  absl::Status BuildModel(const Caller& caller, const v1::BuildModelRequest& request,
                          v1::BuildModelResponse* response, const CancelCheck& cancel);
  absl::Status GetModel(const Caller& caller, const v1::GetModelRequest& request,
                        v1::GetModelResponse* response) const;
  absl::Status ListModels(const Caller& caller, const v1::ListModelsRequest& request,
                          v1::ListModelsResponse* response) const;
  absl::Status DeleteModel(const Caller& caller, const v1::DeleteModelRequest& request,
                           v1::DeleteModelResponse* response);
  absl::StatusOr<Later> Predict(const Caller& caller, const v1::PredictRequest& request,
                                v1::PredictResponse* response) const;
  absl::StatusOr<StreamHandlerPtr> StreamPredictions(const Caller& caller, StreamCall& call) const;
  absl::Status SetServingModel(const Caller& caller, const v1::SetServingModelRequest& request,
                               v1::SetServingModelResponse* response);
  absl::Status RollBack(const Caller& caller, const v1::RollBackRequest& request,
                        v1::RollBackResponse* response);
  absl::Status GetEndpoint(const Caller& caller, const v1::GetEndpointRequest& request,
                           v1::GetEndpointResponse* response) const;
  absl::Status ListEndpoints(const Caller& caller, const v1::ListEndpointsRequest& request,
                             v1::ListEndpointsResponse* response) const;
  absl::Status DeleteEndpoint(const Caller& caller, const v1::DeleteEndpointRequest& request,
                              v1::DeleteEndpointResponse* response);

 private:
  storage::Store& store_;
  curator::Studies& studies_;
  models::Models& models_;
  models::Endpoints& endpoints_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_MODEL_HANDLERS_H_
