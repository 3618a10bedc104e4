// The life of a study and the steps that it takes.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_LIFE_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_LIFE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "server/curator/study/study_info.h"
#include "server/curator/study/study_settings.h"

namespace coppice::curator {

// The stage of a study: open -> sealed -> built, one way.
//
// Guarantee  The functions below are the only steps, and each takes effect once: a step that does
//            not apply returns the life unchanged.
struct StudyLife {
  StudyState state = StudyState::kOpen;
  int64_t sealed_unix_seconds = 0;
  bool expired = false;     // sealed because its time was over
  std::string final_model;  // the first model built after sealing; set if built
  bool retired = false;     // its sums, public rows and spent tickets are deleted
  // A reader of models may have seen what follows from its sums before they were final: a model or
  // counts. Also set for a study of a version that did not note it.
  bool seen_early = false;

  bool operator==(const StudyLife&) const = default;
};

// The operator seals the study.
inline StudyLife Sealed(StudyLife life, int64_t unix_seconds) {
  if (life.state != StudyState::kOpen) return life;
  life.state = StudyState::kSealed;
  life.sealed_unix_seconds = unix_seconds;
  return life;
}

// The study's time is over. Even if noticed late, it is sealed as of `expires_unix_seconds`.
inline StudyLife Expired(StudyLife life, int64_t expires_unix_seconds) {
  if (life.state != StudyState::kOpen) return life;
  life = Sealed(std::move(life), expires_unix_seconds);
  life.expired = true;
  return life;
}

// A model of all the study's reports was built.
inline StudyLife Built(StudyLife life, std::string model) {
  if (life.state != StudyState::kSealed) return life;
  life.state = StudyState::kBuilt;
  life.final_model = std::move(model);
  return life;
}

// Somebody is about to see what follows from sums that are not final.
inline StudyLife SeenEarly(StudyLife life) {
  life.seen_early = true;
  return life;
}

// The study's retention is over. It stays sealed or built.
inline StudyLife Retired(StudyLife life) {
  life.retired = life.state != StudyState::kOpen;
  return life;
}

// The life that a study has now, and what it admits.
//
// Guarantee  Moves forward only; a study once deleted stays so. Ignores the clock but where it is
//            given a time: a study whose time is over must be sealed durably before anyone hears of
//            it, so that setting the clock back cannot reopen it.
// Threads    Safe to share. Only the committer moves it (intake.h), after the store did.
class StudyLifecycle {
 public:
  StudyLifecycle(const StudySettings& settings, StudyLife life)
      : expires_unix_seconds_(settings.expires_unix_seconds),
        retention_days_(settings.retention_days),
        life_(std::move(life)) {}

  StudyLife Get() const;
  // kAccepted if the study takes reports, else the reason for rejection.
  ReportOutcome Admission() const;
  // The same for reports that were stored before they were judged: only a deleted or retired study
  // rejects them.
  ReportOutcome AdmissionOfStored() const;

  // Whether the study's time is over, and the life that follows then.
  bool IsOver(int64_t now_unix_seconds) const;
  StudyLife OnceOver() const { return Expired(Get(), expires_unix_seconds_); }
  // Whether its retention is over and the retained data is still there.
  bool IsDueToRetire(int64_t now_unix_seconds) const;

  // Moves on to the next life, which must be stored. Leaves an earlier one aside.
  void Advance(StudyLife life);
  void MarkDeleted();

 private:
  const int64_t expires_unix_seconds_;  // 0: never
  const uint32_t retention_days_;       // 0: for good
  mutable Mutex mutex_;
  StudyLife life_ ABSL_GUARDED_BY(mutex_);
  bool deleted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_LIFE_H_
