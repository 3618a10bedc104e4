#include "client/cli/models/endpoint.h"

#include <optional>
#include <vector>

#include "client/cli/terminal/describe.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"

namespace coppice::cli {
namespace {

struct EndpointFlags {
  ServerFlags server;
  OutputFlags output;
  std::string endpoint;
};

void AddEndpointFlags(CLI::App& verb, EndpointFlags& flags) {
  AddIdFlag(verb, "--endpoint", flags.endpoint, "Id of the endpoint");
  AddOutputFlags(verb, flags.output);
  AddServerFlags(verb, flags.server);
}

// endpoint, version, model, created, restored: of one version.
Json DescribeVersion(const v1::Endpoint& endpoint, const v1::EndpointVersion& version) {
  Json json = {{"endpoint", IdOf(endpoint.name())},
               {"version", version.number()},
               {"model", IdOf(version.model())},
               {"created", TimeText(version.created_unix_seconds())}};
  json["restored"] = version.restored_version() == 0 ? Json() : Json(version.restored_version());
  return json;
}

// What the endpoint serves.
Json DescribeServed(const v1::Endpoint& endpoint) {
  return DescribeVersion(endpoint, endpoint.versions_size() == 0 ? v1::EndpointVersion()
                                                                 : *endpoint.versions().rbegin());
}

// ---- set and rollback

struct ChangeFlags : EndpointFlags {
  std::string model;
  uint64_t to_version = 0;
  std::optional<uint64_t> expected_version;
  bool allow_schema_change = false;
};

void AddChangeFlags(CLI::App& verb, ChangeFlags& flags) {
  verb.add_option("--expect", flags.expected_version,
                  "Refuse unless this version is served now; 0: no such endpoint yet");
  verb.add_flag("--allow-schema-change", flags.allow_schema_change,
                "Also if the model wants other rows than the one that is served");
  AddEndpointFlags(verb, flags);
}

template <typename Request>
void SetOptions(const ChangeFlags& flags, Request& request) {
  request.set_endpoint(MakeName(kEndpoints, flags.endpoint));
  request.set_allow_schema_change(flags.allow_schema_change);
  if (flags.expected_version) request.set_expected_version(*flags.expected_version);
}

absl::Status Set(const ChangeFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::SetServingModelRequest request;
  SetOptions(flags, request);
  request.set_model(MakeName(kModels, flags.model));
  v1::SetServingModelResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.models().SetServingModel(&context, request, &response);
  }));
  PrintObject(DescribeServed(response.endpoint()), flags.output.json);
  return absl::OkStatus();
}

absl::Status RollBack(const ChangeFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::RollBackRequest request;
  SetOptions(flags, request);
  request.set_to_version(flags.to_version);
  v1::RollBackResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.models().RollBack(&context, request, &response);
  }));
  PrintObject(DescribeServed(response.endpoint()), flags.output.json);
  return absl::OkStatus();
}

void AddSet(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ChangeFlags>();
  CLI::App* verb =
      AddVerb(noun, "set", "Answer with another model from now on; makes the endpoint if need be",
              "coppice endpoint set --endpoint churn --model m-91c0");
  AddIdFlag(*verb, "--model", flags->model, "Id of the model");
  AddChangeFlags(*verb, *flags);
  OnParsed(*verb, action, flags, Set);
}

void AddRollBack(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ChangeFlags>();
  CLI::App* verb = AddVerb(noun, "rollback", "Answer with the model of an earlier version again",
                           "coppice endpoint rollback --endpoint churn");
  verb->add_option("--to", flags->to_version,
                   "The version to bring back (default: the one before what is served)");
  AddChangeFlags(*verb, *flags);
  OnParsed(*verb, action, flags, RollBack);
}

// ---- show, list, delete

absl::Status Show(const EndpointFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetEndpointRequest request;
  request.set_name(MakeName(kEndpoints, flags.endpoint));
  v1::GetEndpointResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.models().GetEndpoint(&context, request, &response);
  }));
  std::vector<Json> rows;
  for (const v1::EndpointVersion& version : response.endpoint().versions()) {
    rows.insert(rows.begin(), DescribeVersion(response.endpoint(), version));
  }
  PrintRows(rows, flags.output.json);
  return absl::OkStatus();
}

void AddShow(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<EndpointFlags>();
  CLI::App* verb = AddVerb(noun, "show", "List an endpoint's versions; the first one is served",
                           "coppice endpoint show --endpoint churn");
  AddEndpointFlags(*verb, *flags);
  OnParsed(*verb, action, flags, Show);
}

absl::Status List(const EndpointFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListEndpointsRequest request;
  do {
    v1::ListEndpointsResponse page;
    COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
      return remote.models().ListEndpoints(&context, request, &page);
    }));
    for (const v1::Endpoint& endpoint : page.endpoints()) rows.push_back(DescribeServed(endpoint));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  PrintRows(rows, flags.output.json);
  return absl::OkStatus();
}

void AddList(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<EndpointFlags>();
  CLI::App* verb =
      AddVerb(noun, "list", "List endpoints and what they serve", "coppice endpoint list --json");
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, List);
}

absl::Status Delete(const EndpointFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::DeleteEndpointRequest request;
  request.set_name(MakeName(kEndpoints, flags.endpoint));
  v1::DeleteEndpointResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.models().DeleteEndpoint(&context, request, &response);
  }));
  PrintObject({{"endpoint", flags.endpoint}, {"deleted", true}}, flags.output.json);
  return absl::OkStatus();
}

void AddDelete(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<EndpointFlags>();
  CLI::App* verb = AddVerb(noun, "delete", "Delete an endpoint; its models stay",
                           "coppice endpoint delete --endpoint churn --yes");
  verb->add_flag(
          "--yes", [](int64_t) {}, "Say that you mean it: calls of this endpoint fail from then on")
      ->required();
  AddEndpointFlags(*verb, *flags);
  OnParsed(*verb, action, flags, Delete);
}

}  // namespace

void AddEndpointCommands(CLI::App& app, Action& action) {
  CLI::App* noun = app.add_subcommand(
      "endpoint", "Endpoints: names that serve one model at a time, switched and rolled back");
  noun->require_subcommand(1);
  AddSet(*noun, action);
  AddRollBack(*noun, action);
  AddShow(*noun, action);
  AddList(*noun, action);
  AddDelete(*noun, action);
}

}  // namespace coppice::cli
