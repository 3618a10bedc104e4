#include "server/curator/study/study_life.h"

namespace coppice::curator {

StudyLife StudyLifecycle::Get() const {
  const MutexLock lock(mutex_);
  return life_;
}

ReportOutcome StudyLifecycle::Admission() const {
  const MutexLock lock(mutex_);
  if (deleted_) return ReportOutcome::kUnknownStudy;
  if (life_.state == StudyState::kOpen) return ReportOutcome::kAccepted;
  return life_.expired ? ReportOutcome::kStudyExpired : ReportOutcome::kStudySealed;
}

ReportOutcome StudyLifecycle::AdmissionOfStored() const {
  const MutexLock lock(mutex_);
  if (deleted_) return ReportOutcome::kUnknownStudy;
  return life_.retired ? ReportOutcome::kStudySealed : ReportOutcome::kAccepted;
}

bool StudyLifecycle::IsOver(int64_t now_unix_seconds) const {
  return expires_unix_seconds_ != 0 && now_unix_seconds >= expires_unix_seconds_;
}

bool StudyLifecycle::IsDueToRetire(int64_t now_unix_seconds) const {
  constexpr int64_t kDay = 24 * 60 * 60;
  const StudyLife life = Get();
  return retention_days_ > 0 && life.state != StudyState::kOpen && !life.retired &&
         now_unix_seconds - life.sealed_unix_seconds >= kDay * retention_days_;
}

void StudyLifecycle::Advance(StudyLife life) {
  const MutexLock lock(mutex_);
  if (life.state >= life_.state) life_ = std::move(life);
}

void StudyLifecycle::MarkDeleted() {
  const MutexLock lock(mutex_);
  deleted_ = true;
}

}  // namespace coppice::curator
