// What a device agrees to, before it reads its row.
//
// Guarantee  an offer above either limit is refused before anything about the row is computed.

#ifndef COPPICE_CLIENT_POLICY_H_
#define COPPICE_CLIENT_POLICY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "common/privacy/budget.h"
#include "common/study/signature.h"

namespace coppice {

// What it demands of a study's manifest; see trust.h.
struct OfferPolicy {
  std::optional<PublicKey> curator_key{};  // the pin: this key's word, and that of those it led to
  bool demand_pin = false;                 // without one no study is answered
  uint64_t min_reports = 0;                // a model is to be built of at least so many
};

struct Policy {
  Budget max_epsilon;                       // of one report
  std::optional<Budget> max_total_epsilon;  // of all reports of this device together, if set

  // FailedPrecondition, in words for the device's owner, if one more report at `epsilon` exceeds a
  // limit. `spent` is what the journal adds up to; empty if it has no answer yet.
  absl::Status Allows(const Budget& epsilon, const std::optional<Budget>& spent) const;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_POLICY_H_
