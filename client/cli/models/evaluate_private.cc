#include "client/cli/models/evaluate_private.h"

#include <utility>
#include <vector>

#include "client/cli/central/budget_flags.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "client/device/grpc/server_call.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/training.pb.h"

namespace coppice::cli {
namespace {

// An evaluation costs privacy: who does not know whether it was charged must be able to repeat the
// request without paying twice.
Status WithRequest(const Status& status, const std::string& request_id) {
  const bool unclear =
      status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
  if (!unclear) return status;
  return Status(status.code(),
                StrCat(status.message(), "; if you try again, add `--request-id ", request_id,
                       "`, so that the evaluation is not paid for twice"));
}

void PrintEvaluation(Json result, bool json) {
  if (json) {
    PrintObject(result, json);
    return;
  }
  std::vector<Json> groups;
  if (result.contains("groups")) groups = result["groups"].get<std::vector<Json>>();
  for (const char* const nested : {"groups", "noisy_confusion", "recall_intervals"}) {
    result.erase(nested);
  }
  PrintObject(result, json);
  for (Json& group : groups) group.erase("recall_intervals");
  if (!groups.empty()) PrintText("\n");
  PrintRows(groups, json);
  if (result.contains("caveat")) Note(StrCat("warning: ", result["caveat"].get<std::string>()));
}

Status PreviewOnDataset(const Remote& remote, v1::EvaluationSpec spec, uint64_t rows, bool json) {
  v1::PreviewEvaluationRequest request;
  *request.mutable_spec() = std::move(spec);
  request.set_rows(rows);
  COPPICE_ASSIGN_OR_RETURN(const auto response,
                           remote.Call<v1::PreviewEvaluationResponse>(request));
  Json preview = DescribeEvaluationPreview(response);
  if (!json) preview.erase("releases");
  PrintObject(preview, json);
  return OkStatus();
}

}  // namespace

Flag AddPrivateFlags(const Command& verb, PrivateFlags& flags) {
  const Flag dataset =
      verb.Add("--dataset", flags.dataset,
               "Instead of --data: the private rows of this dataset, which nobody sees, for "
               "--epsilon of its budget. With a reserve its rows alone are read, and its account "
               "pays")
          .Takes("ID");
  AddBudgetFlag(verb, "--epsilon", flags.epsilon, "What the evaluation costs in total")
      .Needs(dataset);
  verb.Add("--by", flags.by,
           "Also measure the rows of each value of this categorical feature, at no further cost")
      .Takes("FEATURE")
      .Needs(dataset);
  verb.Add("--reach", flags.reach,
           "Numbers: count larger errors as this, in the target's unit. The smaller, the less "
           "noise; choose it without looking at the rows (default: the span of the target)")
      .Takes("NUMBER")
      .Positive()
      .Needs(dataset);
  verb.Add("--preview", flags.preview,
           "Charge nothing, and show how wide the interval would be on about N rows")
      .Takes("N")
      .Needs(dataset);
  verb.Add("--request-id", flags.request_id,
           "A text of your choice, 1 to 128 characters; repeating it returns the evaluation that "
           "it made, charged once (default: a new one)")
      .Check([](const std::string& id) {
        return !id.empty() && id.size() <= 128 ? "" : "needs 1 to 128 characters";
      })
      .Needs(dataset);
  return dataset;
}

Status EvaluateOnDataset(const ServerFlags& server, const std::string& model,
                         const PrivateFlags& flags, bool json) {
  v1::EvaluationSpec spec;
  spec.set_model(MakeName(kModels, model));
  spec.set_dataset(MakeName(kDatasets, flags.dataset));
  spec.set_epsilon_nanos(flags.epsilon->nanos());
  spec.set_by(flags.by);
  spec.set_reach(flags.reach);
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(server));
  if (flags.preview.has_value()) {
    return PreviewOnDataset(remote, std::move(spec), *flags.preview, json);
  }
  v1::EvaluateModelRequest request;
  request.set_request_id(flags.request_id);
  if (flags.request_id.empty()) {
    COPPICE_ASSIGN_OR_RETURN(*request.mutable_request_id(), RandomHex(16));
  }
  *request.mutable_spec() = std::move(spec);
  const auto response = remote.Call<v1::EvaluateModelResponse>(request);
  if (!response.ok()) return WithRequest(response.status(), request.request_id());
  PrintEvaluation(DescribeEvaluation(response->evaluation()), json);
  return OkStatus();
}

}  // namespace coppice::cli
