#include <iostream>
#include <vector>

#include "client/cli/central/commands.h"
#include "client/cli/central/train_watch.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/training.pb.h"

namespace coppice::cli {
namespace {

// ---- algorithms

struct AlgorithmsFlags {
  ServerFlags server;
  OutputFlags output;
  std::string algorithm;
};

Status Algorithms(const AlgorithmsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  const v1::ListAlgorithmsRequest request;
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::ListAlgorithmsResponse>(request));
  std::vector<std::string> names, texts;
  for (const v1::Algorithm& algorithm : response.algorithms()) {
    names.push_back(algorithm.name());
    if (!flags.algorithm.empty() && algorithm.name() != flags.algorithm) continue;
    texts.push_back(flags.output.json ? JsonLine(DescribeAlgorithm(algorithm)) + "\n"
                                      : AlgorithmText(algorithm));
  }
  if (texts.empty() && !flags.algorithm.empty()) {
    return NotFoundError(
        StrCat("there is no algorithm ", flags.algorithm, "; there are ", StrJoin(names, ", ")));
  }
  PrintText(StrJoin(texts, flags.output.json ? "" : "\n"));
  return OkStatus();
}

void AddAlgorithms(const Command& noun) {
  const auto flags = std::make_shared<AlgorithmsFlags>();
  const Command verb = noun.AddCommand("algorithms", "List the algorithms and their parameters",
                                       "coppice train algorithms --algorithm spe");
  verb.Add("--algorithm", flags->algorithm, "Only this one");
  SetRemoteAction(verb, flags, Algorithms);
}

// ---- list

struct ListJobsFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
};

Status ListJobs(const ListJobsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListJobsRequest request;
  if (!flags.dataset.empty()) request.set_dataset(MakeName("datasets", flags.dataset));
  COPPICE_RETURN_IF_ERROR(remote.ForEachPage<v1::ListJobsResponse>(request, [&](const auto& page) {
    for (const v1::Job& job : page.jobs()) rows.push_back(DescribeJobBriefly(job));
  }));
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

void AddListJobs(const Command& noun) {
  const auto flags = std::make_shared<ListJobsFlags>();
  const Command verb =
      noun.AddCommand("list", "List jobs", "coppice train list --dataset d-7b1e --json");
  AddIdFlag(verb, "--dataset", flags->dataset, "Only the jobs on this dataset",
            /*required=*/false);
  SetRemoteAction(verb, flags, ListJobs);
}

// ---- show, watch, cancel

struct OneJobFlags {
  ServerFlags server;
  OutputFlags output;
  std::string job;
};

Status Show(const OneJobFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetJobRequest request;
  request.set_name(MakeName("jobs", flags.job));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::GetJobResponse>(request));
  PrintJob(response.job(), flags.output.json);
  return OkStatus();
}

Status Watch(const OneJobFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  return WatchJob(remote, MakeName("jobs", flags.job), flags.output.json);
}

Status Cancel(const OneJobFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::CancelJobRequest request;
  request.set_name(MakeName("jobs", flags.job));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::CancelJobResponse>(request));
  PrintJob(response.job(), flags.output.json);
  return OkStatus();
}

void AddOneJobVerb(const Command& noun, const std::string& name, const std::string& description,
                   Status (*run)(const OneJobFlags&)) {
  const auto flags = std::make_shared<OneJobFlags>();
  const Command verb =
      noun.AddCommand(name, description, "coppice train " + name + " --job j-30d5");
  AddIdFlag(verb, "--job", flags->job, "Id of the job");
  SetRemoteAction(verb, flags, run);
}

}  // namespace

void AddTrainCommands(CommandLine& line) {
  const Command noun =
      line.AddGroup("train", "Training: private models of datasets that the curator holds");
  AddAlgorithms(noun);
  AddTrainCurve(noun);
  AddTrainPreview(noun);
  AddTrainSubmit(noun);
  AddOneJobVerb(noun, "watch", "Follow a job until it ends; fails unless the job succeeded", Watch);
  AddListJobs(noun);
  AddOneJobVerb(noun, "show", "Show a job's current state", Show);
  AddOneJobVerb(
      noun, "cancel",
      "Cancel a job. The cost is refunded if the job was still queued, but not if it was running",
      Cancel);
}

}  // namespace coppice::cli
