#include "client/cli/central/dataset.h"

#include <iostream>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "client/cli/central/budget_flags.h"
#include "client/cli/central/dataset_create.h"
#include "client/cli/central/dataset_upload.h"
#include "client/cli/central/describe_dataset.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"

namespace coppice::cli {
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

struct WriteOffFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
  std::string epsilon;
  std::string delta;
};

absl::Status WriteOff(const WriteOffFlags& flags) {
  v1::WriteOffLedgerRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  if (!flags.epsilon.empty()) request.set_epsilon_nanos(EpsilonOf(flags.epsilon).nanos());
  if (!flags.delta.empty()) request.set_delta_atto(DeltaOf(flags.delta));
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::WriteOffLedgerResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.datasets().WriteOffLedger(&context, request, &response);
  }));
  PrintObject(DescribeDataset(response.dataset()), flags.output.json);
  return absl::OkStatus();
}

absl::Status FreeName(const OneDatasetFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::FreeDatasetNameRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  v1::FreeDatasetNameResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.datasets().FreeDatasetName(&context, request, &response);
  }));
  PrintObject({{"dataset", flags.dataset}, {"freed", true}}, flags.output.json);
  return absl::OkStatus();
}

void AddYesFlag(CLI::App& verb) {
  verb.add_flag_function(
          "--yes", [](int64_t) {}, "Say that you mean it")
      ->required();
}

void AddWriteOff(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<WriteOffFlags>();
  CLI::App* verb = AddVerb(
      noun, "write-off",
      "Charge a dataset for entries that its ledger lost, at most what is left of its budget, and "
      "let jobs be charged again. For admins, after the store was restored or repaired",
      "coppice dataset write-off --dataset d-7b1e --epsilon 1.5 --yes");
  AddIdFlag(*verb, "--dataset", flags->dataset, "Id of the dataset");
  AddBudgetFlag(*verb, "--epsilon", flags->epsilon,
                "Sum of what the lost entries charged; without it what the spending journal says");
  AddDeltaFlag(*verb, "--delta", flags->delta, "The same of delta");
  AddYesFlag(*verb);
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, WriteOff);
}

void AddConfirm(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ConfirmFlags>();
  CLI::App* verb = AddVerb(
      noun, "confirm",
      "Confirm a dataset's ledger after its store was restored or repaired: that it ends with the "
      "last entry that was noted before. Jobs are charged again then. For admins",
      "coppice dataset confirm --dataset d-7b1e --head 5f1c...");
  AddIdFlag(*verb, "--dataset", flags->dataset, "Id of the dataset");
  verb->add_option("--head", flags->head, "The ledger_head of `dataset show` that was noted last")
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
              "coppice dataset " + name + " --dataset d-7b1e" + (name == "show" ? "" : " --yes"));
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
  AddWriteOff(*noun, action);
  AddYesFlag(*AddOneDatasetVerb(
      *noun, action, "free-name",
      "Let a new dataset have the name of one whose ledger was lost, which the spending journal "
      "keeps taken. For admins",
      FreeName));
  AddYesFlag(*AddOneDatasetVerb(*noun, action, "delete",
                                "Delete a dataset's rows, for good; its ledger and its models stay",
                                Delete));
}

}  // namespace coppice::cli
