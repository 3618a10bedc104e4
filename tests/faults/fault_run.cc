// fault_run [--schedules N] [--seed S] [--bug NAME] [--beside] [--folder DIR]
//           [--replay "STEP, STEP, ..."]
//
// Runs schedules of faults with the seeds S, S + 1, ... and says what they met. Stops at the first
// that violates an invariant, takes out the steps it does not need, and says how to replay it; the
// exit code is then 1. The folder must exist, and is best one in memory.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "CLI/CLI.hpp"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/schedule.h"
#include "tests/faults/world.h"

namespace coppice::testing {
namespace {

struct Options {
  uint64_t schedules = 3000;
  uint64_t seed = 1;
  std::string bug = "none";
  bool beside = false;
  std::string folder = "/dev/shm";
  std::string replay;
};

Bug BugNamed(const std::string& name) {
  for (const Bug bug : AllBugs()) {
    if (BugName(bug) == name) return bug;
  }
  return Bug::kNone;
}

void Print(const std::string& text) { std::printf("%s\n", text.c_str()), std::fflush(stdout); }

std::string Summary(const Tally& tally) {
  return StrCat(tally.steps, " steps, ", tally.crashes, " crashes, ", tally.failed_starts,
                " starts that failed, ", tally.submitted, " reports received: ", tally.accepted,
                " accepted, ", tally.duplicates, " duplicates, ", tally.refused, " refused, ",
                tally.failed, " messages failed, ", tally.lost, " unanswered, ", tally.forged,
                " forged; ", tally.key_changes, " changes of the key, ", tally.declined,
                " offers declined; ", tally.retired, " studies retired; ", tally.backups,
                " backups, ", tally.failed_backups, " that failed, ", tally.restores, " restored");
}

int ShowFailure(const Schedule& schedule, const std::string& folder, const RunOptions& run,
                const std::string& violation) {
  Print(violation);
  Print("shrinking...");
  const Schedule small = Shrink(schedule, 400, [&](absl::Span<const Step> steps) {
    return !RunSchedule(steps, folder, run).violation.empty();
  });
  Print(RunSchedule(small, folder, run).violation);
  Print(StrCat("to see it again: fault_run --bug ", BugName(run.bug),
               run.answer_beside_commits ? " --beside" : "", " --replay \"", ToText(small), "\""));
  return 1;
}

int Run(const Options& options, const std::string& folder) {
  const RunOptions run{.bug = BugNamed(options.bug), .answer_beside_commits = options.beside};
  if (!options.replay.empty()) {
    const StatusOr<Schedule> schedule = ParseSchedule(options.replay);
    if (!schedule.ok()) return Print(schedule.status().ToString()), 2;
    const RunResult result = RunSchedule(*schedule, folder, run);
    Print(result.violation.empty() ? "every invariant held" : result.violation);
    return result.violation.empty() ? 0 : 1;
  }
  Tally tally;
  for (uint64_t i = 0; i < options.schedules; ++i) {
    const Schedule schedule = MakeSchedule(options.seed + i);
    const RunResult result = RunSchedule(schedule, folder, run);
    tally.Add(result.tally);
    if (!result.violation.empty()) {
      Print(StrCat("seed ", options.seed + i, " of ", i + 1, " schedules:"));
      return ShowFailure(schedule, folder, run, result.violation);
    }
    if ((i + 1) % 100 == 0) Print(StrCat(i + 1, " schedules: ", Summary(tally)));
  }
  Print(StrCat("every invariant held in ", options.schedules, " schedules: ", Summary(tally)));
  return 0;
}

}  // namespace
}  // namespace coppice::testing

int main(int argc, char** argv) {
  coppice::testing::Options options;
  CLI::App app{"Runs schedules of faults over the curator and its store."};
  app.add_option("--schedules", options.schedules, "how many");
  app.add_option("--seed", options.seed, "of the first");
  app.add_option("--bug", options.bug, "a planted bug, by its name in twins.h");
  app.add_flag("--beside", options.beside,
               "answers go out beside commits, so that a run is not the same again");
  app.add_option("--folder", options.folder, "where the files are");
  app.add_option("--replay", options.replay, "one schedule, as text");
  CLI11_PARSE(app, argc, argv);
  std::string folder = options.folder + "/coppice_faults_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return std::perror("fault_run: --folder"), 2;
  const int code = coppice::testing::Run(options, folder);
  std::filesystem::remove_all(folder);
  return code;
}
