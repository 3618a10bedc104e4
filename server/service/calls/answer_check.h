// Whether an answer may still leave, as every transport asks.

#ifndef COPPICE_SERVER_SERVICE_CALLS_ANSWER_CHECK_H_
#define COPPICE_SERVER_SERVICE_CALLS_ANSWER_CHECK_H_

#include <functional>

#include "absl/status/status.h"

namespace coppice::service {

// Asked before each answer, error or message of a stream leaves; its error ends the call instead,
// and nothing else of the answer is sent. It may be asked by many threads at once, and must not
// wait.
using AnswerCheck = std::function<absl::Status()>;

// OK if `check` lets an answer leave; a null one lets all leave.
inline absl::Status MayAnswer(const AnswerCheck& check) {
  return check == nullptr ? absl::OkStatus() : check();
}

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLS_ANSWER_CHECK_H_
