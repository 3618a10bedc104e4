#include "common/command_line/reference.h"

#include <CLI/CLI.hpp>

#include "server/daemon/commands/commands.h"
#include "server/daemon/config/flags.h"

namespace coppice::daemon {

std::optional<int> RunReference(int argc, const char* const* argv) {
  DaemonFlags flags;
  return coppice::RunReference("coppiced", argc, argv, [&](CLI::App& app) {
    DescribeDaemon(app, flags);
    DescribeToken(app);
    DescribeKeyFile(app);
    DescribeOffline(app);
  });
}

}  // namespace coppice::daemon
