#include "common/command_line/reference.h"

#include <CLI/CLI.hpp>

#include "server/relay/daemon/commands.h"
#include "server/relay/daemon/flags.h"

namespace coppice::relay {

std::optional<int> RunRelayReference(int argc, const char* const* argv) {
  RelayFlags flags;
  return RunReference("coppice-relay", argc, argv, [&](CLI::App& app) {
    DescribeRelay(app, flags);
    DescribeRelayCommands(app);
  });
}

}  // namespace coppice::relay
