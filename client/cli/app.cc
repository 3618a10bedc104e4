#include "client/cli/central/commands.h"
#include "client/cli/commands.h"
#include "client/cli/models/commands.h"
#include "client/cli/studies/commands.h"
#include "client/cli/tables/commands.h"
#include "common/command_line/command_line.h"

namespace coppice::cli {

int RunCommandLine(int argc, const char* const* argv) {
  CommandLine line("coppice", "coppice " COPPICE_VERSION,
                   "Decision trees learned under differential privacy.");
  line.SetExample("coppice study create --help");
  AddSchemaCommands(line);
  AddDataCommands(line);
  AddStudyCommands(line);
  AddCollectCommands(line);
  AddModelCommands(line);
  AddEndpointCommands(line);
  AddDatasetCommands(line);
  AddTrainCommands(line);
  AddAdminCommands(line);
  AddHealthCommand(line);
  return line.Run(argc, argv);
}

}  // namespace coppice::cli
