// A whole curator and its devices in one process, driven step by step by a schedule.
//
// Studies with its committer, RocksDB, the devices' journals and responders, gateways that decide
// by their pins and their memory of manifests, backups and their restoring are real. The disk
// (faulty_disk.h), the network, the clock, and what a crash leaves are simulated. Restoring itself
// meets no faults.
// A schedule is repeatable: a step waits for the committer and for RocksDB's threads before the
// next begins, and nothing depends on time. If answers go out beside commits, as in a daemon, it is
// luck which of them a crash cuts off.
// While writes wait, messages queue up at the curator and their senders give up waiting. A step
// that itself needs the store lets writes go on first.
// Threads    for one.

#ifndef COPPICE_TESTS_FAULTS_WORLD_H_
#define COPPICE_TESTS_FAULTS_WORLD_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "tests/faults/cast.h"
#include "tests/faults/schedule.h"
#include "tests/faults/twins.h"

namespace coppice::testing {

// What a run saw, to show that faults were met and not only planned.
struct Tally {
  uint64_t steps = 0;
  uint64_t crashes = 0;
  uint64_t failed_starts = 0;
  uint64_t submitted = 0;
  uint64_t accepted = 0;
  uint64_t duplicates = 0;
  uint64_t refused = 0;
  uint64_t failed = 0;    // answered with an error
  uint64_t lost = 0;      // the curator died before it answered
  uint64_t forged = 0;    // forged reports that were answered
  uint64_t declined = 0;  // offers that devices refused, since they do not trust the key
  uint64_t key_changes = 0;
  uint64_t retired = 0;  // studies
  uint64_t backups = 0;
  uint64_t failed_backups = 0;
  uint64_t restores = 0;  // of backups

  static constexpr std::array<faults::TallyPart<Tally>, 16> Parts();
};
constexpr std::array<faults::TallyPart<Tally>, 16> Tally::Parts() {
  return {{{&Tally::steps, "steps"},
           {&Tally::crashes, "crashes"},
           {&Tally::failed_starts, "starts that failed"},
           {&Tally::submitted, "reports received"},
           {&Tally::accepted, "accepted"},
           {&Tally::duplicates, "duplicates"},
           {&Tally::refused, "refused"},
           {&Tally::failed, "messages failed"},
           {&Tally::lost, "unanswered"},
           {&Tally::forged, "forged"},
           {&Tally::key_changes, "changes of the key"},
           {&Tally::declined, "offers declined"},
           {&Tally::retired, "studies retired"},
           {&Tally::backups, "backups"},
           {&Tally::failed_backups, "backups that failed"},
           {&Tally::restores, "backups restored"}}};
}

using RunResult = faults::RunResult<Tally>;

struct RunOptions {
  Bug bug = Bug::kNone;
  bool answer_beside_commits = false;  // StudiesLimits
};

// Runs `schedule` in a fresh folder inside `folder`, then lets everything work again and checks
// that every device is counted. A violation: "at step 12 (send 3): device 3 is counted 2 times".
RunResult RunSchedule(absl::Span<const Step> schedule, const std::string& folder,
                      const RunOptions& options = {});

// The cast of the curator and its disk (cast.h).
class CuratorCast : public faults::CastDefaults {
 public:
  using Step = testing::Step;
  using Bug = testing::Bug;
  using Tally = testing::Tally;
  static constexpr std::string_view kName = "fault_run";
  static constexpr std::string_view kTooLarge = "offer 99";
  static constexpr uint64_t kSchedules = 3000;

  // Answers go out beside commits, as in a daemon, so that a run is not the same again.
  explicit CuratorCast(bool beside = false) : beside_(beside) {}

  static std::vector<Bug> Bugs() { return AllBugs(); }
  static Schedule Make(uint64_t seed) { return MakeSchedule(seed); }
  static Schedule MakeFor(Bug, uint64_t seed) { return MakeSchedule(seed); }
  static std::string ToText(absl::Span<const Step> steps) { return testing::ToText(steps); }
  static StatusOr<Schedule> Parse(std::string_view text) { return ParseSchedule(text); }

  void AddFlags(CLI::App& app);  // defined by the program alone
  std::string ReplayFlags() const { return beside_ ? " --beside" : ""; }
  RunResult Run(absl::Span<const Step> steps, uint64_t, const std::string& folder, Bug bug) const {
    return RunSchedule(steps, folder, {.bug = bug, .answer_beside_commits = beside_});
  }

 private:
  bool beside_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_WORLD_H_
