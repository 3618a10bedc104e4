#include "client/cli/central/train.h"

#include <iostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/central/describe_job.h"
#include "client/cli/central/train_submit.h"
#include "client/cli/central/train_watch.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"

namespace coppice::cli {
namespace {

// ---- algorithms

struct AlgorithmsFlags {
  ServerFlags server;
  OutputFlags output;
  std::string algorithm;
};

absl::Status Algorithms(const AlgorithmsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  const v1::ListAlgorithmsRequest request;
  v1::ListAlgorithmsResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.training().ListAlgorithms(&context, request, &response);
  }));
  std::vector<std::string> names, texts;
  for (const v1::Algorithm& algorithm : response.algorithms()) {
    names.push_back(algorithm.name());
    if (!flags.algorithm.empty() && algorithm.name() != flags.algorithm) continue;
    texts.push_back(flags.output.json ? JsonLine(DescribeAlgorithm(algorithm)) + "\n"
                                      : AlgorithmText(algorithm));
  }
  if (texts.empty() && !flags.algorithm.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no algorithm ", flags.algorithm,
                                            "; there are ", absl::StrJoin(names, ", ")));
  }
  PrintText(absl::StrJoin(texts, flags.output.json ? "" : "\n"));
  return absl::OkStatus();
}

void AddAlgorithms(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<AlgorithmsFlags>();
  CLI::App* verb = AddVerb(noun, "algorithms", "Say what can be trained, and with what parameters",
                           "coppice train algorithms --algorithm spe");
  verb->add_option("--algorithm", flags->algorithm, "Only this one");
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, Algorithms);
}

// ---- list

struct ListFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
};

absl::Status List(const ListFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListJobsRequest request;
  if (!flags.dataset.empty()) request.set_dataset(MakeName("datasets", flags.dataset));
  do {
    v1::ListJobsResponse page;
    COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
      return remote.training().ListJobs(&context, request, &page);
    }));
    for (const v1::Job& job : page.jobs()) rows.push_back(DescribeJobBriefly(job));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  PrintRows(rows, flags.output.json);
  return absl::OkStatus();
}

void AddList(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ListFlags>();
  CLI::App* verb = AddVerb(noun, "list", "List jobs", "coppice train list --dataset d-7b1e --json");
  AddIdFlag(*verb, "--dataset", flags->dataset, "Only the jobs on this dataset",
            /*required=*/false);
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, List);
}

// ---- show, watch, cancel

struct OneJobFlags {
  ServerFlags server;
  OutputFlags output;
  std::string job;
};

absl::Status Show(const OneJobFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetJobRequest request;
  request.set_name(MakeName("jobs", flags.job));
  v1::GetJobResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.training().GetJob(&context, request, &response);
  }));
  PrintObject(DescribeJob(response.job()), flags.output.json);
  return absl::OkStatus();
}

absl::Status Watch(const OneJobFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  return WatchJob(remote, MakeName("jobs", flags.job), flags.output.json);
}

absl::Status Cancel(const OneJobFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::CancelJobRequest request;
  request.set_name(MakeName("jobs", flags.job));
  v1::CancelJobResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.training().CancelJob(&context, request, &response);
  }));
  PrintObject(DescribeJob(response.job()), flags.output.json);
  return absl::OkStatus();
}

void AddOneJobVerb(CLI::App& noun, Action& action, const std::string& name,
                   const std::string& description, absl::Status (*run)(const OneJobFlags&)) {
  const auto flags = std::make_shared<OneJobFlags>();
  CLI::App* verb = AddVerb(noun, name, description, "coppice train " + name + " --job j-30d5");
  AddIdFlag(*verb, "--job", flags->job, "Id of the job");
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, run);
}

}  // namespace

void AddTrainCommands(CLI::App& app, Action& action) {
  CLI::App* noun =
      app.add_subcommand("train", "Training: private models of datasets that the curator holds");
  noun->require_subcommand(1);
  AddAlgorithms(*noun, action);
  AddTrainPreview(*noun, action);
  AddTrainSubmit(*noun, action);
  AddOneJobVerb(*noun, action, "watch",
                "Follow a job till it has ended; fails unless it ended well", Watch);
  AddList(*noun, action);
  AddOneJobVerb(*noun, action, "show", "Show a job as it is now", Show);
  AddOneJobVerb(*noun, action, "cancel",
                "End a job; one that is still queued gets its cost back, one that runs does not",
                Cancel);
}

}  // namespace coppice::cli
