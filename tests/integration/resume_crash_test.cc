// SIGKILL at random while a job runs: it goes on, ends with the certificate that it was charged
// for, and the ledger has one charge of it.
//
// Kills COPPICE_KILLS times (5 if not set).

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "coppice/v1/dataset.grpc.pb.h"
#include "coppice/v1/model.grpc.pb.h"
#include "coppice/v1/training.grpc.pb.h"
#include "tests/integration/daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Eventually;
using ::coppice::testing::TempDir;

constexpr uint64_t kJobEpsilon = 1'000'000'000;

int KillsWanted() {
  const char* const text = std::getenv("COPPICE_KILLS");
  return text == nullptr ? 5 : std::atoi(text);
}

struct Algorithm {
  std::string name;
  uint64_t delta_atto = 0;
};
const std::vector<Algorithm> kAlgorithms = {
    {"auto"}, {"dpboost"}, {"spe"}, {"auto", 1'000'000'000'000}};

class Training {
 public:
  explicit Training(const Daemon& daemon)
      : channel_(*Connect(daemon.connection())),
        datasets_(v1::DatasetService::NewStub(channel_)),
        training_(v1::TrainingService::NewStub(channel_)),
        models_(v1::ModelService::NewStub(channel_)) {}

  void Submit(const std::string& id, const Algorithm& algorithm) {
    v1::SubmitJobRequest request;
    request.set_request_id(id);
    request.set_job_id(id);
    request.mutable_spec()->set_dataset("datasets/d");
    request.mutable_spec()->set_algorithm(algorithm.name);
    request.mutable_spec()->set_epsilon_nanos(kJobEpsilon);
    request.mutable_spec()->set_delta_atto(algorithm.delta_atto);
    v1::SubmitJobResponse response;
    Call([&](grpc::ClientContext& context) {
      return training_->SubmitJob(&context, request, &response);
    });
  }

  v1::Job GetJob(const std::string& id) {
    v1::GetJobRequest request;
    request.set_name("jobs/" + id);
    v1::GetJobResponse response;
    Call([&](grpc::ClientContext& context) {
      return training_->GetJob(&context, request, &response);
    });
    return response.job();
  }

  v1::Model GetModel(const std::string& id) {
    v1::GetModelRequest request;
    request.set_name("models/" + id);
    v1::GetModelResponse response;
    Call([&](grpc::ClientContext& context) {
      return models_->GetModel(&context, request, &response);
    });
    return response.model();
  }

  v1::Dataset GetDataset() {
    v1::GetDatasetRequest request;
    request.set_name("datasets/d");
    v1::GetDatasetResponse response;
    Call([&](grpc::ClientContext& context) {
      return datasets_->GetDataset(&context, request, &response);
    });
    return response.dataset();
  }

 private:
  template <typename Rpc>
  static void Call(Rpc rpc) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    const grpc::Status status = rpc(context);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DatasetService::Stub> datasets_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  std::unique_ptr<v1::ModelService::Stub> models_;
};

std::vector<std::string> ReleasesOf(const v1::Model& model) {
  std::vector<std::string> releases;
  for (v1::Release release : model.certificate().releases()) {
    release.clear_what();  // a plan says "at most", a certificate the number
    releases.push_back(release.SerializeAsString());
  }
  return releases;
}

class ResumeCrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    daemon_.AddFlags({"--spending-journal", folder_.path() + "/journal"});
    ASSERT_TRUE(daemon_.Start());
    WriteRows();
    daemon_.CoppiceJson({"dataset", "create", "--dataset", "d", "--data", folder_.path() + "/d.csv",
                         "--schema", folder_.path() + "/d.json", "--epsilon-total", "1000",
                         "--delta-total", "0.5"});
  }

  // So many that a job takes some ten checkpoints.
  void WriteRows() const {
    constexpr int kRows = 300'000, kFeatures = 8;
    std::mt19937 random(1);
    std::ofstream csv(folder_.path() + "/d.csv");
    std::ofstream schema(folder_.path() + "/d.json");
    schema << R"({"label": "y", "classes": ["0", "1"], "features": [)";
    for (int f = 0; f < kFeatures; ++f) {
      csv << "x" << f << ",";
      schema << (f > 0 ? "," : "") << R"({"name": "x)" << f
             << R"(", "type": "numeric", "min": 0, "max": 999})";
    }
    schema << "]}";
    csv << "y\n";
    for (int row = 0; row < kRows; ++row) {
      unsigned sum = 0;
      for (int f = 0; f < kFeatures; ++f) {
        const unsigned value = random() % 1000;
        if (f < 3) sum += value;
        csv << value << ",";
      }
      csv << (sum > 1500 ? "1\n" : "0\n");
    }
  }

  // Waits until the job has come further than `progress`, or has ended.
  v1::Job AwaitProgress(const std::string& id, double progress) {
    Training training(daemon_);
    v1::Job job;
    EXPECT_TRUE(Eventually([&] {
      job = training.GetJob(id);
      return job.state() >= v1::JOB_STATE_DONE ||
             (job.state() == v1::JOB_STATE_RUNNING && job.progress() > progress);
    }));
    return job;
  }

  const TempDir folder_;
  Daemon daemon_{folder_.path()};
};

// What a job shows of its progress is stored, so each kill of one job comes a step later.
TEST_F(ResumeCrashTest, KilledJobsGoOnAndAreChargedOnce) {
  std::mt19937 random(std::random_device{}());
  std::map<std::string, std::vector<std::string>> releases;  // by algorithm, of jobs left alone
  for (size_t a = 0; a < kAlgorithms.size(); ++a) {
    const std::string id = StrCat("alone", a);
    Training(daemon_).Submit(id, kAlgorithms[a]);
    ASSERT_EQ(AwaitProgress(id, 1).state(), v1::JOB_STATE_DONE) << kAlgorithms[a].name;
    releases[id] = ReleasesOf(Training(daemon_).GetModel(id));
  }
  int number = 0, kills = 0;
  for (; kills < KillsWanted(); ++number) {
    const std::string id = StrCat("j", number);
    const size_t a = static_cast<size_t>(number) % kAlgorithms.size();
    SCOPED_TRACE(StrCat(id, " of ", kAlgorithms[a].name));
    Training(daemon_).Submit(id, kAlgorithms[a]);
    double progress = std::uniform_real_distribution<double>(0, 0.5)(random);
    while (kills < KillsWanted()) {
      const v1::Job job = AwaitProgress(id, progress);
      if (job.state() >= v1::JOB_STATE_DONE) break;
      daemon_.Kill();
      ++kills;
      ASSERT_TRUE(daemon_.Start());
      progress = job.progress() + std::uniform_real_distribution<double>(0, 0.4)(random);
    }
    const v1::Job ended = AwaitProgress(id, 1);
    ASSERT_EQ(ended.state(), v1::JOB_STATE_DONE) << ended.reason();
    const v1::Model model = Training(daemon_).GetModel(id);
    EXPECT_EQ(ReleasesOf(model), releases[StrCat("alone", a)]);
  }
  const v1::Dataset dataset = Training(daemon_).GetDataset();
  uint64_t charged = 0;
  std::map<std::string, int> entries;
  for (const v1::LedgerEntry& entry : dataset.ledger()) {
    ++entries[entry.job()];
    if (entry.kind() == v1::LEDGER_ENTRY_KIND_RESERVED) charged += entry.cost().epsilon_nanos();
    EXPECT_NE(entry.kind(), v1::LEDGER_ENTRY_KIND_RETURNED);
  }
  entries.erase("");
  EXPECT_EQ(entries.size(), kAlgorithms.size() + static_cast<size_t>(number));
  for (const auto& [job, count] : entries) EXPECT_EQ(count, 2) << job << ": a charge and its end";
  EXPECT_EQ(dataset.spent().epsilon_nanos(), charged);
  EXPECT_EQ(dataset.hold(), v1::LEDGER_HOLD_UNSPECIFIED);
  std::cout << kills << " kills of " << number << " jobs\n";
}

// A stop is no crash: it may come as often as it likes.
TEST_F(ResumeCrashTest, AStoppedJobGoesOn) {
  Training(daemon_).Submit("j", {"dpboost"});
  double progress = 0;
  for (int stop = 0; stop < 2; ++stop) {
    const v1::Job job = AwaitProgress("j", progress);
    progress = job.progress();
    EXPECT_EQ(daemon_.Stop(), 0);
    ASSERT_TRUE(daemon_.Start());
  }
  EXPECT_EQ(AwaitProgress("j", 1).state(), v1::JOB_STATE_DONE);
}

}  // namespace
}  // namespace coppice
