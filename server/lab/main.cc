// coppice-lab: the curator's algorithms in one process on files, to see what accuracy to expect
// before anything is deployed, and to reproduce the papers' tables.
//
// An accuracy measured on private rows is itself a release: use it on rows you may look at.

#include <iostream>

#include <CLI/CLI.hpp>

#include "server/lab/commands.h"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// Usage errors and --help arrive as exceptions of the parser, and end here.
int ExitFor(const CLI::App& app, const CLI::ParseError& error) {
  return app.exit(error) == 0 ? kDone : kWrongUsage;
}

int ExitWith(const absl::Status& status) {
  if (status.ok()) return kDone;
  std::cerr << "coppice-lab: " << status.message() << "\n";
  return kFailed;
}

int ExitWrongUsage(const absl::Status& usage) {
  std::cerr << "coppice-lab: " << usage.message() << "\n";
  return kWrongUsage;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Coppice's algorithms in one process, to try them on rows you may look at.",
               "coppice-lab");
  app.set_version_flag("--version", "coppice-lab " COPPICE_VERSION);
  app.require_subcommand(1);

  coppice::lab::LocalFlags flags;
  CLI::App* local = app.add_subcommand("local", "accuracy of a study under local privacy");
  coppice::lab::AddLocalFlags(*local, flags);
  coppice::lab::CentralFlags central_flags;
  CLI::App* central =
      app.add_subcommand("central", "accuracy of a model that is trained on a whole table");
  coppice::lab::AddCentralFlags(*central, central_flags);
  coppice::lab::SynthesizeFlags synthesize_flags;
  CLI::App* synthesize =
      app.add_subcommand("synthesize", "the synthetic pair as files, to try the daemon on");
  coppice::lab::AddSynthesizeFlags(*synthesize, synthesize_flags);
  coppice::lab::AuditFlags audit_flags;
  CLI::App* audit =
      app.add_subcommand("audit", "a lower bound on the epsilon that a mechanism really costs");
  coppice::lab::AddAuditFlags(*audit, audit_flags);
  coppice::lab::PlanFlags plan_flags;
  CLI::App* plan =
      app.add_subcommand("plan", "what accuracy to expect of a study, from public rows alone");
  coppice::lab::AddPlanFlags(*plan, plan_flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ExitFor(app, error);
  }

  if (audit->parsed()) {
    const absl::Status usage = coppice::lab::CheckAuditFlags(audit_flags);
    return usage.ok() ? ExitWith(coppice::lab::RunAuditCommand(audit_flags))
                      : ExitWrongUsage(usage);
  }
  if (plan->parsed()) {
    const absl::Status usage = coppice::lab::CheckPlanFlags(plan_flags);
    return usage.ok() ? ExitWith(coppice::lab::RunPlan(plan_flags)) : ExitWrongUsage(usage);
  }
  if (central->parsed()) return ExitWith(coppice::lab::RunCentral(central_flags));
  if (synthesize->parsed()) return ExitWith(coppice::lab::RunSynthesize(synthesize_flags));
  if (const absl::Status usage = coppice::lab::CheckLocalFlags(flags); !usage.ok()) {
    return ExitWrongUsage(usage);
  }
  return ExitWith(coppice::lab::RunLocal(flags));
}
