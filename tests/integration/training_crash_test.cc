// SIGKILL at random while jobs are submitted, trained and cancelled: the ledger never shows less
// than what was released, a job ends once, no model is there without its charge, and the spending
// journal is never ahead of the store.
//
// Kills COPPICE_KILLS times (40 if not set).

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.grpc.pb.h"
#include "coppice/v1/model.grpc.pb.h"
#include "coppice/v1/training.grpc.pb.h"
#include "tests/integration/daemon.h"
#include "tests/support/counter.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Counter;
using ::coppice::testing::Daemon;
using ::coppice::testing::Eventually;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kEpsilon = 1'000'000'000;  // per job
constexpr uint64_t kCap = 1000 * kEpsilon;

int Kills() {
  const char* const text = std::getenv("COPPICE_KILLS");
  return text == nullptr ? 40 : std::atoi(text);
}

class Client {
 public:
  explicit Client(const Daemon& daemon)
      : channel_(*Connect(daemon.connection())),
        datasets_(v1::DatasetService::NewStub(channel_)),
        training_(v1::TrainingService::NewStub(channel_)),
        models_(v1::ModelService::NewStub(channel_)) {}

  // Submits a job; returns whether it was acknowledged.
  bool Submit(int number) {
    v1::SubmitJobRequest request;
    request.set_request_id(StrCat("r", number));
    request.set_job_id(StrCat("j", number));
    request.mutable_spec()->set_dataset("datasets/d");
    request.mutable_spec()->set_algorithm(number % 3 == 0 ? "diprime" : "spe");
    request.mutable_spec()->set_epsilon_nanos(kEpsilon);
    (*request.mutable_spec()->mutable_settings())["depth"] = number % 5 == 0 ? "12" : "3";
    v1::SubmitJobResponse response;
    return Call([&](grpc::ClientContext& context) {
      return training_->SubmitJob(&context, request, &response);
    });
  }

  void Cancel(int number) {
    v1::CancelJobRequest request;
    request.set_name(StrCat("jobs/j", number));
    v1::CancelJobResponse response;
    Call([&](grpc::ClientContext& context) {
      return training_->CancelJob(&context, request, &response);
    });
  }

  v1::Dataset GetDataset() {
    v1::GetDatasetRequest request;
    request.set_name("datasets/d");
    v1::GetDatasetResponse response;
    EXPECT_TRUE(Call([&](grpc::ClientContext& context) {
      return datasets_->GetDataset(&context, request, &response);
    }));
    return response.dataset();
  }

  v1::Job GetJob(const std::string& name) {
    v1::GetJobRequest request;
    request.set_name(name);
    v1::GetJobResponse response;
    EXPECT_TRUE(Call([&](grpc::ClientContext& context) {
      return training_->GetJob(&context, request, &response);
    })) << name;
    return response.job();
  }

  // Its name is empty if there is no such model.
  v1::Model GetModel(const std::string& name) {
    v1::GetModelRequest request;
    request.set_name(name);
    v1::GetModelResponse response;
    Call([&](grpc::ClientContext& context) {
      return models_->GetModel(&context, request, &response);
    });
    return response.model();
  }

 private:
  template <typename Rpc>
  static bool Call(Rpc rpc) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    return rpc(context).ok();
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DatasetService::Stub> datasets_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  std::unique_ptr<v1::ModelService::Stub> models_;
};

// What the ledger says about one job.
struct Account {
  int reserved = 0, settled = 0, returned = 0;
  uint64_t cost = 0;
  std::vector<std::string> released;
};

std::vector<std::string> Texts(const google::protobuf::RepeatedPtrField<v1::Release>& releases) {
  std::vector<std::string> texts;
  for (const v1::Release& release : releases) texts.push_back(release.SerializeAsString());
  return texts;
}

std::map<std::string, Account> AccountsOf(const v1::Dataset& dataset) {
  std::map<std::string, Account> accounts;
  for (const v1::LedgerEntry& entry : dataset.ledger()) {
    if (entry.kind() == v1::LEDGER_ENTRY_KIND_OPENED) continue;
    Account& account = accounts[entry.job()];
    account.reserved += entry.kind() == v1::LEDGER_ENTRY_KIND_RESERVED;
    account.settled += entry.kind() == v1::LEDGER_ENTRY_KIND_SETTLED;
    account.returned += entry.kind() == v1::LEDGER_ENTRY_KIND_RETURNED;
    if (entry.kind() == v1::LEDGER_ENTRY_KIND_RESERVED) {
      account.cost = entry.cost().epsilon_nanos();
    }
    if (entry.kind() == v1::LEDGER_ENTRY_KIND_SETTLED) account.released = Texts(entry.releases());
  }
  return accounts;
}

// Checks everything that must hold at any moment, given the acknowledged submissions. Jobs go on
// meanwhile, so the ledger is read after the models whose charges it must have.
void CheckBooks(Client& client, const std::set<int>& acknowledged) {
  const v1::Dataset dataset = client.GetDataset();
  const std::map<std::string, Account> accounts = AccountsOf(dataset);
  uint64_t charged = 0;
  std::map<std::string, std::vector<std::string>> models;
  for (const auto& [name, account] : accounts) {
    EXPECT_EQ(account.reserved, 1) << name;
    EXPECT_LE(account.settled + account.returned, 1) << name;
    if (account.returned == 0) charged += account.cost;
    const v1::Job job = client.GetJob(name);
    const v1::Model model = client.GetModel(job.model());
    if (job.state() == v1::JOB_STATE_DONE) {
      EXPECT_NE(model.name(), "") << name;
    }
    if (job.state() > v1::JOB_STATE_DONE) {
      EXPECT_EQ(model.name(), "") << name;
    }
    if (!model.name().empty()) models[name] = Texts(model.certificate().releases());
  }
  EXPECT_EQ(dataset.spent().epsilon_nanos(), charged);
  EXPECT_LE(charged, kCap);
  EXPECT_EQ(dataset.hold(), v1::LEDGER_HOLD_UNSPECIFIED) << "store and spending journal disagree";
  std::map<std::string, Account> later = AccountsOf(client.GetDataset());
  for (const auto& [name, releases] : models) EXPECT_EQ(releases, later[name].released) << name;
  for (const int number : acknowledged) {
    EXPECT_TRUE(accounts.contains(StrCat("jobs/j", number))) << number;
  }
}

TEST(TrainingCrashTest, SigkillAtRandomLeavesTheBooksRight) {
  const TempDir folder;
  Daemon daemon(folder.path());
  daemon.AddFlags({"--spending-journal", folder.path() + "/journal"});
  ASSERT_TRUE(daemon.Start());
  Synthesize(folder.path() + "/rows", "private=3000,public=1,test=1");
  daemon.CoppiceJson({"dataset", "create", "--dataset", "d", "--data",
                      folder.path() + "/rows/private.csv", "--schema",
                      folder.path() + "/rows/schema.json", "--epsilon-total", "1000"});
  std::mt19937 random(std::random_device{}());
  std::set<int> acknowledged;
  int number = 0;
  for (int kill = 0; kill < Kills(); ++kill) {
    // A daemon lives until it has answered so many submissions, however long they take, and then
    // for a random part of what one took.
    const int enough = 1 + static_cast<int>(random() % 20);
    const double part = std::uniform_real_distribution<double>(0, 1)(random);
    const Clock::time_point began = Clock::now();
    Counter answers;
    std::atomic<bool> killed = false;
    std::thread killer([&] {
      answers.Await(enough);
      std::this_thread::sleep_for((Clock::now() - began) * part / enough);
      killed = true;
      daemon.Kill();
    });
    Client client(daemon);
    while (!killed) {
      ++number;
      if (client.Submit(number)) acknowledged.insert(number);
      if (random() % 4 == 0) client.Cancel(number);
      answers.Raise();
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    }
    killer.join();
    ASSERT_TRUE(daemon.Start());
    Client after(daemon);
    CheckBooks(after, acknowledged);
    if (HasFailure()) return;
  }
  // Queued jobs still run; then none is left open.
  Client client(daemon);
  for (const auto& [name, account] : AccountsOf(client.GetDataset())) {
    ASSERT_TRUE(Eventually([&] { return client.GetJob(name).state() >= v1::JOB_STATE_DONE; }));
  }
  CheckBooks(client, acknowledged);
  int done = 0;
  for (const auto& [name, account] : AccountsOf(client.GetDataset())) {
    EXPECT_EQ(account.settled + account.returned, 1) << name;
    done += client.GetJob(name).state() == v1::JOB_STATE_DONE;
  }
  EXPECT_GT(done, 0) << "of " << number << " submissions none was trained: nothing was tested";
}

}  // namespace
}  // namespace coppice
