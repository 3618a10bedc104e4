#include <optional>
#include <vector>

#include "client/cli/models/commands.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

struct EndpointFlags {
  ServerFlags server;
  OutputFlags output;
  std::string endpoint;
};

void AddEndpointFlags(const Command& verb, EndpointFlags& flags) {
  AddIdFlag(verb, "--endpoint", flags.endpoint, "Id of the endpoint");
  AddOutputFlags(verb, flags.output);
  AddServerFlags(verb, flags.server);
}

// ---- set and rollback

struct ChangeFlags : EndpointFlags {
  std::string model;
  uint64_t to_version = 0;
  std::optional<uint64_t> expected_version;
  bool allow_schema_change = false;
};

void AddChangeFlags(const Command& verb, ChangeFlags& flags) {
  verb.Add("--expect", flags.expected_version,
           "Refuse unless this version is served now; 0: the endpoint does not exist yet");
  verb.AddSwitch("--allow-schema-change", flags.allow_schema_change,
                 "Even if the model's rows differ from those of the model served now");
  AddEndpointFlags(verb, flags);
}

template <typename Request>
void SetOptions(const ChangeFlags& flags, Request& request) {
  request.set_endpoint(MakeName(kEndpoints, flags.endpoint));
  request.set_allow_schema_change(flags.allow_schema_change);
  if (flags.expected_version) request.set_expected_version(*flags.expected_version);
}

Status Set(const ChangeFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::SetServingModelRequest request;
  SetOptions(flags, request);
  request.set_model(MakeName(kModels, flags.model));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::SetServingModelResponse>(request));
  PrintObject(DescribeEndpoint(response.endpoint()), flags.output.json);
  return OkStatus();
}

Status RollBack(const ChangeFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::RollBackRequest request;
  SetOptions(flags, request);
  request.set_to_version(flags.to_version);
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::RollBackResponse>(request));
  PrintObject(DescribeEndpoint(response.endpoint()), flags.output.json);
  return OkStatus();
}

void AddSet(const Command& noun) {
  const auto flags = std::make_shared<ChangeFlags>();
  const Command verb = noun.AddCommand(
      "set", "Serve another model from now on; creates the endpoint if there is none",
      "coppice endpoint set --endpoint churn --model m-91c0");
  AddIdFlag(verb, "--model", flags->model, "Id of the model");
  AddChangeFlags(verb, *flags);
  SetAction(verb, flags, Set);
}

void AddRollBack(const Command& noun) {
  const auto flags = std::make_shared<ChangeFlags>();
  const Command verb = noun.AddCommand("rollback", "Serve the model of an earlier version again",
                                       "coppice endpoint rollback --endpoint churn");
  verb.Add("--to", flags->to_version,
           "The version to bring back (default: the one before what is served)");
  AddChangeFlags(verb, *flags);
  SetAction(verb, flags, RollBack);
}

// ---- show, list, delete

Status Show(const EndpointFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetEndpointRequest request;
  request.set_name(MakeName(kEndpoints, flags.endpoint));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::GetEndpointResponse>(request));
  std::vector<Json> rows;
  for (const v1::EndpointVersion& version : response.endpoint().versions()) {
    rows.insert(rows.begin(), DescribeVersion(response.endpoint(), version));
  }
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

void AddEndpointShow(const Command& noun) {
  const auto flags = std::make_shared<EndpointFlags>();
  const Command verb =
      noun.AddCommand("show", "List an endpoint's versions; the first one is served",
                      "coppice endpoint show --endpoint churn");
  AddEndpointFlags(verb, *flags);
  SetAction(verb, flags, Show);
}

Status List(const EndpointFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListEndpointsRequest request;
  COPPICE_RETURN_IF_ERROR(
      remote.ForEachPage<v1::ListEndpointsResponse>(request, [&](const auto& page) {
        for (const v1::Endpoint& endpoint : page.endpoints())
          rows.push_back(DescribeEndpoint(endpoint));
      }));
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

void AddListEndpoints(const Command& noun) {
  const auto flags = std::make_shared<EndpointFlags>();
  const Command verb =
      noun.AddCommand("list", "List endpoints and what they serve", "coppice endpoint list --json");
  SetRemoteAction(verb, flags, List);
}

Status Delete(const EndpointFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::DeleteEndpointRequest request;
  request.set_name(MakeName(kEndpoints, flags.endpoint));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::DeleteEndpointResponse>(request));
  PrintObject({{"endpoint", flags.endpoint}, {"deleted", true}}, flags.output.json);
  return OkStatus();
}

void AddEndpointDelete(const Command& noun) {
  const auto flags = std::make_shared<EndpointFlags>();
  const Command verb = noun.AddCommand("delete", "Delete an endpoint; its models stay",
                                       "coppice endpoint delete --endpoint churn --yes");
  AddYesFlag(verb, "Confirm: calls of this endpoint fail from then on");
  AddEndpointFlags(verb, *flags);
  SetAction(verb, flags, Delete);
}

}  // namespace

void AddEndpointCommands(CommandLine& line) {
  const Command noun = line.AddGroup(
      "endpoint", "Endpoints: names that serve one model at a time, switched and rolled back");
  AddSet(noun);
  AddRollBack(noun);
  AddEndpointShow(noun);
  AddListEndpoints(noun);
  AddEndpointDelete(noun);
}

}  // namespace coppice::cli
