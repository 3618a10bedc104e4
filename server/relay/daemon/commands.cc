#include "server/relay/daemon/commands.h"

#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/command_line/complain.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/sha256.h"
#include "common/terms/signature.h"
#include "server/relay/daemon/relay_key.h"
#include "server/relay/service/admission.h"

namespace coppice::relay {
namespace {

constexpr char kKeygenDescription[] =
    "Makes the relay's key in its data directory, readable only by its owner, and prints the "
    "public half, for `coppice study create --relay-key` and for devices' owners to pin.";

constexpr char kKeygenFooter[] = R"(
Example:
  coppice-relay keygen --data-dir /var/lib/coppice-relay

Give the printed key to devices' owners yourself: one that the curator hands on could be its own.)";

constexpr char kTokenDescription[] =
    "Makes a device's bearer token for this relay. Prints two lines: the token, which is stored "
    "nowhere, for the device; and its line for the --admission file, which holds only its hash.";

constexpr char kTokenFooter[] = R"(
Example:
  umask 077                                 # what follows is for nobody else to read
  coppice-relay token --name device-17 > new
  head -n 1 new > device-17.token           # for the device
  tail -n 1 new >> devices.txt              # read by a running relay without a restart)";

struct KeygenFlags {
  std::string data_dir;
};

void AddKeygenFlags(CLI::App& app, KeygenFlags& flags) {
  app.description(kKeygenDescription);
  app.footer(kKeygenFooter);
  app.add_option("--data-dir", flags.data_dir, "The relay's folder; created if missing")
      ->type_name("DIR")
      ->required();
}

struct DeviceTokenFlags {
  std::string name;
  uint32_t tickets = Admission::kDefaultTickets;
};

void AddDeviceTokenFlags(CLI::App& app, DeviceTokenFlags& flags) {
  app.description(kTokenDescription);
  app.footer(kTokenFooter);
  app.add_option("--name", flags.name, "Whose token it is; tickets are counted by this name")
      ->type_name("NAME")
      ->required();
  app.add_option("--tickets", flags.tickets, "Tickets that it may take from each deal")
      ->type_name("N")
      ->check(CLI::Range(uint32_t{1}, Admission::kMaxTickets).description(""))
      ->capture_default_str();
}

// Draws 256 bits of the private generator; the prefix lets scanners find a token that leaked.
StatusOr<std::string> MakeDeviceToken() {
  OpenSslRandom random;
  std::string bytes;
  while (bytes.size() < 32) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t byte, random.UniformBelow(256));
    bytes.push_back(static_cast<char>(byte));
  }
  return StrCat("coppice_", WebSafeBase64Escape(bytes));
}

}  // namespace

int KeygenCommand(int argc, const char* const* argv) {
  const std::string program = "coppice-relay keygen";
  CLI::App app("", program);
  KeygenFlags flags;
  AddKeygenFlags(app, flags);
  if (const auto done = ReadLine(app, program, argc, argv); done.has_value()) return *done;
  const StatusOr<SigningKey> key = MakeRelayKey(flags.data_dir);
  if (!key.ok()) return Fail(program, key.status());
  std::cout << ToPin(key->public_key()) << "\n";
  return kExitDone;
}

int DeviceTokenCommand(int argc, const char* const* argv) {
  const std::string program = "coppice-relay token";
  CLI::App app("", program);
  DeviceTokenFlags flags;
  AddDeviceTokenFlags(app, flags);
  if (const auto done = ReadLine(app, program, argc, argv); done.has_value()) return *done;
  if (flags.name.find_first_of(" \t\r\n#") != std::string::npos) {
    return Complain(program, "--name needs a name without spaces and #, such as device-17");
  }
  const StatusOr<std::string> token = MakeDeviceToken();
  if (!token.ok()) return Fail(program, token.status());
  const Sha256Digest hash = Sha256({*token});
  std::cout << *token << "\n"
            << flags.name << " " << BytesToHexString(AsBytes(hash)) << " " << flags.tickets << "\n";
  return kExitDone;
}

void DescribeRelayCommands(CLI::App& program) {
  static KeygenFlags never_filled;
  static DeviceTokenFlags never_filled_either;
  AddKeygenFlags(*program.add_subcommand("keygen"), never_filled);
  AddDeviceTokenFlags(*program.add_subcommand("token"), never_filled_either);
}

}  // namespace coppice::relay
