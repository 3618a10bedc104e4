#include "server/store/vault/key_file.h"

#include <iostream>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "server/daemon/commands/commands.h"
#include "server/daemon/config/flags.h"

namespace coppice::daemon {
namespace {

constexpr char kKeyFileDescription[] =
    "Makes the key file of an encrypted store, or adds a key to it. Only its owner may read the "
    "file. Prints the new key's id, which is not secret.";

constexpr char kKeyFileFooter[] = R"(
Example:
  coppiced key-file --out /etc/coppice/store.key   # then copy it to a safe place
  coppiced --key-file /etc/coppice/store.key ...

To rotate:
  coppiced key-file --add /etc/coppice/store.key   # the new key comes first
  kill -HUP the daemon                             # its log says "key rotated"
The former key stays in the file for as long as you may restore a backup made before.

Without the key file a sealed store, and each of its backups, is lost.)";

struct KeyFileFlags {
  std::string out, add;
};

void AddKeyFileFlags(CLI::App& app, KeyFileFlags& flags) {
  app.description(kKeyFileDescription);
  app.footer(kKeyFileFooter);
  app.add_option("--out", flags.out, "Make this file with one key; refused if it exists")
      ->type_name("FILE");
  app.add_option("--add", flags.add, "Add a new key in front of those in this file")
      ->type_name("FILE");
}

}  // namespace

void DescribeKeyFile(CLI::App& program) {
  static KeyFileFlags never_filled;
  AddKeyFileFlags(*program.add_subcommand("key-file"), never_filled);
}

int KeyFileCommand(int argc, const char* const* argv) {
  const std::string program = "coppiced key-file";
  CLI::App app("", program);
  KeyFileFlags flags;
  AddKeyFileFlags(app, flags);
  if (const auto done = ReadLine(app, program, argc, argv); done.has_value()) return *done;
  if (flags.out.empty() == flags.add.empty()) {
    return Complain(program, "give --out FILE for a new file, or --add FILE for an existing one");
  }
  const StatusOr<std::string> id =
      flags.add.empty() ? vault::MakeKeyFile(flags.out) : vault::AddKey(flags.add);
  if (!id.ok()) return Fail(program, id.status());
  std::cout << *id << "\n";
  return kExitDone;
}

}  // namespace coppice::daemon
