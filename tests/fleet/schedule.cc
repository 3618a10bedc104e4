#include "tests/fleet/schedule.h"

#include <algorithm>
#include <random>
#include <string_view>

#include "common/base/status.h"

namespace coppice::fleet_faults {
namespace {

constexpr uint32_t kPauses = 6;
constexpr uint32_t kHows = 4;  // all states of a link except whole
constexpr uint32_t kWhom = kCurators + 1;

using Table = testing::StepTable<StepKind, kNumStepKinds, kMostNumbers>;

constexpr Table kTable(Table::Rows{{
    {"rest", 4, false, {kPauses}},
    {"kill", 10, true, {kWhom, 6, kPauses}},
    {"pause", 10, true, {kWhom, 14, kPauses}},
    {"drain", 6, true, {kWhom, kPauses}},
    {"skew", 4, true, {kCurators, 4, kPauses}},
    {"cut_db", 14, true, {kWhom, kHows, 14, kPauses}},
    {"cut_balancer", 12, true, {kWhom, kHows, 12, kPauses}},
    {"end_sessions", 6, true, {3, kPauses}},
    {"hang_db", 3, true, {12, kPauses}},
    {"stop_db", 4, true, {8, kPauses}},
    {"failover", 0, false, {3, 8, kPauses}},
    {"hang_replica", 0, false, {12, kPauses}},
}});

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Schedule Make(const ScheduleOptions& options) {
    auto weights = kTable.DrawWeights(random_);
    if (options.failover) weights[static_cast<size_t>(StepKind::kHangReplica)] = 4;
    std::discrete_distribution<size_t> kinds(weights.begin(), weights.end());
    const size_t length = 4 + Below(6);
    Schedule schedule;
    while (schedule.size() < length) {
      schedule.push_back(kTable.Draw(static_cast<StepKind>(kinds(random_)), random_));
    }
    if (options.failover) {
      schedule.insert(schedule.begin() + Below(static_cast<uint32_t>(length)),
                      kTable.Draw(StepKind::kFailover, random_));
    }
    return schedule;
  }

 private:
  uint32_t Below(uint32_t bound) { return testing::DrawBelow(bound, random_); }

  std::mt19937_64 random_;
};

}  // namespace

Schedule MakeSchedule(uint64_t seed, const ScheduleOptions& options) {
  return Maker(seed).Make(options);
}

uint32_t PauseOf(const Step& step) {
  const auto& bounds = kTable.FactsOf(step.kind).bounds;
  const auto numbers = static_cast<size_t>(
      std::count_if(bounds.begin(), bounds.end(), [](uint32_t bound) { return bound > 0; }));
  return step.numbers[numbers - 1];
}

bool IsOfDatabase(StepKind kind) {
  return kind == StepKind::kStopDatabase || kind == StepKind::kHangDatabase ||
         kind == StepKind::kFailover || kind == StepKind::kHangReplica;
}

std::string ToText(const Step& step) { return kTable.ToText(step); }
std::string ToText(absl::Span<const Step> schedule) { return kTable.ToText(schedule); }
StatusOr<Schedule> ParseSchedule(std::string_view text) { return kTable.Parse(text); }

}  // namespace coppice::fleet_faults
