// ModelService over all models, over Studies, which build some, and over the endpoints that serve
// them. What takes long or writes runs on the worker pool; a few rows are predicted on the call's
// own thread, which is sooner than another one wakes. Rows to predict are neither kept nor logged,
// and no error quotes a value of theirs.
//
// Errors     those of Studies, Models and Endpoints, and InvalidArgument that names the field.
// Threads    safe to share. What it is made of must outlive the server. `store` holds the models.

#ifndef COPPICE_SERVER_SERVICE_MODEL_SERVICE_H_
#define COPPICE_SERVER_SERVICE_MODEL_SERVICE_H_

#include "coppice/v1/model.grpc.pb.h"
#include "server/curator/studies.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"
#include "server/service/worker_pool.h"
#include "server/storage/store.h"

namespace coppice {

class ModelServiceImpl final : public v1::ModelService::CallbackService {
 public:
  ModelServiceImpl(Store& store, Studies& studies, Models& models, Endpoints& endpoints,
                   WorkerPool& pool)
      : store_(store), studies_(studies), models_(models), endpoints_(endpoints), pool_(pool) {}

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
  grpc::ServerBidiReactor<v1::StreamPredictionsRequest, v1::StreamPredictionsResponse>*
  StreamPredictions(grpc::CallbackServerContext* context) override;
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
  Store& store_;
  Studies& studies_;
  Models& models_;
  Endpoints& endpoints_;
  WorkerPool& pool_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_SERVICE_MODEL_SERVICE_H_
