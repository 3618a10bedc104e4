#include "client/cli/app.h"

#include <iostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/admin.h"
#include "client/cli/central/dataset.h"
#include "client/cli/central/train.h"
#include "client/cli/health.h"
#include "client/cli/models/endpoint.h"
#include "client/cli/models/model.h"
#include "client/cli/studies/collect.h"
#include "client/cli/studies/study.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "common/base/printable.h"

namespace coppice::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// The subcommand that was being parsed, for the hint.
std::string Invoked(const CLI::App& app) {
  for (const CLI::App* noun : app.get_subcommands()) {
    return absl::StrCat(" ", noun->get_name(), Invoked(*noun));
  }
  return "";
}

int Explain(const CLI::App& app, const CLI::ParseError& error) {
  const bool asked_for = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
  if (asked_for) return app.exit(error, std::cout, std::cerr);  // --help or --version
  std::cerr << "coppice: " << error.what() << "\nSee `coppice" << Invoked(app) << " --help`.\n";
  return kWrongUsage;
}

// A noun's help would show the program's own example otherwise.
void AddExamplesOfNouns(CLI::App& app) {
  for (CLI::App* noun : app.get_subcommands({})) {
    const std::vector<CLI::App*> verbs = noun->get_subcommands({});
    if (verbs.empty()) continue;
    noun->footer(absl::StrCat("Example:\n  coppice ", noun->get_name(), " ",
                              verbs.front()->get_name(), " --help"));
  }
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  CLI::App app("Decision trees learned under differential privacy.", "coppice");
  app.footer("Example:\n  coppice study create --help");
  app.set_version_flag("--version", "coppice " COPPICE_VERSION);
  app.require_subcommand(1);
  Action action;
  AddStudyCommands(app, action);
  AddCollectCommands(app, action);
  AddModelCommands(app, action);
  AddEndpointCommands(app, action);
  AddDatasetCommands(app, action);
  AddTrainCommands(app, action);
  AddAdminCommands(app, action);
  AddHealthCommand(app, action);
  AddExamplesOfNouns(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Explain(app, error);
  }
  const absl::Status status = action();
  if (status.ok()) return 0;
  Note(absl::StrCat("coppice: ", Printable(status.message())));
  return kFailed;
}

}  // namespace coppice::cli
