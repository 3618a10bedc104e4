// ModelService over all models, and over Studies, which build some. Building and predicting run on
// the worker pool. Rows to predict are neither kept nor logged, and no error quotes a value of
// theirs.
//
// Errors     those of Studies and Models, and InvalidArgument that names the field.
// Threads    safe to share. `studies`, `models` and `pool` must outlive the server.

#ifndef COPPICE_SERVER_SERVICE_MODEL_SERVICE_H_
#define COPPICE_SERVER_SERVICE_MODEL_SERVICE_H_

#include "coppice/v1/model.grpc.pb.h"
#include "server/curator/studies.h"
#include "server/models/models.h"
#include "server/service/worker_pool.h"

namespace coppice {

class ModelServiceImpl final : public v1::ModelService::CallbackService {
 public:
  static constexpr int kMaxRowsPerPredict = 10000;

  ModelServiceImpl(Studies& studies, const Models& models, WorkerPool& pool)
      : studies_(studies), models_(models), pool_(pool) {}

  grpc::ServerUnaryReactor* BuildModel(grpc::CallbackServerContext* context,
                                       const v1::BuildModelRequest* request,
                                       v1::BuildModelResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override;
  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context,
                                    const v1::PredictRequest* request,
                                    v1::PredictResponse* response) override;

 private:
  Studies& studies_;
  const Models& models_;
  WorkerPool& pool_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_SERVICE_MODEL_SERVICE_H_
