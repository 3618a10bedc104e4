// Decides whether an answer may still be sent; every transport asks.

#ifndef COPPICE_SERVER_SERVING_CALLS_ANSWER_CHECK_H_
#define COPPICE_SERVER_SERVING_CALLS_ANSWER_CHECK_H_

#include <functional>

#include "common/base/status.h"

namespace coppice::service {

// Called before each answer, error or message of a stream is sent. An error ends the call instead,
// and nothing else of the answer is sent. Many threads may call it at once; it must not block.
using AnswerCheck = std::function<Status()>;

// OK if `check` allows an answer; a null check allows all.
inline Status MayAnswer(const AnswerCheck& check) {
  return check == nullptr ? OkStatus() : check();
}

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_ANSWER_CHECK_H_
