// A refusal with a time to wait. The time travels with the status; each transport sends it to
// clients in its own way.

#ifndef COPPICE_SERVER_PROCESS_RETRY_AFTER_H_
#define COPPICE_SERVER_PROCESS_RETRY_AFTER_H_

#include <optional>

#include "absl/time/time.h"
#include "common/base/status.h"

namespace coppice::service {

// Adds the time that the caller should wait to `status`, which must not be OK.
Status AskToWait(Status status, absl::Duration wait);

// For calls that return ResourceExhausted only under load: such a status asks to wait a second.
Status AskToWaitForLoad(Status status);

// The wait given to AskToWait(), in whole milliseconds; none if it was not called.
std::optional<absl::Duration> WaitOf(const Status& status);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_PROCESS_RETRY_AFTER_H_
