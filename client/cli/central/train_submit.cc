#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/central/budget_flags.h"
#include "client/cli/central/commands.h"
#include "client/cli/central/dataset_upload.h"
#include "client/cli/central/train_watch.h"
#include "client/cli/tables/input_table.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/table/read_table.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/training.pb.h"

namespace coppice::cli {
namespace {

constexpr char kNone[] = "none";

struct SpecFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset, algorithm;
  std::optional<Budget> epsilon;
  std::string delta = "0";
  std::vector<std::string> settings;  // "key=value"
  uint64_t max_model_bytes = 0;
  std::string public_file;  // empty: the dataset's public rows; "none": none
  std::vector<std::string> missing;
};

std::string KeyOf(const std::string& setting) { return setting.substr(0, setting.find('=')); }

std::string CheckSetting(const std::string& setting) {
  const size_t equals = setting.find('=');
  const bool good = equals != std::string::npos && equals > 0 && equals + 1 < setting.size();
  return good ? "" : "needs KEY=VALUE, such as depth=4; see `coppice train algorithms`";
}

Status CheckKeysDiffer(const std::vector<std::string>& settings) {
  std::set<std::string> keys;
  for (const std::string& setting : settings) {
    if (keys.insert(KeyOf(setting)).second) continue;
    return InvalidArgumentError(StrCat("--set: gives ", KeyOf(setting), " twice"));
  }
  return OkStatus();
}

// Reads rows by the dataset's schema.
StatusOr<Table> ReadByDataset(const SpecFlags& flags, const Remote& remote, const std::string& file,
                              bool allow_unlabelled) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Dataset dataset,
                           GetDataset(remote, MakeName("datasets", flags.dataset)));
  COPPICE_ASSIGN_OR_RETURN(Schema schema, ParseSchema(dataset.schema()));
  return ReadInputTable(file, std::make_shared<const Schema>(std::move(schema)),
                        {.allow_unlabelled = allow_unlabelled && !dataset.schema().has_target(),
                         .format = {.missing = flags.missing}});
}

StatusOr<v1::JobSpec> SpecOf(const SpecFlags& flags, const Remote& remote) {
  v1::JobSpec spec;
  spec.set_dataset(MakeName("datasets", flags.dataset));
  spec.set_algorithm(flags.algorithm);
  spec.set_epsilon_nanos(flags.epsilon->nanos());
  spec.set_delta_atto(DeltaOf(flags.delta));
  spec.set_max_model_bytes(flags.max_model_bytes);
  for (const std::string& setting : flags.settings) {
    const std::string key = KeyOf(setting);
    (*spec.mutable_settings())[key] = setting.substr(key.size() + 1);
  }
  spec.set_without_public_rows(flags.public_file == kNone);
  if (flags.public_file.empty() || flags.public_file == kNone) return spec;
  COPPICE_ASSIGN_OR_RETURN(const Table rows, ReadByDataset(flags, remote, flags.public_file,
                                                           /*allow_unlabelled=*/false));
  *spec.mutable_public_rows() = BlockOf(rows, 0, rows.num_rows());
  return spec;
}

// Returns --public, which --missing belongs to.
Flag AddSpecFlags(const Command& verb, SpecFlags& flags) {
  AddIdFlag(verb, "--dataset", flags.dataset, "Id of the dataset");
  verb.Add("--algorithm", flags.algorithm, "What to train; `coppice train algorithms` lists them")
      .Required();
  AddBudgetFlag(verb, "--epsilon", flags.epsilon, "What the job costs in total").Required();
  AddDeltaFlag(verb, "--delta", flags.delta, "The same for delta; 0: pure differential privacy")
      .ShowDefault();
  verb.Add("--set", flags.settings, "KEY=VALUE: a parameter of the algorithm; may be repeated")
      .Takes("KEY=VALUE")
      .Check(CheckSetting, "");
  verb.Add("--max-model-bytes", flags.max_model_bytes,
           "Refuse the job before it is charged if its model might be larger; 0: the curator's "
           "limit")
      .Takes("N")
      .ShowDefault();
  const Flag public_rows =
      verb.Add("--public", flags.public_file,
               "Start from these public rows, CSV or LIBSVM, which nothing protects; - is stdin. "
               "none: start from no public rows (for a file of that name write ./none) (default: "
               "those that the dataset was created with, if any)")
          .Takes("FILE");
  AddOutputFlags(verb, flags.output);
  AddServerFlags(verb, flags.server);
  return public_rows;
}

void Warn(const google::protobuf::RepeatedPtrField<std::string>& warnings) {
  for (const std::string& warning : warnings) Note(StrCat("warning: ", warning));
}

// ---- preview

struct PreviewJobFlags : SpecFlags {
  std::string data_file;
};

// What always answering the most frequent class, or the mean, achieves on the caller's rows. They
// are read with the dataset's schema, and not sent.
StatusOr<Json> BaselineOn(const PreviewJobFlags& flags, const Remote& remote) {
  COPPICE_ASSIGN_OR_RETURN(
      const Table rows, ReadByDataset(flags, remote, flags.data_file, /*allow_unlabelled=*/true));
  if (rows.num_rows() == 0) return InvalidArgumentError("--data: the file has no row");
  if (rows.schema().target()) {
    const MeanAnswer mean = MeanAnswerFor(rows.targets());
    return Json{{"mean", mean.rmse}, {"mean_value", mean.value}};
  }
  const Majority majority = MajorityOf(rows.labels(), rows.schema().num_classes());
  return Json{{"majority", majority.share},
              {"majority_class", rows.schema().classes()[majority.label]}};
}

Status Preview(const PreviewJobFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::PreviewJobRequest request;
  COPPICE_ASSIGN_OR_RETURN(*request.mutable_spec(), SpecOf(flags, remote));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::PreviewJobResponse>(request));
  Json json = DescribePreview(response);
  if (flags.data_file.empty()) {
    Note(
        "How good always answering the most frequent class, or the mean, would be on this dataset "
        "cannot be told without spending epsilon. With --data FILE, rows like the dataset's, you "
        "see it for those rows; they are not sent.");
  } else {
    COPPICE_ASSIGN_OR_RETURN(const Json baseline, BaselineOn(flags, remote));
    json.update(baseline);
  }
  if (!flags.output.json) {
    Warn(response.warnings());
    PrintRows(json["releases"].get<std::vector<Json>>(), /*json=*/false);
    json.erase("releases");
    json.erase("warnings");
    std::cout << "\n";
  }
  PrintObject(json, flags.output.json);
  return OkStatus();
}

// ---- submit

struct SubmitFlags : SpecFlags {
  std::string job, model, request_id;
  bool wait = false;
};

// A job costs privacy: a user who does not know whether it was submitted must be able to repeat the
// request without paying twice.
Status WithRequestId(const Status& status, const std::string& request_id) {
  const bool unclear =
      status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
  if (!unclear) return status;
  return Status(status.code(),
                StrCat(status.message(), "; if you try again, add `--request-id ", request_id,
                       "`, so that the job is not paid for twice if it was accepted after all"));
}

Status Submit(const SubmitFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::SubmitJobRequest request;
  request.set_request_id(flags.request_id);
  if (flags.request_id.empty()) {
    COPPICE_ASSIGN_OR_RETURN(*request.mutable_request_id(), RandomHex(16));
  }
  request.set_job_id(flags.job);
  request.set_model_id(flags.model);
  COPPICE_ASSIGN_OR_RETURN(*request.mutable_spec(), SpecOf(flags, remote));
  const auto response = remote.Call<v1::SubmitJobResponse>(request);
  if (!response.ok()) return WithRequestId(response.status(), request.request_id());
  const v1::Job& job = response->job();
  Warn(job.warnings());
  if (!flags.wait) {
    PrintJob(job, flags.output.json);
    return OkStatus();
  }
  Note(StrCat("queued as job ", IdOf(job.name())));
  return WatchJob(remote, job.name(), flags.output.json);
}

}  // namespace

void AddTrainPreview(const Command& noun) {
  const auto flags = std::make_shared<PreviewJobFlags>();
  const Command verb =
      noun.AddCommand("preview", "Show what a job would cost, and whether the budget allows it",
                      "coppice train preview --dataset d-7b1e --algorithm spe --epsilon 1");
  AddSpecFlags(verb, *flags);
  verb.Add("--data", flags->data_file,
           "Rows like the dataset's, CSV or LIBSVM; they are not sent. Shows how good always "
           "answering their most frequent class, or their mean, would be; - is stdin")
      .Takes("FILE");
  verb.Add("--missing", flags->missing,
           "Texts that stand for a missing value in --data and --public besides the empty one, by "
           "commas: NA,?")
      .SplitAt(',');
  verb.CheckFlags([flags] { return CheckKeysDiffer(flags->settings); });
  SetAction(verb, flags, Preview);
}

void AddTrainSubmit(const Command& noun) {
  const auto flags = std::make_shared<SubmitFlags>();
  const Command verb = noun.AddCommand(
      "submit", "Charge a job's cost to the dataset's budget, and queue the job",
      "coppice train submit --dataset d-7b1e --algorithm spe --epsilon 1 --set depth=4 "
      "--wait");
  const Flag public_rows = AddSpecFlags(verb, *flags);
  verb.Add("--missing", flags->missing,
           "Texts that stand for a missing value in --public besides the empty one, by commas: "
           "NA,?")
      .SplitAt(',')
      .Needs(public_rows);
  AddIdFlag(verb, "--job", flags->job, "Id of the new job (default: the curator's choice)",
            /*required=*/false);
  AddIdFlag(verb, "--model", flags->model, "Id of the model that it makes (default: the job's)",
            /*required=*/false);
  verb.Add("--request-id", flags->request_id,
           "A text of your choice, 1 to 128 characters; repeating it returns the job that it "
           "created (default: a new one)")
      .Check([](const std::string& id) {
        return !id.empty() && id.size() <= 128 ? "" : "needs 1 to 128 characters";
      });
  verb.AddSwitch("--wait", flags->wait, "Wait for the job to end");
  verb.CheckFlags([flags] { return CheckKeysDiffer(flags->settings); });
  SetAction(verb, flags, Submit);
}

}  // namespace coppice::cli
