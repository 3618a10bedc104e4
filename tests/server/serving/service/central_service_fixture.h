// DatasetService and TrainingService over a store in memory and a fake trainer, over a real socket.

#ifndef COPPICE_TESTS_SERVER_SERVING_SERVICE_CENTRAL_SERVICE_FIXTURE_H_
#define COPPICE_TESTS_SERVER_SERVING_SERVICE_CENTRAL_SERVICE_FIXTURE_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.grpc.pb.h"
#include "coppice/v1/training.grpc.pb.h"
#include "server/serving/grpc/services.h"
#include "server/serving/service/handlers.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/server/serving/service/fake_studies.h"
#include "tests/server/serving/service/service_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::testing {

class CentralServiceTest : public ::testing::Test {
 protected:
  CentralServiceTest() {
    central_ = *OpenCentral(store_, {&trainer_});
    endpoints_ = *models::Endpoints::Open(store_, *central_.models, [] { return 5; });
    const auto find_caller = [this](const grpc::CallbackServerContext&, std::string_view) {
      const std::lock_guard lock(caller_mutex_);
      return caller_;
    };
    dataset_handlers_ = std::make_unique<service::DatasetHandlers>(
        *central_.datasets, *central_.jobs, *central_.evaluations, guard_);
    training_handlers_ = std::make_unique<service::TrainingHandlers>(
        *central_.datasets, *central_.jobs, *central_.evaluations);
    dataset_handlers_->Register(registry_);
    training_handlers_->Register(registry_);
    services_ = std::make_unique<rpc::Services>(registry_,
                                                service::Lanes{.pool = pool_,
                                                               .builds = pool_,
                                                               .previews = previews_,
                                                               .plans = pool_,
                                                               .openings = pool_,
                                                               .evaluations = pool_,
                                                               .intake = intake_},
                                                find_caller);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    services_->RegisterWith(builder);
    server_ = builder.BuildAndStart();
    channel_ = grpc::CreateChannel(StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
    datasets_ = v1::DatasetService::NewStub(channel_);
    training_ = v1::TrainingService::NewStub(channel_);
  }
  ~CentralServiceTest() override {
    trainer_.Let();
    central_.jobs->Drain(absl::Now());
    server_->Shutdown();
  }

  // Sets the caller of later calls.
  void CallAs(owners::Caller caller) {
    const std::lock_guard lock(caller_mutex_);
    caller_ = std::move(caller);
  }

  static v1::CreateDatasetRequest CreateRequest(const std::string& id) {
    v1::CreateDatasetRequest request;
    request.set_request_id(StrCat("request of ", id));
    request.set_dataset_id(id);
    *request.mutable_schema() = ToProto(*CentralSchema());
    request.mutable_cap()->set_epsilon_nanos(10 * kEpsilon);
    request.mutable_cap()->set_composition(v1::COMPOSITION_BASIC);
    request.mutable_cap()->set_neighbours(v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
    return request;
  }
  grpc::Status Create(const v1::CreateDatasetRequest& request) {
    grpc::ClientContext context;
    v1::CreateDatasetResponse response;
    const grpc::Status status = datasets_->CreateDataset(&context, request, &response);
    dataset_ = response.dataset();
    return status;
  }
  grpc::Status Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetDatasetRequest request;
    request.set_name(name);
    v1::GetDatasetResponse response;
    const grpc::Status status = datasets_->GetDataset(&context, request, &response);
    dataset_ = response.dataset();
    return status;
  }
  // Uploads in one stream. A failed write is not an error: the status says why.
  grpc::Status Upload(const std::vector<v1::UploadRowsRequest>& messages) {
    grpc::ClientContext context;
    v1::UploadRowsResponse response;
    const auto writer = datasets_->UploadRows(&context, &response);
    for (const v1::UploadRowsRequest& message : messages) {
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    dataset_ = response.dataset();
    return status;
  }
  static v1::UploadRowsRequest Rows(const std::string& dataset, uint64_t first, int rows,
                                    bool complete = false) {
    v1::UploadRowsRequest message;
    message.set_dataset(dataset);
    message.set_first_row(first);
    if (rows > 0) *message.mutable_rows() = Block(rows);
    message.set_complete(complete);
    return message;
  }

  std::mutex caller_mutex_;
  owners::Caller caller_ = owners::Caller::Operator();  // guarded by caller_mutex_
  FakeTrainer trainer_;
  MemoryStore store_;
  Central central_;
  FakeStudies studies_;
  std::unique_ptr<models::Endpoints> endpoints_;
  const service::ResourceGuard guard_{[this](std::string_view kind, std::string_view id) {
    return service::MakeResourceFinder(studies_, *central_.datasets, *central_.jobs,
                                       *central_.evaluations, *central_.models,
                                       *endpoints_)(kind, id);
  }};
  service::WorkerPool pool_{2, 16};
  service::WorkerPool previews_{1, 16};
  service::MessageIntake intake_;
  std::unique_ptr<service::DatasetHandlers> dataset_handlers_;
  std::unique_ptr<service::TrainingHandlers> training_handlers_;
  service::HandlerRegistry registry_{guard_};
  std::unique_ptr<rpc::Services> services_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DatasetService::Stub> datasets_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  v1::Dataset dataset_;  // from the last answer
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_SERVING_SERVICE_CENTRAL_SERVICE_FIXTURE_H_
