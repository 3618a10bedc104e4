#include "server/curator/study/report_history.h"

#include <algorithm>
#include <cstdlib>

namespace coppice::curator {
namespace {

using StepOutcomes = std::array<uint64_t, kNumReportOutcomes>;

void AddTo(StepOutcomes& sum, const StepOutcomes& more) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

}  // namespace

void ReportHistory::Add(const StepOutcomes& outcomes, int64_t steady_seconds) {
  if (std::all_of(outcomes.begin(), outcomes.end(), [](uint64_t count) { return count == 0; })) {
    return;
  }
  const MutexLock lock(mutex_);
  const uint32_t index = StepAt(steady_seconds);
  if (steps_.empty() || steps_.back().index != index) steps_.push_back({.index = index});
  AddTo(steps_.back().outcomes, outcomes);
}

ReportSteps ReportHistory::Read(int64_t steady_seconds, int64_t unix_seconds) {
  const MutexLock lock(mutex_);
  const uint32_t last = StepAt(steady_seconds);
  // Two clocks of whole seconds differ by one at times; the steps' names ignore that.
  const int64_t begun_unix_seconds = unix_seconds - (steady_seconds - begun_);
  if (std::abs(begun_unix_seconds - begun_unix_seconds_) > 1) {
    begun_unix_seconds_ = begun_unix_seconds;
  }
  ReportSteps read{.step_seconds = step_seconds_,
                   .steps = std::vector<ReportSteps::Step>(size_t{last} + 1)};
  for (uint32_t i = 0; i <= last; ++i) {
    read.steps[i].begin_unix_seconds = begun_unix_seconds_ + int64_t{i} * step_seconds_;
  }
  for (const Step& step : steps_) read.steps[step.index].outcomes = step.outcomes;
  return read;
}

uint32_t ReportHistory::StepAt(int64_t steady_seconds) {
  const int64_t passed = std::max(steady_seconds - begun_, int64_t{0});
  while (passed / step_seconds_ >= kMaxSteps) MergeNeighbours();
  const auto index = static_cast<uint32_t>(passed / step_seconds_);
  return steps_.empty() ? index : std::max(index, steps_.back().index);
}

void ReportHistory::MergeNeighbours() {
  step_seconds_ *= 2;
  size_t kept = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step step = steps_[i];
    step.index /= 2;
    if (kept > 0 && steps_[kept - 1].index == step.index) {
      AddTo(steps_[kept - 1].outcomes, step.outcomes);
    } else {
      steps_[kept++] = step;
    }
  }
  steps_.resize(kept);
}

}  // namespace coppice::curator
