// A check that long work makes between its steps, to learn that nobody waits for its result.

#ifndef COPPICE_COMMON_BASE_CANCEL_CHECK_H_
#define COPPICE_COMMON_BASE_CANCEL_CHECK_H_

#include <functional>
#include <utility>

#include "common/base/status.h"

namespace coppice {

// Stops work on request. Threads: as the function that it holds.
class CancelCheck {
 public:
  // Never stops anything.
  CancelCheck() = default;
  explicit CancelCheck(std::function<Status()> ask) : ask_(std::move(ask)) {}

  // Returns OK to go on, else the status to return at once with nothing changed.
  Status operator()() const { return ask_ ? ask_() : OkStatus(); }

 private:
  std::function<Status()> ask_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_CANCEL_CHECK_H_
