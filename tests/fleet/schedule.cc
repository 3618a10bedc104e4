#include "tests/fleet/schedule.h"

#include <algorithm>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace coppice::fleet_faults {
namespace {

constexpr uint32_t kPauses = 6;
constexpr uint32_t kHows = 4;  // all states of a link except whole
constexpr uint32_t kWhom = kCurators + 1;

struct KindFacts {
  absl::string_view name;
  uint32_t weight;                            // how often it comes, relative to the others
  bool is_fault;                              // may be left out of a schedule
  std::array<uint32_t, kMostNumbers> bounds;  // above each of its numbers; 0: it has no such number
};

constexpr std::array<KindFacts, kNumStepKinds> kKinds = {{
    {"rest", 4, false, {kPauses}},
    {"kill", 10, true, {kWhom, 6, kPauses}},
    {"pause", 10, true, {kWhom, 14, kPauses}},
    {"drain", 6, true, {kWhom, kPauses}},
    {"skew", 4, true, {kCurators, 4, kPauses}},
    {"cut_db", 14, true, {kWhom, kHows, 14, kPauses}},
    {"cut_peer", 8, true, {kWhom, kWhom, kHows, 12, kPauses}},
    {"cut_peers", 4, true, {kWhom, kHows, 12, kPauses}},
    {"end_sessions", 6, true, {3, kPauses}},
    {"hang_db", 3, true, {12, kPauses}},
    {"stop_db", 4, true, {8, kPauses}},
    {"failover", 0, false, {3, 8, kPauses}},
    {"hang_replica", 0, false, {12, kPauses}},
}};

const KindFacts& FactsOf(StepKind kind) { return kKinds[static_cast<size_t>(kind)]; }

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Schedule Make(const ScheduleOptions& options) {
    std::array<uint32_t, kNumStepKinds> weights{};
    for (size_t i = 0; i < kNumStepKinds; ++i) {
      weights[i] = kKinds[i].is_fault && Below(2) == 0 ? 0 : kKinds[i].weight;
    }
    if (options.failover) weights[static_cast<size_t>(StepKind::kHangReplica)] = 4;
    std::discrete_distribution<size_t> kinds(weights.begin(), weights.end());
    const size_t length = 4 + Below(6);
    Schedule schedule;
    while (schedule.size() < length) {
      schedule.push_back(Number(static_cast<StepKind>(kinds(random_))));
    }
    if (options.failover) {
      schedule.insert(schedule.begin() + Below(static_cast<uint32_t>(length)),
                      Number(StepKind::kFailover));
    }
    return schedule;
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  Step Number(StepKind kind) {
    Step step{.kind = kind, .numbers = {}};
    for (size_t i = 0; i < step.numbers.size(); ++i) {
      if (const uint32_t bound = FactsOf(kind).bounds[i]; bound > 0) step.numbers[i] = Below(bound);
    }
    return step;
  }

  std::mt19937_64 random_;
};

absl::StatusOr<Step> ParseStep(absl::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  const auto bad = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("step '", text, "': ", why));
  };
  if (words.empty()) return bad("is empty");
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const KindFacts& facts) { return facts.name == words[0]; });
  if (found == kKinds.end()) return bad("there is no such step");
  Step step{.kind = static_cast<StepKind>(found - kKinds.begin()), .numbers = {}};
  for (size_t i = 0; i < step.numbers.size(); ++i) {
    if (found->bounds[i] == 0) continue;
    if (i + 1 >= words.size() || !absl::SimpleAtoi(words[i + 1], &step.numbers[i]) ||
        step.numbers[i] >= found->bounds[i]) {
      return bad(absl::StrCat("number ", i + 1, " must be below ", found->bounds[i]));
    }
  }
  return step;
}

}  // namespace

Schedule MakeSchedule(uint64_t seed, const ScheduleOptions& options) {
  return Maker(seed).Make(options);
}

uint32_t PauseOf(const Step& step) {
  const auto& bounds = FactsOf(step.kind).bounds;
  const auto numbers = static_cast<size_t>(
      std::count_if(bounds.begin(), bounds.end(), [](uint32_t bound) { return bound > 0; }));
  return step.numbers[numbers - 1];
}

bool IsOfDatabase(StepKind kind) {
  return kind == StepKind::kStopDatabase || kind == StepKind::kHangDatabase ||
         kind == StepKind::kFailover || kind == StepKind::kHangReplica;
}

std::string ToText(const Step& step) {
  const KindFacts& facts = FactsOf(step.kind);
  std::string text(facts.name);
  for (size_t i = 0; i < step.numbers.size(); ++i) {
    if (facts.bounds[i] > 0) absl::StrAppend(&text, " ", step.numbers[i]);
  }
  return text;
}

std::string ToText(absl::Span<const Step> schedule) {
  std::string text;
  for (const Step& step : schedule) absl::StrAppend(&text, text.empty() ? "" : ", ", ToText(step));
  return text;
}

absl::StatusOr<Schedule> ParseSchedule(absl::string_view text) {
  Schedule schedule;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const absl::StatusOr<Step> step = ParseStep(part);
    if (!step.ok()) return step.status();
    schedule.push_back(*step);
  }
  return schedule;
}

Schedule Shrink(Schedule schedule, size_t tries,
                absl::FunctionRef<bool(absl::Span<const Step>)> fails) {
  for (size_t width = schedule.size() / 2; width > 0; width /= 2) {
    for (size_t at = 0; at + width <= schedule.size();) {
      if (tries-- == 0) return schedule;
      Schedule smaller = schedule;
      smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(at),
                    smaller.begin() + static_cast<std::ptrdiff_t>(at + width));
      if (fails(smaller)) {
        schedule = std::move(smaller);
      } else {
        at += width;
      }
    }
  }
  return schedule;
}

}  // namespace coppice::fleet_faults
