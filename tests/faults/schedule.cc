#include "tests/faults/schedule.h"

#include <algorithm>
#include <random>
#include <string_view>

#include "common/base/status.h"
#include "tests/faults/forgeries.h"

namespace coppice::testing {
namespace {

using Table = StepTable<StepKind, kNumStepKinds, 3>;

constexpr Table kTable(Table::Rows{{
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
}});

bool StopsCurator(StepKind kind) {
  return kind == StepKind::kKill || kind == StepKind::kCut || kind == StepKind::kStop ||
         kind == StepKind::kStranger;
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Schedule Make() {
    auto weights = kTable.DrawWeights(random_);
    std::discrete_distribution<size_t> kinds(weights.begin(), weights.end());
    const size_t length = 30 + Below(120);
    Schedule schedule;
    while (schedule.size() < length) {
      schedule.push_back(kTable.Draw(static_cast<StepKind>(kinds(random_)), random_));
      if (StopsCurator(schedule.back().kind)) AddStart(schedule, kinds);
    }
    return schedule;
  }

 private:
  uint32_t Below(uint32_t bound) { return DrawBelow(bound, random_); }

  // Starts the curator soon: one that stays down shows little.
  void AddStart(Schedule& schedule, std::discrete_distribution<size_t>& kinds) {
    for (uint32_t down = Below(5); down > 0; --down) {
      schedule.push_back(kTable.Draw(static_cast<StepKind>(kinds(random_)), random_));
    }
    schedule.push_back({.kind = StepKind::kStart});
  }

  std::mt19937_64 random_;
};

}  // namespace

Schedule MakeSchedule(uint64_t seed) { return Maker(seed).Make(); }

std::string ToText(const Step& step) { return kTable.ToText(step); }
std::string ToText(absl::Span<const Step> schedule) { return kTable.ToText(schedule); }
StatusOr<Schedule> ParseSchedule(std::string_view text) { return kTable.Parse(text); }

}  // namespace coppice::testing
