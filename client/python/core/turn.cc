#include "client/python/core/turn.h"

#include "client/python/core/bindings.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::python {

Status Turn::Begin() {
  if (owner_ == std::this_thread::get_id()) {
    return FailedPreconditionError(
        "a device, or another one of its subject and journal, is in a call of this thread: what "
        "reads the row, and handlers of signals, must not call it; call it after that call has "
        "returned");
  }
  while (!mutex_.try_lock_for(absl::ToChronoMilliseconds(kLook))) {
    COPPICE_RETURN_IF_ERROR(CheckSignals());
  }
  owner_ = std::this_thread::get_id();
  return OkStatus();
}

void Turn::End() {
  owner_ = std::thread::id();
  mutex_.unlock();
}

}  // namespace coppice::python
