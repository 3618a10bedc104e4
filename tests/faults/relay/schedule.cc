#include "tests/faults/relay/schedule.h"

#include <algorithm>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace coppice::relay_faults {
namespace {

struct KindFacts {
  absl::string_view name;
  uint32_t weight;                 // how often it comes, relative to the others
  bool is_fault;                   // may be left out of a schedule
  std::array<uint32_t, 2> bounds;  // above each of its numbers; 0: it has no such number
};

// Steps without a weight come only from the rounds of a schedule.
constexpr std::array<KindFacts, kNumStepKinds> kKinds = {{
    {"expiry", 0, false, {}},
    {"work", 20, false, {}},
    {"step", 20, false, {}},
    {"crowd_take", 0, false, {3}},
    {"crowd_send", 0, false, {2}},
    {"crowd_again", 5, true, {}},
    {"crowd_other", 5, true, {}},
    {"crowd_junk", 5, true, {}},
    {"no_claim", 5, true, {}},
    {"answer", 25, false, {kDevices}},
    {"answer_all", 0, false, {kGateways}},
    {"deliver_all", 0, false, {kGateways}},
    {"torn_answer", 4, true, {kDevices, 4}},
    {"deliver", 25, false, {kDevices}},
    {"gateway", 8, true, {kGateways}},
    {"lose_call", 10, true, {2}},
    {"relay_kill", 18, true, {40, 4}},
    {"relay_cut", 18, true, {40, 4}},
    {"relay_fails", 10, true, {40, 4}},
    {"relay_sync", 8, true, {}},
    {"relay_full", 6, true, {}},
    {"relay_space", 10, false, {}},
    {"relay_start", 10, false, {}},
    {"relay_stop", 4, true, {}},
    {"relay_clock", 4, true, {5}},
    {"snapshot", 6, true, {}},
    {"put_back", 5, true, {2}},
    {"twin", 5, true, {}},
    {"curator_kill", 40, true, {6, 2}},
    {"curator_fails", 16, true, {6, 2}},
    {"curator_full", 6, true, {}},
    {"curator_space", 10, false, {}},
    {"open_slow", 20, true, {3}},
    {"open_on", 8, false, {}},
    {"curator_start", 10, false, {}},
    {"curator_stop", 4, true, {}},
    {"curator_clock", 2, true, {5}},
    {"rotate", 5, true, {}},
    {"seal", 2, true, {}},
    {"sweep", 6, false, {}},
    {"model", 5, true, {}},
    {"lose_part", 16, true, {4, 2}},
    {"lose_offer", 5, true, {2}},
    {"twice", 8, true, {}},
    {"late", 12, true, {8}},
    {"pass", 15, false, {4}},
    {"end", 0, false, {}},
    {"forged", 14, true, {6}},
}};

const KindFacts& FactsOf(StepKind kind) { return kKinds[static_cast<size_t>(kind)]; }

bool StopsSomebody(StepKind kind) {
  return kind == StepKind::kRelayKill || kind == StepKind::kRelayCut ||
         kind == StepKind::kRelayStop || kind == StepKind::kCuratorKill ||
         kind == StepKind::kCuratorStop || kind == StepKind::kPutBack;
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Schedule Make() {
    std::array<uint32_t, kNumStepKinds> weights{};
    for (size_t i = 0; i < kNumStepKinds; ++i) {
      weights[i] = kKinds[i].is_fault && Below(2) == 0 ? 0 : kKinds[i].weight;
    }
    kinds_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
    if (Below(4) == 0) Add(StepKind::kExpiry);
    for (uint32_t rounds = 1 + Below(3); rounds > 0; --rounds) {
      AddDeal(/*is_sealed=*/rounds == 1 && Below(2) == 0);
    }
    return std::move(schedule_);
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  void Add(StepKind kind, std::array<uint32_t, 2> numbers = {}) {
    schedule_.push_back({.kind = kind, .numbers = numbers});
  }

  Step Number(StepKind kind) {
    Step step{.kind = kind};
    for (size_t i = 0; i < step.numbers.size(); ++i) {
      if (const uint32_t bound = FactsOf(kind).bounds[i]; bound > 0) step.numbers[i] = Below(bound);
    }
    return step;
  }

  // Starts a stopped process soon: one that stays down shows little.
  void AddFaults(uint32_t most) {
    for (uint32_t left = Below(most + 1); left > 0; --left) {
      schedule_.push_back(Number(static_cast<StepKind>(kinds_(random_))));
      if (!StopsSomebody(schedule_.back().kind)) continue;
      for (uint32_t down = Below(4); down > 0; --down) {
        schedule_.push_back(Number(static_cast<StepKind>(kinds_(random_))));
      }
      Start();
    }
  }
  void Start() {
    Add(StepKind::kCuratorStart);
    Add(StepKind::kRelayStart);
  }

  // Adds the deal's opening, reports, end and delivery, with faults between. The study may be
  // sealed while the batch is on its way.
  void AddDeal(bool is_sealed) {
    const bool is_large = Below(4) != 0;
    Start();
    Add(StepKind::kWork);
    AddFaults(4);
    Add(StepKind::kWork);
    for (uint32_t all = Below(3); all > 0; --all) Add(StepKind::kAnswerAll, {Below(kGateways)});
    Add(StepKind::kCrowdTake, {is_large ? 2u : Below(2)});
    AddFaults(5);
    for (uint32_t all = Below(5); all > 0; --all) Add(StepKind::kDeliverAll, {Below(kGateways)});
    Add(StepKind::kCrowdSend, {Below(2)});
    AddFaults(5);
    Start();
    Add(StepKind::kWork);
    Add(StepKind::kCrowdSend);
    AddFaults(4);
    Add(StepKind::kEnd);
    if (is_sealed) AddSealing();
    for (uint32_t tries = 2 + Below(4); tries > 0; --tries) {
      AddFaults(5);
      Add(Below(2) == 0 ? StepKind::kStep : StepKind::kWork);
    }
    Start();
    Add(StepKind::kPass, {2});
    Add(StepKind::kWork);
    AddFaults(3);
  }

  void AddSealing() {
    Add(StepKind::kOpenSlow, {Below(3)});
    for (uint32_t steps = 1 + Below(6); steps > 0; --steps) Add(StepKind::kStep);
    AddFaults(2);
    Add(StepKind::kSeal);
    Add(StepKind::kModel);
  }

  std::mt19937_64 random_;
  std::discrete_distribution<size_t> kinds_;
  Schedule schedule_;
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
  return schedule;
}

}  // namespace coppice::relay_faults
