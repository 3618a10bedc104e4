#include "tests/faults/relay/schedule.h"

#include <algorithm>
#include <random>
#include <string_view>

#include "common/base/status.h"

namespace coppice::relay_faults {
namespace {

using Table = testing::StepTable<StepKind, kNumStepKinds, 2>;

// Steps without a weight come only from the rounds of a schedule.
constexpr Table kTable(Table::Rows{{
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
}});

bool StopsSomebody(StepKind kind) {
  return kind == StepKind::kRelayKill || kind == StepKind::kRelayCut ||
         kind == StepKind::kRelayStop || kind == StepKind::kCuratorKill ||
         kind == StepKind::kCuratorStop || kind == StepKind::kPutBack;
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Schedule Make() {
    auto weights = kTable.DrawWeights(random_);
    kinds_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
    if (Below(4) == 0) Add(StepKind::kExpiry);
    for (uint32_t rounds = 1 + Below(3); rounds > 0; --rounds) {
      AddDeal(/*is_sealed=*/rounds == 1 && Below(2) == 0);
    }
    return std::move(schedule_);
  }

 private:
  uint32_t Below(uint32_t bound) { return testing::DrawBelow(bound, random_); }

  void Add(StepKind kind, std::array<uint32_t, 2> numbers = {}) {
    schedule_.push_back({.kind = kind, .numbers = numbers});
  }

  // Starts a stopped process soon: one that stays down shows little.
  void AddFaults(uint32_t most) {
    for (uint32_t left = Below(most + 1); left > 0; --left) {
      schedule_.push_back(kTable.Draw(static_cast<StepKind>(kinds_(random_)), random_));
      if (!StopsSomebody(schedule_.back().kind)) continue;
      for (uint32_t down = Below(4); down > 0; --down) {
        schedule_.push_back(kTable.Draw(static_cast<StepKind>(kinds_(random_)), random_));
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

}  // namespace

Schedule MakeSchedule(uint64_t seed) { return Maker(seed).Make(); }

std::string ToText(const Step& step) { return kTable.ToText(step); }
std::string ToText(absl::Span<const Step> schedule) { return kTable.ToText(schedule); }
StatusOr<Schedule> ParseSchedule(std::string_view text) { return kTable.Parse(text); }

}  // namespace coppice::relay_faults
