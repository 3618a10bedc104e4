#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "client/cli/central/budget_flags.h"
#include "client/cli/central/commands.h"
#include "client/cli/central/dataset_upload.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::cli {
namespace {

struct ListFlags {
  ServerFlags server;
  OutputFlags output;
};

Status List(const ListFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListDatasetsRequest request;
  COPPICE_RETURN_IF_ERROR(
      remote.ForEachPage<v1::ListDatasetsResponse>(request, [&](const auto& page) {
        for (const v1::Dataset& dataset : page.datasets()) {
          rows.push_back(DescribeDatasetBriefly(dataset));
        }
      }));
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

void AddListDatasets(const Command& noun) {
  const auto flags = std::make_shared<ListFlags>();
  const Command verb = noun.AddCommand(
      "list", "List all datasets and what is left of their budgets", "coppice dataset list --json");
  SetRemoteAction(verb, flags, List);
}

struct OneDatasetFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
};

struct ShowDatasetFlags : OneDatasetFlags {
  std::optional<uint32_t> entries;
};

// Gets a dataset with the newest `entries` of its ledger.
StatusOr<v1::Dataset> GetNewest(const Remote& remote, const std::string& name, uint32_t entries) {
  v1::GetDatasetRequest request;
  request.set_name(name);
  request.set_first_entry(UINT64_MAX);  // past the end: returns only their number
  COPPICE_ASSIGN_OR_RETURN(auto response, remote.Call<v1::GetDatasetResponse>(request));
  const uint64_t all = response.dataset().ledger_entries();
  if (entries > 0 && all > 0) {
    request.set_first_entry(all - std::min<uint64_t>(all, entries));
    COPPICE_ASSIGN_OR_RETURN(response, remote.Call<v1::GetDatasetResponse>(request));
  }
  // More may have been added meanwhile.
  auto& ledger = *response.mutable_dataset()->mutable_ledger();
  const int surplus = ledger.size() - static_cast<int>(std::min<uint64_t>(ledger.size(), entries));
  ledger.DeleteSubrange(0, surplus);
  return response.dataset();
}

Status Show(const ShowDatasetFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  const std::string name = MakeName("datasets", flags.dataset);
  COPPICE_ASSIGN_OR_RETURN(const v1::Dataset dataset, flags.entries.has_value()
                                                          ? GetNewest(remote, name, *flags.entries)
                                                          : GetDataset(remote, name));
  if (flags.output.json) {
    PrintObject(DescribeDatasetWithLedger(dataset), /*json=*/true);
    return OkStatus();
  }
  PrintObject(DescribeDataset(dataset), /*json=*/false);
  std::cout << "\n";
  PrintRows(LedgerTable(dataset), /*json=*/false);
  const auto shown = static_cast<uint64_t>(dataset.ledger_size());
  if (shown < dataset.ledger_entries()) {
    Note(StrCat("The newest ", shown, " of ", dataset.ledger_entries(),
                " entries of the ledger; without --entries all are shown."));
  }
  return OkStatus();
}

void AddShowDataset(const Command& noun) {
  const auto flags = std::make_shared<ShowDatasetFlags>();
  const Command verb = noun.AddCommand("show",
                                       "Show a dataset: its budget, what is spent and left of it, "
                                       "and every release, with who made it",
                                       "coppice dataset show --dataset d-7b1e --entries 20");
  AddIdFlag(verb, "--dataset", flags->dataset, "Id of the dataset");
  verb.Add("--entries", flags->entries, "Show only the newest N entries of the ledger").Takes("N");
  SetRemoteAction(verb, flags, Show);
}

Status Delete(const OneDatasetFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::DeleteDatasetRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::DeleteDatasetResponse>(request));
  PrintObject({{"dataset", flags.dataset}, {"deleted", true}}, flags.output.json);
  return OkStatus();
}

struct ConfirmFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
  std::string head;
};

Status Confirm(const ConfirmFlags& flags) {
  const std::string head = HexStringToBytes(flags.head);
  const bool is_hex = absl::c_all_of(flags.head, [](char c) { return IsAsciiXdigit(c); });
  if (flags.head.size() != 64 || !is_hex) {
    return InvalidArgumentError(
        "--head needs the 64 hexadecimal digits of the hash of the ledger's last entry");
  }
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::ConfirmLedgerRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  request.set_head(head);
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::ConfirmLedgerResponse>(request));
  PrintObject(DescribeDataset(response.dataset()), flags.output.json);
  return OkStatus();
}

struct WriteOffFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
  std::optional<Budget> epsilon;
  std::string delta;
};

Status WriteOff(const WriteOffFlags& flags) {
  v1::WriteOffLedgerRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  if (flags.epsilon) request.set_epsilon_nanos(flags.epsilon->nanos());
  if (!flags.delta.empty()) request.set_delta_atto(DeltaOf(flags.delta));
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::WriteOffLedgerResponse>(request));
  PrintObject(DescribeDataset(response.dataset()), flags.output.json);
  return OkStatus();
}

Status FreeName(const OneDatasetFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::FreeDatasetNameRequest request;
  request.set_name(MakeName("datasets", flags.dataset));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::FreeDatasetNameResponse>(request));
  PrintObject({{"dataset", flags.dataset}, {"freed", true}}, flags.output.json);
  return OkStatus();
}

void AddWriteOff(const Command& noun) {
  const auto flags = std::make_shared<WriteOffFlags>();
  const Command verb = noun.AddCommand(
      "write-off",
      "Charge a dataset for entries that its ledger lost, up to what is left of its budget, and "
      "accept jobs again. For admins, after the store was restored or repaired",
      "coppice dataset write-off --dataset d-7b1e --epsilon 1.5 --yes");
  AddIdFlag(verb, "--dataset", flags->dataset, "Id of the dataset");
  AddBudgetFlag(
      verb, "--epsilon", flags->epsilon,
      "What the lost entries charged, in total (default: what the spending journal says)");
  AddDeltaFlag(verb, "--delta", flags->delta, "The same for delta");
  AddYesFlag(verb);
  SetRemoteAction(verb, flags, WriteOff);
}

void AddConfirm(const Command& noun) {
  const auto flags = std::make_shared<ConfirmFlags>();
  const Command verb = noun.AddCommand(
      "confirm",
      "Confirm, after the store was restored or repaired, that a dataset's ledger ends with the "
      "last entry that you noted. The dataset then accepts jobs again. For admins",
      "coppice dataset confirm --dataset d-7b1e --head 5f1c...");
  AddIdFlag(verb, "--dataset", flags->dataset, "Id of the dataset");
  verb.Add("--head", flags->head, "The last ledger_head that you noted from `dataset show`")
      .Takes("HASH")
      .Required();
  SetRemoteAction(verb, flags, Confirm);
}

Command AddOneDatasetVerb(const Command& noun, const std::string& name,
                          const std::string& description, Status (*run)(const OneDatasetFlags&)) {
  const auto flags = std::make_shared<OneDatasetFlags>();
  const Command verb =
      noun.AddCommand(name, description, "coppice dataset " + name + " --dataset d-7b1e --yes");
  AddIdFlag(verb, "--dataset", flags->dataset, "Id of the dataset");
  SetRemoteAction(verb, flags, run);
  return verb;
}

}  // namespace

void AddDatasetCommands(CommandLine& line) {
  const Command noun = line.AddGroup(
      "dataset", "Datasets: tables that the curator holds, each under a privacy budget");
  AddDatasetCreate(noun);
  AddDatasetUpload(noun);
  AddListDatasets(noun);
  AddShowDataset(noun);
  AddConfirm(noun);
  AddWriteOff(noun);
  AddYesFlag(AddOneDatasetVerb(noun, "free-name",
                               "Release the name of a dataset whose ledger was lost; until then "
                               "the spending journal reserves it. For admins",
                               FreeName));
  AddYesFlag(AddOneDatasetVerb(
      noun, "delete", "Delete a dataset's rows, for good; its ledger and its models stay", Delete));
}

}  // namespace coppice::cli
