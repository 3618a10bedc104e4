// A fault world is one machine with three casts: the curator and its disk (tests/faults), a relay
// between devices and curator (tests/faults/relay), and a fleet of real processes (tests/fleet).
// Here is what they share: playing a schedule, adding up what runs met, bugs by name, and a
// world's folder. fault_run.h runs any cast from the command line, schedule_tests.h tests any.
//
// A cast is a class with these members, whose defaults are in CastDefaults:
//
//   Step, Bug, Tally               a schedule is a vector of Step; kNone of Bug is none
//   kName                          of its program, for replays
//   AddFlags(app)                  its flags besides those of fault_run.h
//   Make(seed)                     a schedule; MakeFor(bug, seed) one that should find the bug
//   Run(steps, seed, folder, bug)  plays it, a RunResult; and ToText(steps), Parse(text)

#ifndef COPPICE_TESTS_FAULTS_CAST_H_
#define COPPICE_TESTS_FAULTS_CAST_H_

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/private_random.h"

namespace CLI {
class App;
}

namespace coppice::faults {

template <typename Tally>
struct RunResult {
  std::string violation{};  // empty: everything held
  Tally tally{};
  std::string note{};  // worth a look although everything held; empty: nothing
};

// One number of a tally, and what it counts.
template <typename Tally>
struct TallyPart {
  uint64_t Tally::*count;
  std::string_view words;
};

// `Tally::Parts()` lists the numbers. They are added up, and told as "12 steps, 3 crashes, ...".
template <typename Tally>
void AddUp(const Tally& one, Tally& all) {
  for (const TallyPart<Tally>& part : Tally::Parts()) all.*part.count += one.*part.count;
}
template <typename Tally>
std::string TallyText(const Tally& tally) {
  std::string text;
  for (const TallyPart<Tally>& part : Tally::Parts()) {
    StrAppend(&text, text.empty() ? "" : ", ", tally.*part.count, " ", part.words);
  }
  return text;
}

// All bugs but kNone, which is the first of `count` + 1.
template <typename Bug>
std::vector<Bug> BugsUpTo(size_t count) {
  std::vector<Bug> bugs;
  for (size_t i = 1; i <= count; ++i) bugs.push_back(static_cast<Bug>(i));
  return bugs;
}

// Plays a schedule step by step until something is violated. Without a violation the world heals
// and is looked at once more.
//
// Threads    for one.
template <typename Step>
class World {
 public:
  virtual ~World() = default;

  // Returns "at step 12 (send 3): device 3 is counted 2 times", or nothing.
  std::string Play(absl::Span<const Step> schedule) {
    Begin(schedule);
    for (; steps_ < schedule.size() && violation_.empty(); ++steps_) {
      At(StrCat("step ", steps_ + 1, " (", ToText(schedule[steps_]), ")"));
      Do(schedule[steps_]);
      EndStep();
    }
    if (violation_.empty()) Finish();
    return violation_;
  }
  uint64_t steps() const { return steps_; }  // that were played

 protected:
  virtual void Begin(absl::Span<const Step> schedule) = 0;
  virtual void Do(const Step& step) = 0;
  virtual void EndStep() = 0;  // waits for what the step began, and looks at what must hold
  virtual void Finish() = 0;   // ends all faults, and looks at what must hold in the end

  void At(std::string where) { where_ = std::move(where); }
  // Only the first is kept.
  void Violation(std::string_view what) {
    if (violation_.empty()) violation_ = StrCat("at ", where_, ": ", what);
  }
  const std::string& violation() const { return violation_; }

 private:
  uint64_t steps_ = 0;
  std::string where_ = "the beginning";
  std::string violation_;
};

// A temporary folder, in memory if possible: simulated disks decide what was synced, and journals
// would wait for a real one.
class WorldFolder {
 public:
  explicit WorldFolder(const std::string& parent = HasMemory() ? "/dev/shm" : "/tmp")
      : path_(parent + "/coppice_faults_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~WorldFolder() {
    std::error_code ignored;
    if (!is_kept_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  WorldFolder(const WorldFolder&) = delete;
  WorldFolder& operator=(const WorldFolder&) = delete;

  const std::string& path() const { return path_; }  // empty: it could not be made
  void Keep() { is_kept_ = true; }

 private:
  static bool HasMemory() { return access("/dev/shm", W_OK | X_OK) == 0; }

  std::string path_;
  bool is_kept_ = false;
};

// Draws no noise, so that each report can be told from the others. Nothing here is private.
class NoNoise final : public PrivateRandom {
 public:
  StatusOr<uint64_t> UniformBelow(uint64_t) override { return 0; }
  StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return false; }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return 0; }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps> out) override {
    std::fill(out.begin(), out.end(), SignedSteps{0});
    return OkStatus();
  }
};

struct CastDefaults {
  static constexpr uint64_t kSchedules = 1000;  // unless --schedules or --seconds is given
  static constexpr uint64_t kTellEvery = 100;
  static constexpr size_t kShrinkTries = 400;
  static constexpr bool kKeepsLogs = false;  // of schedules that did not hold

  void AddFlags(CLI::App&) {}
  std::string ReplayFlags() const { return ""; }
  bool IsInterrupted() const { return false; }
};

}  // namespace coppice::faults

#endif  // COPPICE_TESTS_FAULTS_CAST_H_
