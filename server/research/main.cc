// coppice-research: runs the methods that the papers compare with on the rows and splits of
// coppice-lab, to compare their results with ours. It is built with the others but not installed.

#include <memory>

#include "common/command_line/command_line.h"
#include "server/research/commands.h"

namespace coppice::research {
namespace {

int Main(int argc, const char* const* argv) {
  CommandLine line("coppice-research", "coppice-research " COPPICE_VERSION,
                   "The methods that the papers compare with, as references. No model of theirs "
                   "is a release.");
  const auto run = std::make_shared<RunFlags>();
  const Command run_command = line.AddCommand(
      "run", "what a method scores on the rows and splits of coppice-lab local",
      "coppice-research run --method phist --synthetic private=10000,public=1000 --epsilon 2 "
      "--grid");
  AddRunFlags(run_command, *run);
  run_command.Run([run] { return Run(*run); }, [run] { return CheckRunFlags(*run); });
  const auto rademacher = std::make_shared<RademacherFlags>();
  const Command rademacher_command = line.AddCommand(
      "rademacher", "what margins promise of boosted one-rules, beside what these score",
      "coppice-research rademacher --synthetic private=10000,public=10 --epsilon 1");
  AddRademacherFlags(rademacher_command, *rademacher);
  rademacher_command.Run([rademacher] { return MeasureRademacher(*rademacher); },
                         [rademacher] { return CheckRademacherFlags(*rademacher); });
  const auto methods = std::make_shared<MethodsFlags>();
  const Command methods_command =
      line.AddCommand("methods", "the methods, and what each guarantees", "");
  AddMethodsFlags(methods_command, *methods);
  methods_command.Run([methods] { return ListMethods(*methods); });
  return line.Run(argc, argv);
}

}  // namespace
}  // namespace coppice::research

int main(int argc, char** argv) { return coppice::research::Main(argc, argv); }
