#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/commands/commands.h"
#include "server/daemon/config/flags.h"
#include "server/serving/access/bearer_token.h"
#include "server/serving/access/policy_file.h"

namespace coppice::daemon {
namespace {

constexpr char kTokenDescription[] =
    "Makes a bearer token. Prints two lines: the token, which is stored nowhere, to give to its "
    "holder; and the entry for \"tokens\" in the policy file, which holds only its hash.";

constexpr char kTokenFooter[] = R"(
Example:
  umask 077                      # what follows is for nobody else to read
  coppiced token --name ops --role admin > new
  head -n 1 new > ops.token      # coppice --token-file ops.token
  tail -n 1 new                  # into "tokens" of policy.json, then: kill -HUP the daemon

To rotate a token add the new entry beside the old one, hand the token out, then remove the old one.)";

struct TokenFlags {
  std::string name, expires;
  std::vector<std::string> roles, resources;
};

void AddTokenFlags(CLI::App& app, TokenFlags& flags) {
  app.description(kTokenDescription);
  app.footer(kTokenFooter);
  app.add_option(
         "--name", flags.name,
         "Whose token it is: what it creates belongs to this name, which several tokens may share")
      ->type_name("TEXT")
      ->required();
  app.add_option("--role", flags.roles, "device, relay, analyst, trainer or admin; may be repeated")
      ->type_name("ROLE")
      ->check(CLI::IsMember({"device", "relay", "analyst", "trainer", "admin"}).description(""))
      ->required();
  app.add_option(
         "--resource", flags.resources,
         "What it may see and create besides what its name owns, such as 'datasets/team-a-*', or "
         "'*' for everything; may be repeated (default: nothing for relays, analysts and trainers, "
         "every study for devices, everything for admins)")
      ->type_name("PATTERN");
  app.add_option("--expires", flags.expires,
                 "When it expires, such as 2027-01-31T00:00:00Z (default: never)")
      ->type_name("TIME");
}

}  // namespace

void DescribeToken(CLI::App& program) {
  static TokenFlags never_filled;
  AddTokenFlags(*program.add_subcommand("token"), never_filled);
}

StatusOr<NewToken> MakeNewToken(const std::string& name, const std::vector<std::string>& roles,
                                const std::string& expires,
                                const std::vector<std::string>& resources) {
  NewToken made;
  COPPICE_ASSIGN_OR_RETURN(made.token, access::MakeBearerToken());
  const Sha256Digest hash = access::HashOfToken(made.token);
  nlohmann::ordered_json entry = {
      {"name", name}, {"sha256", BytesToHexString(AsBytes(hash))}, {"roles", roles}};
  if (!resources.empty()) entry["resources"] = resources;
  if (!expires.empty()) entry["expires"] = expires;
  made.entry = entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // Never hands out a token that the daemon would refuse.
  COPPICE_RETURN_IF_ERROR(access::ParsePolicy(StrCat("{\"tokens\":[", made.entry, "]}")).status());
  return made;
}

int TokenCommand(int argc, const char* const* argv) {
  const std::string program = "coppiced token";
  CLI::App app("", program);
  TokenFlags flags;
  AddTokenFlags(app, flags);
  if (const auto done = ReadLine(app, program, argc, argv); done.has_value()) return *done;
  const StatusOr<NewToken> made =
      MakeNewToken(flags.name, flags.roles, flags.expires, flags.resources);
  if (!made.ok()) return Fail(program, made.status());
  std::cout << made->token << "\n" << made->entry << "\n";
  return kExitDone;
}

}  // namespace coppice::daemon
