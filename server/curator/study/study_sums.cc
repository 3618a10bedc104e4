#include "server/curator/study/study_sums.h"

#include <chrono>
#include <numeric>
#include <utility>

namespace coppice::curator {
namespace {

// Seconds of a clock that is never set.
int64_t SteadySeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Counts Counts::operator+(const Counts& more) const {
  Counts sum = *this;
  for (size_t i = 0; i < outcomes.size(); ++i) sum.outcomes[i] += more.outcomes[i];
  sum.answered += more.answered;
  sum.failed += more.failed;
  return sum;
}

uint64_t Counts::Sum() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), uint64_t{0});
}

StudySums::StudySums(std::shared_ptr<const StudyForm> form, uint64_t min_reports, Snapshot progress)
    : form_(std::move(form)),
      min_reports_(min_reports),
      progress_(std::move(progress)),
      received_(progress_.counts.answered),
      history_(SteadySeconds()) {}

StudySums::Snapshot StudySums::Read() const {
  const MutexLock lock(mutex_);
  return progress_;
}

SharedSums StudySums::Of(uint32_t tree) const {
  const MutexLock lock(mutex_);
  return progress_.sums[tree];
}

Counts StudySums::counts() const {
  const MutexLock lock(mutex_);
  return progress_.counts;
}

void StudySums::Publish(std::vector<SharedSums> sums, const Counts& counts) {
  history_.Add(counts.outcomes, SteadySeconds());
  const MutexLock lock(mutex_);
  for (size_t tree = 0; tree < sums.size(); ++tree) {
    if (sums[tree] != nullptr) progress_.sums[tree] = std::move(sums[tree]);
  }
  progress_.counts = progress_.counts + counts;
}

void StudySums::Clear() {
  const MutexLock lock(mutex_);
  progress_.sums.clear();
}

ReportSteps StudySums::ReportsOverTime(int64_t now_unix_seconds) {
  return history_.Read(SteadySeconds(), now_unix_seconds);
}

std::vector<Alarm> StudySums::AlarmsOf(const Snapshot& progress) const {
  if (progress.counts.of(ReportOutcome::kAccepted) < min_reports_) return {};
  return form_->Alarms(progress.sums);
}

void StudySums::LookForAlarms(bool are_final) {
  if (last_look().was_final) return;
  const Snapshot progress = Read();
  const uint64_t reports = progress.counts.of(ReportOutcome::kAccepted);
  const bool has_grown = reports > looked_at_reports_ + looked_at_reports_ / 2;
  if (progress.sums.empty() || !(are_final || has_grown)) return;
  auto alarms = std::make_shared<const std::vector<Alarm>>(AlarmsOf(progress));
  looked_at_reports_ = reports;
  const MutexLock lock(mutex_);
  last_look_ = {.alarms = std::move(alarms), .was_final = are_final};
}

StudySums::Look StudySums::last_look() const {
  const MutexLock lock(mutex_);
  return last_look_;
}

}  // namespace coppice::curator
