#include "tests/faults/schedule.h"

#include <algorithm>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/faults/forgeries.h"

namespace coppice::testing {
namespace {

struct KindFacts {
  absl::string_view name;
  uint32_t weight;                 // how often it comes, relative to the others
  bool is_fault;                   // may be left out of a schedule
  std::array<uint32_t, 3> bounds;  // above each of its numbers; 0: it has no such number
};

constexpr std::array<KindFacts, kNumStepKinds> kKinds = {{
    {"offer", 10, false, {kDevices}},
    {"send", 60, false, {kDevices}},
    {"send_lost", 6, true, {kDevices}},
    {"send_unheard", 25, true, {kDevices}},
    {"send_late", 20, true, {kDevices}},
    {"send_twice", 15, true, {kDevices}},
    {"batch", 15, false, {kGateways, kSlots}},
    {"group", 20, false, {kDevices, 8}},
    {"arrive", 20, false, {8}},
    {"slow", 10, true, {}},
    {"flow", 10, false, {}},
    {"kill", 20, true, {40}},
    {"cut", 20, true, {40, 3, 1000}},
    {"start", 15, false, {}},
    {"stop", 4, true, {}},
    {"low", 5, true, {}},
    {"full", 8, true, {}},
    {"space", 12, false, {}},
    {"short_write", 10, true, {4}},
    {"failed_sync", 10, true, {4}},
    {"clock", 12, true, {7}},
    {"seal", 5, true, {kSlots}},
    {"remake", 3, true, {kSlots}},
    {"model", 5, true, {kSlots}},
    {"gateway", 6, true, {kGateways}},
    {"snapshot", 4, true, {}},
    {"put_back", 2, true, {}},
    {"backup", 8, true, {}},
    {"backup_busy", 8, true, {kDevices, 8, 24}},
    {"restore", 4, true, {2}},
    {"resend", 6, true, {kGateways, kSlots}},
    {"anew", 10, true, {kDevices}},
    {"forged", 14, true, {kDevices, kReportForgeries}},
    {"bad_token", 5, true, {kDevices, kTokenMistakes}},
    {"impostor", 8, true, {kDevices, kManifestForgeries}},
    {"rotate", 6, true, {2}},
    {"break", 1, true, {2}},
    {"stranger", 2, true, {}},
    {"pin", 5, true, {kGateways}},
}};

const KindFacts& FactsOf(StepKind kind) { return kKinds[static_cast<size_t>(kind)]; }

bool StopsCurator(StepKind kind) {
  return kind == StepKind::kKill || kind == StepKind::kCut || kind == StepKind::kStop ||
         kind == StepKind::kStranger;
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Schedule Make() {
    std::array<uint32_t, kNumStepKinds> weights{};
    for (size_t i = 0; i < kNumStepKinds; ++i) {
      weights[i] = kKinds[i].is_fault && Below(2) == 0 ? 0 : kKinds[i].weight;
    }
    std::discrete_distribution<size_t> kinds(weights.begin(), weights.end());
    const size_t length = 30 + Below(120);
    Schedule schedule;
    while (schedule.size() < length) {
      schedule.push_back(Number(static_cast<StepKind>(kinds(random_))));
      if (StopsCurator(schedule.back().kind)) AddStart(schedule, kinds);
    }
    return schedule;
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  Step Number(StepKind kind) {
    Step step{.kind = kind};
    for (size_t i = 0; i < step.numbers.size(); ++i) {
      if (const uint32_t bound = FactsOf(kind).bounds[i]; bound > 0) step.numbers[i] = Below(bound);
    }
    return step;
  }

  // Starts the curator soon: one that stays down shows little.
  void AddStart(Schedule& schedule, std::discrete_distribution<size_t>& kinds) {
    for (uint32_t down = Below(5); down > 0; --down) {
      schedule.push_back(Number(static_cast<StepKind>(kinds(random_))));
    }
    schedule.push_back({.kind = StepKind::kStart});
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
  Step step{.kind = static_cast<StepKind>(found - kKinds.begin())};
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

Schedule MakeSchedule(uint64_t seed) { return Maker(seed).Make(); }

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
  const auto still_fails = [&](const Schedule& smaller) {
    if (tries == 0) return false;
    --tries;
    return fails(smaller);
  };
  for (size_t width = schedule.size() / 2; width > 0; width = width == 1 ? 0 : width / 2) {
    for (size_t at = 0; at + width <= schedule.size();) {
      Schedule smaller = schedule;
      smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(at),
                    smaller.begin() + static_cast<std::ptrdiff_t>(at + width));
      if (still_fails(smaller)) {
        schedule = std::move(smaller);
      } else {
        at += width;
      }
    }
  }
  for (size_t at = 0; at < schedule.size(); ++at) {
    for (size_t i = 0; i < schedule[at].numbers.size(); ++i) {
      Schedule smaller = schedule;
      uint32_t& number = smaller[at].numbers[i];
      if (number == 0) continue;
      number = 0;
      if (still_fails(smaller)) schedule = std::move(smaller);
    }
  }
  return schedule;
}

}  // namespace coppice::testing
