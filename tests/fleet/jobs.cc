#include "tests/fleet/jobs.h"

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::fleet_faults {
namespace {

constexpr uint64_t kEpsilon = 1'000'000'000;  // per job

void SetDeadline(grpc::ClientContext& context, absl::Duration after) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(after));
}

v1::SubmitJobRequest MakeRequest(int number) {
  v1::SubmitJobRequest request;
  request.set_request_id(StrCat("request", number));
  request.set_job_id(StrCat("job", number));
  request.mutable_spec()->set_dataset(StrCat("datasets/", Jobs::kDataset));
  request.mutable_spec()->set_algorithm("spe");
  request.mutable_spec()->set_epsilon_nanos(kEpsilon);
  (*request.mutable_spec()->mutable_settings())["depth"] = number % 4 == 0 ? "8" : "3";
  return request;
}

struct Account {
  int reserved = 0, settled = 0, returned = 0;
  uint64_t cost = 0;
};

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
  }
  return accounts;
}

}  // namespace

bool IsTransient(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
         status.error_code() == grpc::StatusCode::ABORTED ||
         // A server that shuts down answers so to a call that it has not begun.
         status.error_code() == grpc::StatusCode::CANCELLED;
}

void Jobs::Connect(const std::vector<std::shared_ptr<grpc::Channel>>& channels) {
  for (const auto& channel : channels) {
    stubs_.push_back({.datasets = v1::DatasetService::NewStub(channel),
                      .training = v1::TrainingService::NewStub(channel),
                      .models = v1::ModelService::NewStub(channel)});
  }
}

void Jobs::Run(uint64_t seed, const std::atomic<bool>& stopping) {
  std::mt19937_64 random(seed);
  while (!stopping) {
    const int number = next_++;
    if (number >= kMost) return;
    const v1::SubmitJobRequest request = MakeRequest(number);
    size_t through = random();
    while (!stopping) {
      grpc::ClientContext context;
      SetDeadline(context, absl::Seconds(2));
      v1::SubmitJobResponse response;
      const grpc::Status status =
          stubs_[++through % stubs_.size()].training->SubmitJob(&context, request, &response);
      if (status.ok()) {
        const std::lock_guard lock(mutex_);
        acknowledged_.insert("jobs/" + request.job_id());
        break;
      }
      if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ||
          status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) {
        if (status.error_message().find("another") == std::string::npos) break;
      }
      if (!IsTransient(status)) {
        witness_.Blame(StrCat("a job met error ", status.error_code(), ", which says not to ",
                              "try again: ", status.error_message()));
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 900));
  }
}

template <typename Response>
Status Jobs::Ask(absl::Time until, const std::function<void()>& meanwhile,
                 const std::function<grpc::Status(Stubs&, grpc::ClientContext&, Response*)>& call,
                 Response* response) {
  for (size_t through = 0;; ++through) {
    grpc::ClientContext context;
    SetDeadline(context, absl::Seconds(2));
    context.set_wait_for_ready(true);  // no other call makes the channel reconnect now
    const grpc::Status status = call(stubs_[through % stubs_.size()], context, response);
    if (status.ok()) return OkStatus();
    if (!IsTransient(status) || absl::Now() > until) {
      return {static_cast<StatusCode>(status.error_code()), status.error_message()};
    }
    meanwhile();
    absl::SleepFor(absl::Milliseconds(50));
  }
}

void Jobs::CheckLedger(const v1::Dataset& dataset) {
  const std::map<std::string, Account> accounts = AccountsOf(dataset);
  uint64_t charged = 0;
  for (const auto& [name, account] : accounts) {
    if (account.reserved != 1) {
      witness_.Blame(StrCat(name, " was charged ", account.reserved, " times"));
    }
    if (account.settled + account.returned > 1) witness_.Blame(name + " ended more than once");
    if (account.returned == 0) charged += account.cost;
  }
  if (charged > kCap * kEpsilon) {
    witness_.Blame(StrCat("the ledger has ", charged, " charged, above its cap"));
  }
  if (dataset.spent().epsilon_nanos() != charged) {
    witness_.Blame(StrCat("spent is ", dataset.spent().epsilon_nanos(),
                          " nanos, and the entries make ", charged));
  }
  const std::lock_guard lock(mutex_);
  for (const std::string& name : acknowledged_) {
    if (!accounts.contains(name)) {
      witness_.Blame(name + " was acknowledged, and the ledger has no charge of it");
    }
  }
}

Status Jobs::Check(absl::Duration patience, const std::function<void()>& meanwhile) {
  const absl::Time until = absl::Now() + patience;
  const auto ask_dataset = [](Stubs& stubs, grpc::ClientContext& context,
                              v1::GetDatasetResponse* response) {
    v1::GetDatasetRequest request;
    request.set_name(StrCat("datasets/", kDataset));
    return stubs.datasets->GetDataset(&context, request, response);
  };
  for (int number = 0; number < next_ && number < kMost; ++number) {
    const std::string name = StrCat("jobs/job", number);
    v1::GetJobResponse job;
    for (;;) {
      const Status asked = Ask<v1::GetJobResponse>(
          until, meanwhile,
          [&](Stubs& stubs, grpc::ClientContext& context, v1::GetJobResponse* response) {
            v1::GetJobRequest request;
            request.set_name(name);
            return stubs.training->GetJob(&context, request, response);
          },
          &job);
      if (asked.code() == StatusCode::kNotFound) {
        const std::lock_guard lock(mutex_);
        if (acknowledged_.contains(name)) {
          witness_.Blame(name + " was acknowledged, and is not there");
        }
        break;
      }
      if (!asked.ok()) return asked;
      if (job.job().state() >= v1::JOB_STATE_DONE) break;
      if (absl::Now() > until) {
        witness_.Blame(StrCat(name, " does not end; its state is ", job.job().state()));
        break;
      }
      meanwhile();
      absl::SleepFor(absl::Milliseconds(20));
    }
    if (job.job().state() != v1::JOB_STATE_DONE) continue;
    ++done_;
    v1::GetDatasetResponse response;
    const Status asked = Ask<v1::GetDatasetResponse>(until, meanwhile, ask_dataset, &response);
    if (!asked.ok()) return asked;
    const auto accounts = AccountsOf(response.dataset());
    const auto account = accounts.find(name);
    if (account == accounts.end() || account->second.settled != 1) {
      witness_.Blame(name + " gave a model, and the ledger has no settled charge of it");
    }
  }
  v1::GetDatasetResponse response;
  const Status asked = Ask<v1::GetDatasetResponse>(until, meanwhile, ask_dataset, &response);
  if (asked.ok()) CheckLedger(response.dataset());
  return asked;
}

}  // namespace coppice::fleet_faults
