#include <iostream>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/central/budget_flags.h"
#include "client/cli/central/commands.h"
#include "client/cli/central/describe_job.h"
#include "client/cli/central/train_watch.h"
#include "client/cli/terminal/describe.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "client/collector/collector_call.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "coppice/v1/training.pb.h"

namespace coppice::cli {
namespace {

struct SpecFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset, algorithm, epsilon;
  std::string delta = "0";
  std::vector<std::string> settings;  // "key=value"
};

std::string KeyOf(const std::string& setting) { return setting.substr(0, setting.find('=')); }

std::string CheckSetting(const std::string& setting) {
  const size_t equals = setting.find('=');
  const bool good = equals != std::string::npos && equals > 0 && equals + 1 < setting.size();
  return good ? "" : "wants KEY=VALUE, such as depth=4; see `coppice train algorithms`";
}

absl::Status CheckKeysDiffer(const std::vector<std::string>& settings) {
  std::set<std::string> keys;
  for (const std::string& setting : settings) {
    if (keys.insert(KeyOf(setting)).second) continue;
    return absl::InvalidArgumentError(absl::StrCat("--set: gives ", KeyOf(setting), " twice"));
  }
  return absl::OkStatus();
}

v1::JobSpec SpecOf(const SpecFlags& flags) {
  v1::JobSpec spec;
  spec.set_dataset(MakeName("datasets", flags.dataset));
  spec.set_algorithm(flags.algorithm);
  spec.set_epsilon_nanos(EpsilonOf(flags.epsilon).nanos());
  spec.set_delta_atto(DeltaOf(flags.delta));
  for (const std::string& setting : flags.settings) {
    const std::string key = KeyOf(setting);
    (*spec.mutable_settings())[key] = setting.substr(key.size() + 1);
  }
  return spec;
}

void AddSpecFlags(const Command& verb, SpecFlags& flags) {
  AddIdFlag(verb, "--dataset", flags.dataset, "Id of the dataset");
  verb.Add("--algorithm", flags.algorithm, "What to train; `coppice train algorithms` lists them")
      .Required();
  AddBudgetFlag(verb, "--epsilon", flags.epsilon, "What the job costs in all").Required();
  AddDeltaFlag(verb, "--delta", flags.delta, "The same for delta; 0: pure differential privacy")
      .ShowDefault();
  verb.Add("--set", flags.settings, "KEY=VALUE: a parameter of the algorithm; repeatable")
      .Takes("KEY=VALUE")
      .Check(CheckSetting, "");
  AddOutputFlags(verb, flags.output);
  AddServerFlags(verb, flags.server);
}

void Warn(const google::protobuf::RepeatedPtrField<std::string>& warnings) {
  for (const std::string& warning : warnings) Note(absl::StrCat("warning: ", warning));
}

// ---- preview

absl::Status Preview(const SpecFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::PreviewJobRequest request;
  *request.mutable_spec() = SpecOf(flags);
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::PreviewJobResponse>(request));
  Json json = DescribePreview(response);
  if (!flags.output.json) {
    Warn(response.warnings());
    PrintRows(json["releases"].get<std::vector<Json>>(), /*json=*/false);
    json.erase("releases");
    json.erase("warnings");
    std::cout << "\n";
  }
  PrintObject(json, flags.output.json);
  return absl::OkStatus();
}

// ---- submit

struct SubmitFlags : SpecFlags {
  std::string job, model, request_id;
  bool wait = false;
};

// A job costs privacy: whoever does not know whether it was taken must be able to ask again
// without paying twice.
absl::Status WithRequestId(const absl::Status& status, const std::string& request_id) {
  const bool unclear = status.code() == absl::StatusCode::kUnavailable ||
                       status.code() == absl::StatusCode::kDeadlineExceeded;
  if (!unclear) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "; if you try again, add `--request-id ", request_id,
                   "`: should the job have been taken after all, it is not paid for twice"));
}

absl::Status Submit(const SubmitFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::SubmitJobRequest request;
  request.set_request_id(flags.request_id);
  if (flags.request_id.empty()) {
    COPPICE_ASSIGN_OR_RETURN(*request.mutable_request_id(), RandomHex(16));
  }
  request.set_job_id(flags.job);
  request.set_model_id(flags.model);
  *request.mutable_spec() = SpecOf(flags);
  const auto response = remote.Call<v1::SubmitJobResponse>(request);
  if (!response.ok()) return WithRequestId(response.status(), request.request_id());
  const v1::Job& job = response->job();
  Warn(job.warnings());
  if (!flags.wait) {
    PrintJob(job, flags.output.json);
    return absl::OkStatus();
  }
  Note(absl::StrCat("queued as job ", IdOf(job.name())));
  return WatchJob(remote, job.name(), flags.output.json);
}

}  // namespace

void AddTrainPreview(const Command& noun) {
  const auto flags = std::make_shared<SpecFlags>();
  const Command verb =
      noun.AddCommand("preview", "Show what a job would cost, and whether the budget allows it",
                      "coppice train preview --dataset d-7b1e --algorithm spe --epsilon 1");
  AddSpecFlags(verb, *flags);
  verb.CheckFlags([flags] { return CheckKeysDiffer(flags->settings); });
  SetAction(verb, flags, Preview);
}

void AddTrainSubmit(const Command& noun) {
  const auto flags = std::make_shared<SubmitFlags>();
  const Command verb = noun.AddCommand(
      "submit", "Take a job's cost out of the dataset's budget, and queue it",
      "coppice train submit --dataset d-7b1e --algorithm spe --epsilon 1 --set depth=4 "
      "--wait");
  AddSpecFlags(verb, *flags);
  AddIdFlag(verb, "--job", flags->job, "Id of the new job (default: the curator's choice)",
            /*required=*/false);
  AddIdFlag(verb, "--model", flags->model, "Id of the model that it makes (default: the job's)",
            /*required=*/false);
  verb.Add("--request-id", flags->request_id,
           "Of your choice, 1 to 128 characters: repeating it returns the job that it "
           "made (default: a new one)")
      .Check([](const std::string& id) {
        return !id.empty() && id.size() <= 128 ? "" : "wants 1 to 128 characters";
      });
  verb.AddSwitch("--wait", flags->wait, "Then watch the job till it has ended");
  verb.CheckFlags([flags] { return CheckKeysDiffer(flags->settings); });
  SetAction(verb, flags, Submit);
}

}  // namespace coppice::cli
