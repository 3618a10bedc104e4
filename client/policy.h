// What a device agrees to, before it reads its row.
//
// Guarantee  an offer above either limit is refused before anything about the row is computed.

#ifndef COPPICE_CLIENT_POLICY_H_
#define COPPICE_CLIENT_POLICY_H_

#include <optional>

#include "absl/status/status.h"
#include "common/privacy/budget.h"

namespace coppice {

struct Policy {
  Budget max_epsilon;                       // of one report
  std::optional<Budget> max_total_epsilon;  // of all reports of this device together, if set

  // FailedPrecondition, in words for the device's owner, if one more report at `epsilon` exceeds a
  // limit. `spent` is what the journal adds up to; empty if it has no answer yet.
  absl::Status Allows(const Budget& epsilon, const std::optional<Budget>& spent) const;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_POLICY_H_
