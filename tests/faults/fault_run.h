// The program of a cast (cast.h):
//
//   [--schedules N] [--seconds S] [--seed S] [--bug NAME] [--folder DIR] [--replay "STEP, STEP,
//   ..."]
//   [--shrink TRIES] [--keep-going] [--keep]
//
// Runs schedules of faults with the seeds S, S + 1, ... and says what they met. Stops at the first
// that violates an invariant, takes out the steps it does not need, and says how to replay it; the
// exit code is then 1.

#ifndef COPPICE_TESTS_FAULTS_FAULT_RUN_H_
#define COPPICE_TESTS_FAULTS_FAULT_RUN_H_

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/cast.h"
#include "tests/support/schedule.h"

namespace coppice::faults {

template <typename Cast>
class FaultRun {
 public:
  // Returns the exit code.
  static int Main(int argc, char** argv, const std::string& description) {
    FaultRun run;
    CLI::App app{description};
    run.AddFlags(app);
    CLI11_PARSE(app, argc, argv);
    return run.Start();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Bug = typename Cast::Bug;
  using Step = typename Cast::Step;
  using Schedule = std::vector<Step>;
  using Tally = typename Cast::Tally;

  static void Print(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }

  void AddFlags(CLI::App& app) {
    app.add_option("--schedules", schedules_, "how many; with --replay, how often");
    app.add_option("--seconds", seconds_, "for how long, whatever the number; 0: no limit");
    app.add_option("--seed", seed_, "of the first");
    app.add_option("--bug", bug_name_, "a planted bug, by its name in twins.h");
    app.add_option("--folder", parent_, "where the files are, best in memory");
    app.add_option("--replay", replay_, "one schedule, as text");
    app.add_option("--shrink", shrink_, "how often it tries to take steps out of what failed");
    app.add_flag("--keep-going", keep_going_, "after a violation");
    app.add_flag("--keep", keep_, "the files");
    cast_.AddFlags(app);
  }

  int Start() {
    if (!FindBug()) return Print(StrCat("--bug ", bug_name_, ": there is no such bug")), 2;
    parent_.empty() ? folder_.emplace() : folder_.emplace(parent_);
    if (folder_->path().empty()) return std::perror("--folder"), 2;
    const int code = replay_.empty() ? Run() : Replay();
    if (keep_ || (Cast::kKeepsLogs && (code != 0 || has_notes_))) folder_->Keep();
    return code;
  }

  bool FindBug() {
    if (bug_name_ == BugName(Bug::kNone)) return true;
    for (const Bug bug : Cast::Bugs()) {
      if (BugName(bug) == bug_name_) bug_ = bug;
    }
    return bug_ != Bug::kNone;
  }

  RunResult<Tally> Play(absl::Span<const Step> schedule, uint64_t seed) {
    return cast_.Run(schedule, seed, folder_->path(), bug_);
  }

  bool IsOver(uint64_t done, Clock::time_point start) const {
    if (cast_.IsInterrupted()) return true;
    if (seconds_ == 0) return done >= schedules_.value_or(Cast::kSchedules);
    return std::chrono::duration<double>(Clock::now() - start).count() >= seconds_;
  }

  int Run() {
    const Clock::time_point start = Clock::now();
    Tally tally;
    uint64_t done = 0, failures = 0;
    while (!IsOver(done, start)) {
      const uint64_t seed = seed_ + done++;
      const Schedule schedule = cast_.Make(seed);
      const RunResult<Tally> result = Play(schedule, seed);
      AddUp(result.tally, tally);
      if (!result.note.empty()) {
        has_notes_ = true;
        Print(StrCat("seed ", seed, ": ", result.note, "\n  ", Cast::ToText(schedule)));
      }
      if (!result.violation.empty()) {
        ++failures;
        ShowFailure(schedule, seed, result.violation);
        if (!keep_going_) break;
      }
      if (done % Cast::kTellEvery == 0) Print(StrCat(done, " schedules: ", TallyText(tally)));
    }
    Print(StrCat(failures == 0 ? "every invariant held in " : StrCat(failures, " failed of "), done,
                 " schedules: ", TallyText(tally)));
    return failures == 0 ? 0 : 1;
  }

  int Replay() {
    const StatusOr<Schedule> schedule = Cast::Parse(replay_);
    if (!schedule.ok()) return Print(schedule.status().ToString()), 2;
    bool held = true;
    for (uint64_t i = 0; i < schedules_.value_or(1) && !cast_.IsInterrupted(); ++i) {
      const RunResult<Tally> result = Play(*schedule, seed_ + i);
      held &= result.violation.empty();
      Print(TallyText(result.tally));
      Print(result.violation.empty() ? "every invariant held" : result.violation);
    }
    return held ? 0 : 1;
  }

  void ShowFailure(const Schedule& schedule, uint64_t seed, const std::string& violation) {
    Print(StrCat("seed ", seed, ": ", violation, "\n  ", Cast::ToText(schedule)));
    Schedule small = schedule;
    if (shrink_ > 0) {
      Print("shrinking...");
      small = testing::Shrink(schedule, shrink_, [&](absl::Span<const Step> steps) {
        return !Play(steps, seed).violation.empty();
      });
      Print(Play(small, seed).violation);
    }
    Print(StrCat("to see it again: ", Cast::kName, " --bug ", bug_name_, cast_.ReplayFlags(),
                 " --seed ", seed, " --replay \"", Cast::ToText(small), "\""));
  }

  Cast cast_;
  std::optional<uint64_t> schedules_;
  double seconds_ = 0;
  uint64_t seed_ = 1;
  std::string bug_name_ = std::string(BugName(Bug::kNone));
  Bug bug_ = Bug::kNone;
  std::string parent_, replay_;
  size_t shrink_ = Cast::kShrinkTries;
  bool keep_going_ = false, keep_ = false, has_notes_ = false;
  std::optional<WorldFolder> folder_;
};

}  // namespace coppice::faults

#endif  // COPPICE_TESTS_FAULTS_FAULT_RUN_H_
