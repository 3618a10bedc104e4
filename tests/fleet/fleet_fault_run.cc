// fleet_fault_run [--schedules N] [--seed S] [--bug NAME] [--single] [--failover] [--folder DIR]
//                 [--replay "STEP, STEP, ..."] [--shrink TRIES] [--keep-going] [--keep]
//
// Runs schedules of faults over three curators with the seeds S, S + 1, ... and says what they met.
// Stops at the first that violates an invariant, and says where the logs are and how to try it
// again; the exit code is 1 then. COPPICE_BIN_DIR is where the programs are.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/fleet/schedule.h"
#include "tests/fleet/world.h"
#include "tests/integration/daemon.h"

namespace coppice::fleet_faults {
namespace {

// Longer than any fault: worth a look even though nothing was violated.
constexpr absl::Duration kLongGap = absl::Seconds(30);

struct Options {
  uint64_t schedules = 1000;
  uint64_t seed = 1;
  std::string bug = "none";
  bool single = false, failover = false, keep_going = false, keep = false;
  std::string folder = "/tmp";
  std::string replay;
  size_t shrink = 0;
};

void Print(const std::string& text) { std::printf("%s\n", text.c_str()), std::fflush(stdout); }

class Runner {
 public:
  Runner(const Options& options, std::string folder)
      : options_(options), folder_(std::move(folder)) {
    testing::Synthesize(folder_ + "/rows", "private=400,public=100,test=1");
  }

  int Run() {
    if (!options_.replay.empty()) return Replay();
    Tally tally;
    int failures = 0;
    for (uint64_t i = 0; i < options_.schedules; ++i) {
      const uint64_t seed = options_.seed + i;
      const Schedule schedule = MakeSchedule(seed, {.failover = options_.failover});
      const RunResult result = RunOnce(schedule, seed);
      tally.Add(result.tally);
      if (!result.violation.empty()) {
        ++failures;
        Print(StrCat("seed ", seed, ": ", result.violation, "\n  ", ToText(schedule),
                     "\n  logs in ", LogFolder(seed)));
        if (options_.shrink > 0) ShrinkIt(schedule, seed);
        if (!options_.keep_going || result.violation == "interrupted") break;
      } else if (result.tally.longest_gap > kLongGap) {
        has_long_gaps_ = true;
        Print(StrCat("seed ", seed, ": no report for ",
                     absl::FormatDuration(result.tally.longest_gap), "\n  ", ToText(schedule),
                     "\n  logs in ", LogFolder(seed)));
      } else if (!options_.keep) {
        std::filesystem::remove_all(LogFolder(seed));
      }
      if ((i + 1) % 10 == 0) Print(tally.ToText());
    }
    Print(StrCat(failures == 0 ? "every invariant held in " : StrCat(failures, " of "),
                 tally.ToText()));
    return failures == 0 ? 0 : 1;
  }

  // Whether a schedule that held is worth a look; its logs then stay.
  bool has_long_gaps() const { return has_long_gaps_; }

 private:
  std::string LogFolder(uint64_t seed) const { return StrCat(folder_, "/seed", seed); }

  RunResult RunOnce(const Schedule& schedule, uint64_t seed) {
    // A failover uses up its servers.
    if (options_.failover || database_ == nullptr) {
      database_ = options_.failover
                      ? std::make_unique<Database>(/*synchronous=*/options_.bug != "late_replica")
                      : std::make_unique<Database>();
    }
    return RunSchedule(schedule, *database_,
                       {.bug = BugNamed(options_.bug),
                        .seed = seed,
                        .fleet = !options_.single,
                        .rows = folder_ + "/rows",
                        .folder = LogFolder(seed),
                        .keep_logs = true,
                        .clock_library = testing::BinaryPath("../tests/libcoppice_test_clock.so")});
  }

  int Replay() {
    const StatusOr<Schedule> schedule = ParseSchedule(options_.replay);
    if (!schedule.ok()) return Print(schedule.status().ToString()), 2;
    int failures = 0;
    for (uint64_t i = 0; i < options_.schedules; ++i) {
      const RunResult result = RunOnce(*schedule, options_.seed + i);
      Print(result.violation.empty() ? "every invariant held: " + result.tally.ToText()
                                     : result.violation);
      failures += result.violation.empty() ? 0 : 1;
    }
    return failures == 0 ? 0 : 1;
  }

  // Times are real, so a schedule that is kept has failed once and may not fail again.
  void ShrinkIt(const Schedule& schedule, uint64_t seed) {
    const Schedule small = Shrink(schedule, options_.shrink, [&](absl::Span<const Step> steps) {
      return !RunOnce(Schedule(steps.begin(), steps.end()), seed).violation.empty();
    });
    Print(StrCat("to try it again: fleet_fault_run --schedules 10 --seed ", seed, " --replay \"",
                 ToText(small), "\""));
  }

  const Options options_;
  const std::string folder_;
  std::unique_ptr<Database> database_;
  bool has_long_gaps_ = false;
};

}  // namespace
}  // namespace coppice::fleet_faults

int main(int argc, char** argv) {
  coppice::fleet_faults::Options options;
  CLI::App app{"Runs schedules of faults over a fleet of curators."};
  app.add_option("--schedules", options.schedules, "how many; with --replay, how often");
  app.add_option("--seed", options.seed, "of the first");
  app.add_option("--bug", options.bug, "a planted bug, by its name in twins.h");
  app.add_flag("--single", options.single, "one daemon without a balancer");
  app.add_flag("--failover", options.failover, "a standby is promoted in each");
  app.add_flag("--keep-going", options.keep_going, "after a violation");
  app.add_flag("--keep", options.keep, "logs, also of schedules that held");
  app.add_option("--folder", options.folder, "where the files are");
  app.add_option("--replay", options.replay, "one schedule, as text");
  app.add_option("--shrink", options.shrink, "tries to take steps out of what failed");
  CLI11_PARSE(app, argc, argv);
  testing::InitGoogleTest();  // test helpers report failures through it
  std::signal(SIGTERM, [](int) { coppice::fleet_faults::Interrupt(); });
  std::signal(SIGINT, [](int) { coppice::fleet_faults::Interrupt(); });
  std::string folder = options.folder + "/coppice_fleet_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return std::perror("fleet_fault_run: --folder"), 2;
  coppice::fleet_faults::Runner runner(options, folder);
  const int code = runner.Run();
  if (code == 0 && !options.keep && !runner.has_long_gaps()) std::filesystem::remove_all(folder);
  return code;
}
