#include <grpcpp/channel.h>

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "coppice/v1/admin.grpc.pb.h"

namespace coppice::cli {
namespace {

// A backup of a large store takes as long as its disk needs.
constexpr absl::Duration kLongest = absl::Hours(24);

Json DescribeBackup(const v1::BackupDone& backup) {
  return {{"backup", backup.backup_id()},
          {"created", TimeText(backup.created_unix_seconds())},
          {"bytes", backup.bytes()},
          {"files", backup.files()}};
}

struct BackupFlags {
  ServerFlags server;
  OutputFlags output;
};

Status Backup(const BackupFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::BackupDone done;
  UpdatingLine line;
  COPPICE_RETURN_IF_ERROR(remote.Stream(kLongest, [&](grpc::ClientContext& context) {
    const auto reader = v1::AdminService::NewStub(remote.channel())->Backup(&context, {});
    v1::BackupResponse response;
    while (reader->Read(&response)) {
      if (response.has_done()) done = response.done();
      if (!response.has_progress()) continue;
      line.Show(StrCat(response.progress().bytes_written() >> 20, " MiB written"));
    }
    return reader->Finish();
  }));
  PrintObject(DescribeBackup(done), flags.output.json);
  return OkStatus();
}

struct BackupsFlags {
  ServerFlags server;
  OutputFlags output;
};

Status ListBackups(const BackupsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response,
                           remote.Call<v1::ListBackupsResponse>(v1::ListBackupsRequest()));
  std::vector<Json> rows;
  for (const v1::BackupDone& backup : response.backups()) rows.push_back(DescribeBackup(backup));
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

struct StatusFlags {
  ServerFlags server;
  OutputFlags output;
};

Json DescribeFleet(const v1::FleetStatus& fleet) {
  return {{"leader", fleet.leader()},
          {"epoch", fleet.epoch()},
          {"leading_since", TimeText(fleet.leading_since_unix_seconds())},
          {"lease_seconds", fleet.lease_seconds()}};
}

// Unknown values are null.
Json DescribeStatus(const v1::GetStatusResponse& status) {
  const bool knows_disk = status.disk_free_bytes() > 0;
  return {{"version", status.version()},
          {"serving", status.serving()},
          {"started", TimeText(status.started_unix_seconds())},
          {"store", status.store()},
          {"disk_free_bytes", knows_disk ? Json(status.disk_free_bytes()) : Json()},
          {"has_backups", status.has_backups()},
          {"has_policy", status.has_policy()},
          {"fleet", status.has_fleet() ? DescribeFleet(status.fleet()) : Json()},
          {"alarms", status.alarms()}};
}

// Prints each alarm as a line of its own.
void PrintStatus(const v1::GetStatusResponse& status) {
  Json json = DescribeStatus(status);
  json.erase("alarms");
  if (!status.has_fleet()) json["fleet"] = "none";
  if (json["disk_free_bytes"].is_null()) json["disk_free_bytes"] = "not known";
  PrintObject(json, /*json=*/false);
  PrintText(status.alarms().empty() ? "\nNo alarms.\n" : "\nAlarms:\n");
  for (const std::string& alarm : status.alarms()) PrintText(StrCat("- ", alarm, "\n"));
}

Status ShowStatus(const StatusFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto status,
                           remote.Call<v1::GetStatusResponse>(v1::GetStatusRequest()));
  if (flags.output.json) {
    PrintObject(DescribeStatus(status), /*json=*/true);
  } else {
    PrintStatus(status);
  }
  return OkStatus();
}

struct ListTokensFlags {
  ServerFlags server;
  OutputFlags output;
};

Json DescribeToken(const v1::TokenEntry& token) {
  const auto words = [](const auto& list) { return StrJoin(list, " "); };
  const bool never_ends = token.expires_unix_seconds() == 0;
  const bool unused = token.last_used_day().empty();
  return {{"name", token.name()},
          {"kind", token.kind() == v1::TokenEntry::KIND_CERTIFICATE ? "certificate" : "token"},
          {"roles", words(token.roles())},
          {"resources", words(token.resources())},
          {"expires", never_ends ? "never" : TimeText(token.expires_unix_seconds())},
          {"last_used", unused ? "never" : token.last_used_day()},
          {"sha256", BytesToHexString(token.sha256_prefix())}};
}

Status ListTokens(const ListTokensFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response,
                           remote.Call<v1::ListTokensResponse>(v1::ListTokensRequest()));
  std::vector<Json> rows;
  for (const v1::TokenEntry& token : response.tokens()) rows.push_back(DescribeToken(token));
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

void AddStatus(const Command& noun) {
  const auto flags = std::make_shared<StatusFlags>();
  const Command verb = noun.AddCommand("status",
                                       "Show the curator's state: version, store, what needs the "
                                       "operator's attention, and who leads a fleet",
                                       "coppice admin status");
  SetRemoteAction(verb, flags, ShowStatus);
}

void AddBackups(const Command& noun) {
  const auto flags = std::make_shared<BackupsFlags>();
  const Command verb = noun.AddCommand("backups", "List the curator's backups, newest first",
                                       "coppice admin backups --json");
  SetRemoteAction(verb, flags, ListBackups);
}

}  // namespace

void AddAdminCommands(CommandLine& line) {
  const Command noun = line.AddGroup("admin", "For the curator's operator");
  const auto flags = std::make_shared<BackupFlags>();
  const Command verb =
      noun.AddCommand("backup",
                      "Back up the curator's whole store while it is in use, into the folder "
                      "that it was started with (--backup-dir)",
                      "coppice admin backup --json");
  SetRemoteAction(verb, flags, Backup);
  AddStatus(noun);
  AddBackups(noun);
  const auto tokens = std::make_shared<ListTokensFlags>();
  const Command list =
      noun.AddCommand("tokens",
                      "List the entries of the access policy: what each may do, when it expires, "
                      "and the day it was last used. Tokens are not shown",
                      "coppice admin tokens");
  SetRemoteAction(list, tokens, ListTokens);
  AddAuditCommand(noun);
}

}  // namespace coppice::cli
