// How long work learns that nobody waits for it any more: it asks between its steps.

#ifndef COPPICE_COMMON_BASE_CANCEL_CHECK_H_
#define COPPICE_COMMON_BASE_CANCEL_CHECK_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace coppice {

// Threads    as the function that it holds.
class CancelCheck {
 public:
  // Never stops anything.
  CancelCheck() = default;
  explicit CancelCheck(std::function<absl::Status()> ask) : ask_(std::move(ask)) {}

  // OK to go on; otherwise the status that the work returns at once, having changed nothing.
  absl::Status operator()() const { return ask_ ? ask_() : absl::OkStatus(); }

 private:
  std::function<absl::Status()> ask_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_CANCEL_CHECK_H_
