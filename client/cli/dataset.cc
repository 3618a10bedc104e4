#include "client/cli/dataset.h"

#include <iostream>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "client/cli/dataset_create.h"
#include "client/cli/dataset_upload.h"
#include "client/cli/describe_dataset.h"
#include "client/cli/output.h"
#include "client/cli/remote.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"

namespace coppice {
namespace {

struct ListFlags {
  ServerFlags server;
  OutputFlags output;
};

absl::Status List(const ListFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListDatasetsRequest request;
  do {
    v1::ListDatasetsResponse page;
    COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
      return remote.datasets().ListDatasets(&context, request, &page);
    }));
    for (const v1::Dataset& dataset : page.datasets()) {
      rows.push_back(DescribeDatasetBriefly(dataset));
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  PrintRows(rows, flags.output.json);
  return absl::OkStatus();
}

void AddList(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ListFlags>();
  CLI::App* verb = AddVerb(noun, "list", "List all datasets and what is left of their budgets",
                           "coppice dataset list --json");
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, List);
}

struct OneDatasetFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
};

absl::Status Show(const OneDatasetFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const v1::Dataset dataset,
                           GetDataset(remote, MakeName("datasets", flags.dataset)));
  if (flags.output.json) {
    PrintObject(DescribeDatasetWithLedger(dataset), /*json=*/true);
    return absl::OkStatus();
  }
  PrintObject(DescribeDataset(dataset), /*json=*/false);
  std::cout << "\n";
  PrintRows(LedgerTable(dataset), /*json=*/false);
  return absl::OkStatus();
}

absl::Status Delete(const OneDatasetFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::DeleteDatasetRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  v1::DeleteDatasetResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.datasets().DeleteDataset(&context, request, &response);
  }));
  PrintObject({{"dataset", flags.dataset}, {"deleted", true}}, flags.output.json);
  return absl::OkStatus();
}

struct ConfirmFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
  std::string head;
};

absl::Status Confirm(const ConfirmFlags& flags) {
  const std::string head = absl::HexStringToBytes(flags.head);
  const bool is_hex = absl::c_all_of(flags.head, [](char c) { return absl::ascii_isxdigit(c); });
  if (flags.head.size() != 64 || !is_hex) {
    return absl::InvalidArgumentError(
        "--head wants the 64 hexadecimal digits of the hash of the ledger's last entry");
  }
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::ConfirmLedgerRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  request.set_head(head);
  v1::ConfirmLedgerResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.datasets().ConfirmLedger(&context, request, &response);
  }));
  PrintObject(DescribeDataset(response.dataset()), flags.output.json);
  return absl::OkStatus();
}

void AddConfirm(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ConfirmFlags>();
  CLI::App* verb = AddVerb(
      noun, "confirm",
      "Confirm a dataset's ledger after its store was restored or repaired: that the last entry "
      "you know of is there. Jobs are charged again then",
      "coppice dataset confirm --dataset d-7b1e --head 5f1c...");
  AddIdFlag(*verb, "--dataset", flags->dataset, "Id of the dataset");
  verb->add_option("--head", flags->head, "Hash of the ledger's last entry, as you noted it")
      ->type_name("HASH")
      ->required();
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, Confirm);
}

CLI::App* AddOneDatasetVerb(CLI::App& noun, Action& action, const std::string& name,
                            const std::string& description,
                            absl::Status (*run)(const OneDatasetFlags&)) {
  const auto flags = std::make_shared<OneDatasetFlags>();
  CLI::App* verb =
      AddVerb(noun, name, description,
              "coppice dataset " + name + " --dataset d-7b1e" + (name == "delete" ? " --yes" : ""));
  AddIdFlag(*verb, "--dataset", flags->dataset, "Id of the dataset");
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, run);
  return verb;
}

}  // namespace

void AddDatasetCommands(CLI::App& app, Action& action) {
  CLI::App* noun = app.add_subcommand(
      "dataset", "Datasets: tables that the curator holds, each under a privacy budget");
  noun->require_subcommand(1);
  AddDatasetCreate(*noun, action);
  AddDatasetUpload(*noun, action);
  AddList(*noun, action);
  AddOneDatasetVerb(*noun, action, "show",
                    "Show a dataset, what is spent and left of its budget, and every release",
                    Show);
  AddConfirm(*noun, action);
  AddOneDatasetVerb(*noun, action, "delete",
                    "Delete a dataset's rows, for good; its ledger and its models stay", Delete)
      ->add_flag_function(
          "--yes", [](int64_t) {}, "Say that you mean it")
      ->required();
}

}  // namespace coppice
