// coppice-lab: runs the curator's algorithms in one process on files, to see the accuracy to expect
// before a deployment, and to reproduce the papers' tables.
//
// An accuracy measured on private rows is itself a release: use rows that you may look at.

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "server/lab/commands.h"

namespace coppice::lab {
namespace {

template <typename Flags>
void AddLabCommand(CommandLine& line, const std::string& name, const std::string& description,
                   void (*add_flags)(const Command&, Flags&), Status (*run)(const Flags&),
                   Status (*check)(const Flags&), const std::string& example = "") {
  const auto flags = std::make_shared<Flags>();
  const Command command = line.AddCommand(name, description, example);
  add_flags(command, *flags);
  command.Run([flags, run] { return run(*flags); },
              [flags, check] { return check == nullptr ? OkStatus() : check(*flags); });
}

int Main(int argc, const char* const* argv) {
  CommandLine line("coppice-lab", "coppice-lab " COPPICE_VERSION,
                   "Coppice's algorithms in one process, to try on rows that you may look at.");
  AddLabCommand(line, "local", "accuracy of a study under local privacy", AddLocalFlags, RunLocal,
                CheckLocalFlags);
  AddLabCommand<CentralFlags>(line, "central", "accuracy of a model trained on a whole table",
                              AddCentralFlags, RunCentral, nullptr);
  AddLabCommand(line, "curve", "accuracy at each epsilon, on the same splits of one table",
                AddCurveFlags, RunCurve, CheckCurveFlags,
                "coppice-lab curve --data rows.csv --schema schema.json --algorithm auto,logistic "
                "--epsilon 0.1,0.5,1,2,4 --output-dir curve");
  AddLabCommand<PublicFlags>(line, "public", "accuracy of what public rows alone predict",
                             AddPublicFlags, RunPublic, nullptr,
                             "coppice-lab public --public public.csv --test test.csv --schema "
                             "schema.json");
  AddLabCommand<SynthesizeFlags>(line, "synthesize",
                                 "write the synthetic pair to files, to try the daemon with",
                                 AddSynthesizeFlags, RunSynthesize, nullptr,
                                 "coppice-lab synthesize --output-dir /tmp/synthetic");
  AddLabCommand(line, "audit", "a lower bound on the epsilon that a mechanism actually costs",
                AddAuditFlags, RunAuditCommand, CheckAuditFlags);
  AddLabCommand(
      line, "amplify",
      "the epsilon of local reports towards someone who cannot tell which device sent which",
      AddAmplifyFlags, RunAmplify, CheckAmplifyFlags,
      "coppice-lab amplify --local-epsilon 1,2,4 --reports 10000,1000000");
  AddLabCommand(line, "plan",
                "what accuracy to expect from a study, computed from public rows alone",
                AddPlanFlags, RunPlan, CheckPlanFlags);
  return line.Run(argc, argv);
}

}  // namespace
}  // namespace coppice::lab

int main(int argc, char** argv) { return coppice::lab::Main(argc, argv); }
