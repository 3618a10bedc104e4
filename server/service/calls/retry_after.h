// A refusal that says when to come again. It travels with the status, and each transport tells its
// clients in its own way.

#ifndef COPPICE_SERVER_SERVICE_CALLS_RETRY_AFTER_H_
#define COPPICE_SERVER_SERVICE_CALLS_RETRY_AFTER_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace coppice::service {

// `status`, which is not OK, and how long the caller should wait.
absl::Status AskToWait(absl::Status status, absl::Duration wait);

// For calls that say ResourceExhausted of load alone: such a status asks to wait for a second.
absl::Status AskToWaitForLoad(absl::Status status);

// What AskToWait() was told, in whole milliseconds; none if it was not called.
std::optional<absl::Duration> WaitOf(const absl::Status& status);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLS_RETRY_AFTER_H_
