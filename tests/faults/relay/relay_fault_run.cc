// relay_fault_run [--schedules N] [--seconds S] [--seed S] [--bug NAME] [--folder DIR]
//                 [--replay "STEP, STEP, ..."]
//
// Runs schedules of faults over relay, devices and curator, with the seeds S, S + 1, ..., and says
// what they met. Stops at the first that violates what must hold (book.h), takes out the steps it
// does not need, and says how to replay it; the exit code is then 1. The folder must exist, and is
// best one in memory.

#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "CLI/CLI.hpp"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/relay/schedule.h"
#include "tests/faults/relay/world.h"

namespace coppice::relay_faults {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  uint64_t schedules = 100;
  double seconds = 0;
  uint64_t seed = 1;
  std::string bug = "none";
  std::string folder = "/dev/shm";
  std::string replay;
};

void Print(const std::string& text) { std::printf("%s\n", text.c_str()), std::fflush(stdout); }

Bug BugNamed(const std::string& name) {
  for (const Bug bug : AllBugs()) {
    if (BugName(bug) == name) return bug;
  }
  return Bug::kNone;
}

int ShowFailure(const Schedule& schedule, const std::string& folder, Bug bug,
                const std::string& violation) {
  Print(violation);
  Print(ToText(schedule));
  Print("shrinking...");
  const Schedule small = Shrink(schedule, 150, [&](absl::Span<const Step> steps) {
    return !RunSchedule(steps, folder, bug).violation.empty();
  });
  Print(RunSchedule(small, folder, bug).violation);
  Print(StrCat("to see it again: relay_fault_run --bug ", BugName(bug), " --replay \"",
               ToText(small), "\""));
  return 1;
}

int Replay(const Options& options, const std::string& folder) {
  const StatusOr<Schedule> schedule = ParseSchedule(options.replay);
  if (!schedule.ok()) return Print(schedule.status().ToString()), 2;
  const RunResult result = RunSchedule(*schedule, folder, BugNamed(options.bug));
  Print(result.tally.ToString());
  Print(result.violation.empty() ? "everything held" : result.violation);
  return result.violation.empty() ? 0 : 1;
}

int Run(const Options& options, const std::string& folder) {
  if (!options.replay.empty()) return Replay(options, folder);
  const Bug bug = BugNamed(options.bug);
  const Clock::time_point start = Clock::now();
  const auto is_over = [&](uint64_t done) {
    if (options.seconds == 0) return done >= options.schedules;
    return std::chrono::duration<double>(Clock::now() - start).count() >= options.seconds;
  };
  Tally tally;
  uint64_t done = 0;
  for (; !is_over(done); ++done) {
    const Schedule schedule = MakeSchedule(options.seed + done);
    const RunResult result = RunSchedule(schedule, folder, bug);
    tally.Add(result.tally);
    if (!result.violation.empty()) {
      Print(StrCat("seed ", options.seed + done, " of ", done + 1, " schedules:"));
      return ShowFailure(schedule, folder, bug, result.violation);
    }
    if ((done + 1) % 50 == 0) Print(StrCat(done + 1, " schedules: ", tally.ToString()));
  }
  Print(StrCat("everything held in ", done, " schedules: ", tally.ToString()));
  return 0;
}

}  // namespace
}  // namespace coppice::relay_faults

int main(int argc, char** argv) {
  coppice::relay_faults::Options options;
  CLI::App app{"Runs schedules of faults over relay, devices and curator."};
  app.add_option("--schedules", options.schedules, "how many");
  app.add_option("--seconds", options.seconds, "for how long, whatever the number; 0: no limit");
  app.add_option("--seed", options.seed, "of the first");
  app.add_option("--bug", options.bug, "a planted bug, by its name in twins.h");
  app.add_option("--folder", options.folder, "where the files are");
  app.add_option("--replay", options.replay, "one schedule, as text");
  CLI11_PARSE(app, argc, argv);
  std::string folder = options.folder + "/coppice_relay_faults_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return std::perror("relay_fault_run: --folder"), 2;
  const int code = coppice::relay_faults::Run(options, folder);
  std::filesystem::remove_all(folder);
  return code;
}
