// How far a study has come: open -> sealed -> built, one way.
//
// Guarantee  a step forward is the only way to make another life of one, and a step that was taken
//            is not taken again: each function returns what it got if it does not apply.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_LIFE_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_LIFE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "server/curator/study/study_info.h"

namespace coppice::curator {

struct StudyLife {
  StudyState state = StudyState::kOpen;
  int64_t sealed_unix_seconds = 0;
  bool expired = false;     // sealed because its time was over
  std::string final_model;  // the first that was built after sealing; set if built
  bool retired = false;     // its sums, public rows and spent tickets are deleted

  bool operator==(const StudyLife&) const = default;
};

// By its operator.
inline StudyLife Sealed(StudyLife life, int64_t unix_seconds) {
  if (life.state != StudyState::kOpen) return life;
  life.state = StudyState::kSealed;
  life.sealed_unix_seconds = unix_seconds;
  return life;
}

// By the clock. Whenever that was noticed, nothing was taken after `expires_unix_seconds`.
inline StudyLife Expired(StudyLife life, int64_t expires_unix_seconds) {
  if (life.state != StudyState::kOpen) return life;
  life = Sealed(std::move(life), expires_unix_seconds);
  life.expired = true;
  return life;
}

// By a model of all its reports.
inline StudyLife Built(StudyLife life, std::string model) {
  if (life.state != StudyState::kSealed) return life;
  life.state = StudyState::kBuilt;
  life.final_model = std::move(model);
  return life;
}

// By the end of its retention. It stays sealed or built.
inline StudyLife Retired(StudyLife life) {
  life.retired = life.state != StudyState::kOpen;
  return life;
}

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_LIFE_H_
