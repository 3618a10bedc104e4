// ModelService over all models, over Studies, which build some, and over the endpoints that serve
// them. What takes long or writes runs on the worker pool; a few rows are predicted on the call's
// own thread, which is sooner than another one wakes. Rows to predict are neither kept nor logged,
// and no error quotes a value of theirs.
//
// Errors     those of Studies, Models and Endpoints, and InvalidArgument that names the field.
// Threads    safe to share. What it is made of must outlive the server. `store` holds the models.

#ifndef COPPICE_SERVER_SERVICE_MODEL_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_MODEL_HANDLERS_H_

#include "coppice/v1/model.grpc.pb.h"
#include "server/curator/studies/studies.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"
#include "server/service/calls/worker_pool.h"
#include "server/storage/store.h"

namespace coppice::service {

// Streams are read as bytes, so that a request that does not parse is told from their end.
using ModelServiceBase = v1::ModelService::WithCallbackMethod_BuildModel<
    v1::ModelService::WithCallbackMethod_GetModel<v1::ModelService::WithCallbackMethod_ListModels<
        v1::ModelService::WithCallbackMethod_DeleteModel<
            v1::ModelService::WithCallbackMethod_Predict<
                v1::ModelService::WithRawCallbackMethod_StreamPredictions<
                    v1::ModelService::WithCallbackMethod_SetServingModel<
                        v1::ModelService::WithCallbackMethod_RollBack<
                            v1::ModelService::WithCallbackMethod_GetEndpoint<
                                v1::ModelService::WithCallbackMethod_ListEndpoints<
                                    v1::ModelService::WithCallbackMethod_DeleteEndpoint<
                                        v1::ModelService::Service>>>>>>>>>>>;

class ModelServiceImpl final : public ModelServiceBase {
 public:
  ModelServiceImpl(storage::Store& store, curator::Studies& studies, models::Models& models,
                   models::Endpoints& endpoints, WorkerPool& pool, WorkerPool& builds)
      : store_(store),
        studies_(studies),
        models_(models),
        endpoints_(endpoints),
        pool_(pool),
        builds_(builds) {}

  grpc::ServerUnaryReactor* BuildModel(grpc::CallbackServerContext* context,
                                       const v1::BuildModelRequest* request,
                                       v1::BuildModelResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteModel(grpc::CallbackServerContext* context,
                                        const v1::DeleteModelRequest* request,
                                        v1::DeleteModelResponse* response) override;
  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context,
                                    const v1::PredictRequest* request,
                                    v1::PredictResponse* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StreamPredictions(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* SetServingModel(grpc::CallbackServerContext* context,
                                            const v1::SetServingModelRequest* request,
                                            v1::SetServingModelResponse* response) override;
  grpc::ServerUnaryReactor* RollBack(grpc::CallbackServerContext* context,
                                     const v1::RollBackRequest* request,
                                     v1::RollBackResponse* response) override;
  grpc::ServerUnaryReactor* GetEndpoint(grpc::CallbackServerContext* context,
                                        const v1::GetEndpointRequest* request,
                                        v1::GetEndpointResponse* response) override;
  grpc::ServerUnaryReactor* ListEndpoints(grpc::CallbackServerContext* context,
                                          const v1::ListEndpointsRequest* request,
                                          v1::ListEndpointsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteEndpoint(grpc::CallbackServerContext* context,
                                           const v1::DeleteEndpointRequest* request,
                                           v1::DeleteEndpointResponse* response) override;

 private:
  storage::Store& store_;
  curator::Studies& studies_;
  models::Models& models_;
  models::Endpoints& endpoints_;
  WorkerPool& pool_;
  WorkerPool& builds_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_MODEL_HANDLERS_H_
