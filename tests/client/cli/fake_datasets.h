// A DatasetService and a TrainingService in this process, controlled by the test.

#ifndef COPPICE_TESTS_CLIENT_CLI_FAKE_DATASETS_H_
#define COPPICE_TESTS_CLIENT_CLI_FAKE_DATASETS_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/terminal/flags.h"
#include "common/base/text.h"
#include "coppice/v1/dataset.grpc.pb.h"
#include "coppice/v1/training.grpc.pb.h"
#include "tests/support/guarded.h"

namespace coppice::testing {

// Keeps one dataset. Stores each message of a stream as it comes.
class FakeDatasets final : public v1::DatasetService::Service {
 public:
  grpc::Status CreateDataset(grpc::ServerContext*, const v1::CreateDatasetRequest* request,
                             v1::CreateDatasetResponse* response) override {
    const std::lock_guard lock(mutex);
    created = *request;
    const std::string id = request->dataset_id().empty() ? "d1" : request->dataset_id();
    dataset.set_name("datasets/" + id);
    dataset.set_state(v1::DATASET_STATE_UPLOADING);
    *dataset.mutable_schema() = request->schema();
    *dataset.mutable_cap() = request->cap();
    *response->mutable_dataset() = dataset;
    return grpc::Status::OK;
  }

  grpc::Status UploadRows(grpc::ServerContext*, grpc::ServerReader<v1::UploadRowsRequest>* reader,
                          v1::UploadRowsResponse* response) override {
    const std::lock_guard lock(mutex);
    const size_t stream = streams++;
    const int most = stream < stored_of_stream.size() ? stored_of_stream[stream] : 1 << 30;
    v1::UploadRowsRequest message;
    for (int stored = 0; reader->Read(&message); ++stored) {
      if (stored == most) return failure;
      const bool takes = dataset.state() == v1::DATASET_STATE_UPLOADING;
      if (!takes || message.first_row() != dataset.rows()) {
        return {grpc::StatusCode::FAILED_PRECONDITION, "not the next row"};
      }
      if (stored == 0) named.push_back(message.dataset());
      const v1::ColumnValues& column = message.rows().columns(0);
      first_column.insert(first_column.end(), column.values().begin(), column.values().end());
      labels.insert(labels.end(), message.rows().labels().begin(), message.rows().labels().end());
      targets.insert(targets.end(), message.rows().targets().begin(),
                     message.rows().targets().end());
      block_bytes.push_back(message.ByteSizeLong());
      dataset.set_rows(first_column.size());
      if (message.complete()) dataset.set_state(v1::DATASET_STATE_READY);
    }
    if (lose_answers > 0) {
      --lose_answers;
      return failure;
    }
    *response->mutable_dataset() = dataset;
    return grpc::Status::OK;
  }

  grpc::Status GetDataset(grpc::ServerContext*, const v1::GetDatasetRequest* request,
                          v1::GetDatasetResponse* response) override {
    const std::lock_guard lock(mutex);
    if (request->name() != dataset.name()) return {grpc::StatusCode::NOT_FOUND, "no such dataset"};
    *response->mutable_dataset() = dataset;
    const auto all = static_cast<uint64_t>(dataset.ledger_size());
    response->mutable_dataset()->set_ledger_entries(all);
    if (pages_ledger) {
      auto& ledger = *response->mutable_dataset()->mutable_ledger();
      ledger.DeleteSubrange(0, static_cast<int>(std::min(all, request->first_entry())));
    }
    return grpc::Status::OK;
  }

  grpc::Status ListDatasets(grpc::ServerContext*, const v1::ListDatasetsRequest* request,
                            v1::ListDatasetsResponse* response) override {
    const std::lock_guard lock(mutex);
    const bool first = request->page_token().empty();
    response->add_datasets()->set_name(first ? "datasets/a" : "datasets/b");
    if (first) response->set_next_page_token("a");
    return grpc::Status::OK;
  }

  grpc::Status DeleteDataset(grpc::ServerContext*, const v1::DeleteDatasetRequest* request,
                             v1::DeleteDatasetResponse*) override {
    const std::lock_guard lock(mutex);
    deleted = request->name();
    return grpc::Status::OK;
  }

  std::recursive_mutex mutex;

  // Set by tests: after how many messages streams 0, 1, ... break, and how many streams are stored
  // whole but get no answer, and with which status.
  std::vector<int> stored_of_stream;
  int lose_answers = 0;
  bool pages_ledger = true;  // false acts as an older daemon, which sends every entry
  grpc::Status failure{grpc::StatusCode::UNAVAILABLE, "cut off"};

  v1::Dataset dataset;
  v1::CreateDatasetRequest created;
  size_t streams = 0;
  std::vector<std::string> named;  // by the first message of each stream
  std::vector<double> first_column, targets;
  std::vector<uint32_t> labels;
  std::vector<size_t> block_bytes;
  std::string deleted;
};

// Reports the states of one job.
class FakeTraining final : public v1::TrainingService::Service {
 public:
  grpc::Status ListAlgorithms(grpc::ServerContext*, const v1::ListAlgorithmsRequest*,
                              v1::ListAlgorithmsResponse* response) override {
    const std::lock_guard lock(mutex);
    *response = algorithms;
    return grpc::Status::OK;
  }
  grpc::Status PreviewJob(grpc::ServerContext*, const v1::PreviewJobRequest* request,
                          v1::PreviewJobResponse* response) override {
    const std::lock_guard lock(mutex);
    spec = request->spec();
    *response = preview;
    return grpc::Status::OK;
  }
  grpc::Status SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override {
    const std::lock_guard lock(mutex);
    submitted = *request;
    if (!submit_failure.ok()) return submit_failure;
    *response->mutable_job() = states.at(0);
    return grpc::Status::OK;
  }
  // Each stream first repeats the last state, as the service does, and breaks where a test says so.
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer) override {
    const std::lock_guard lock(mutex);
    watched = request->name();
    const size_t stream = streams++;
    const size_t end = stream < end_of_stream.size() ? end_of_stream[stream] : states.size();
    for (size_t i = now; i < end; ++i) {
      now = i;
      v1::WatchJobResponse response;
      *response.mutable_job() = states[i];
      writer->Write(response);
    }
    if (end == states.size()) return grpc::Status::OK;
    absl::SleepFor(stream_lasts);
    return watch_failure;
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::GetJobResponse* response) override {
    const std::lock_guard lock(mutex);
    if (request->name() != states.at(now).name()) return {grpc::StatusCode::NOT_FOUND, "no job"};
    *response->mutable_job() = states[now];
    return grpc::Status::OK;
  }
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    const std::lock_guard lock(mutex);
    listed = request->dataset();
    *response->add_jobs() = states.at(0);
    return grpc::Status::OK;
  }
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                         v1::CancelJobResponse* response) override {
    const std::lock_guard lock(mutex);
    cancelled = request->name();
    *response->mutable_job() = states.back();
    return grpc::Status::OK;
  }

  std::recursive_mutex mutex;
  v1::ListAlgorithmsResponse algorithms;
  v1::PreviewJobResponse preview;
  std::vector<v1::Job> states;  // in this order
  std::vector<size_t> end_of_stream;
  absl::Duration stream_lasts;  // before it breaks
  grpc::Status watch_failure{grpc::StatusCode::UNAVAILABLE, "cut off"};
  grpc::Status submit_failure;

  v1::JobSpec spec;
  v1::SubmitJobRequest submitted;
  size_t streams = 0, now = 0;
  std::string watched, listed, cancelled;
};

class FakeTrainingCurator {
 public:
  FakeTrainingCurator() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&datasets.unguarded());
    builder.RegisterService(&training.unguarded());
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return StrCat("127.0.0.1:", port_); }
  cli::ServerFlags flags() const {
    cli::ServerFlags flags;
    flags.connect = {.server = address(), .insecure = true};
    return flags;
  }
  // Returns `arguments` with the flags that lead to this curator.
  std::vector<std::string> Here(std::vector<std::string> arguments) const {
    for (const std::string& added : {std::string("--server"), address(), std::string("--insecure")})
      arguments.push_back(added);
    return arguments;
  }

  Guarded<FakeDatasets> datasets;
  Guarded<FakeTraining> training;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

inline v1::Job JobAt(v1::JobState state, double progress = 0) {
  v1::Job job;
  job.set_name("jobs/j1");
  job.set_model("models/m1");
  job.mutable_spec()->set_dataset("datasets/d1");
  job.mutable_spec()->set_algorithm("spe");
  job.set_state(state);
  job.set_progress(progress);
  job.mutable_cost()->set_epsilon_nanos(1'500'000'000);
  return job;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_CLI_FAKE_DATASETS_H_
