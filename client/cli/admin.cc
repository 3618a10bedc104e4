#include <grpcpp/channel.h>

#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/describe.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status_macros.h"
#include "coppice/v1/admin.grpc.pb.h"

namespace coppice::cli {
namespace {

// A backup of a large store takes as long as its disk.
constexpr absl::Duration kLongest = absl::Hours(24);

struct BackupFlags {
  ServerFlags server;
  OutputFlags output;
};

absl::Status Backup(const BackupFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::BackupDone done;
  UpdatingLine line;
  COPPICE_RETURN_IF_ERROR(remote.Stream(kLongest, [&](grpc::ClientContext& context) {
    const auto reader = v1::AdminService::NewStub(remote.channel())->Backup(&context, {});
    v1::BackupResponse response;
    while (reader->Read(&response)) {
      if (response.has_done()) done = response.done();
      if (!response.has_progress()) continue;
      line.Show(absl::StrCat(response.progress().bytes_written() >> 20, " MiB written"));
    }
    return reader->Finish();
  }));
  PrintObject({{"backup", done.backup_id()},
               {"created", TimeText(done.created_unix_seconds())},
               {"bytes", done.bytes()},
               {"files", done.files()}},
              flags.output.json);
  return absl::OkStatus();
}

struct TokensFlags {
  ServerFlags server;
  OutputFlags output;
};

Json DescribeToken(const v1::TokenEntry& token) {
  const auto words = [](const auto& list) { return absl::StrJoin(list, " "); };
  const bool never_ends = token.expires_unix_seconds() == 0;
  const bool unused = token.last_used_day().empty();
  return {{"name", token.name()},
          {"kind", token.kind() == v1::TokenEntry::KIND_CERTIFICATE ? "certificate" : "token"},
          {"roles", words(token.roles())},
          {"resources", words(token.resources())},
          {"expires", never_ends ? "never" : TimeText(token.expires_unix_seconds())},
          {"last_used", unused ? "never" : token.last_used_day()},
          {"sha256", absl::BytesToHexString(token.sha256_prefix())}};
}

absl::Status ListTokens(const TokensFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response,
                           remote.Call<v1::ListTokensResponse>(v1::ListTokensRequest()));
  std::vector<Json> rows;
  for (const v1::TokenEntry& token : response.tokens()) rows.push_back(DescribeToken(token));
  PrintRows(rows, flags.output.json);
  return absl::OkStatus();
}

}  // namespace

void AddAdminCommands(CommandLine& line) {
  const Command noun = line.AddGroup("admin", "For whoever runs the curator");
  const auto flags = std::make_shared<BackupFlags>();
  const Command verb =
      noun.AddCommand("backup",
                      "Back up the curator's whole store while it is in use, into the folder "
                      "that it was started with (--backup-dir)",
                      "coppice admin backup --json");
  AddOutputFlags(verb, flags->output);
  AddServerFlags(verb, flags->server);
  SetAction(verb, flags, Backup);
  const auto tokens = std::make_shared<TokensFlags>();
  const Command list =
      noun.AddCommand("tokens",
                      "List the entries of the access policy: what each may do, when it ends, and "
                      "on which day it was used last. No token is shown",
                      "coppice admin tokens");
  AddOutputFlags(list, tokens->output);
  AddServerFlags(list, tokens->server);
  SetAction(list, tokens, ListTokens);
  AddAuditCommand(noun);
}

}  // namespace coppice::cli
