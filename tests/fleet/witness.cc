#include "tests/fleet/witness.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "common/base/text.h"

namespace coppice::fleet_faults {

size_t Witness::AddDevice() {
  const std::lock_guard lock(mutex_);
  devices_.emplace_back();
  return devices_.size() - 1;
}

Witness::Call Witness::BeginSend(size_t device) {
  const std::lock_guard lock(mutex_);
  ++totals_.calls;
  if (++devices_[device].calls == 1) ++sent_;
  return {.device = device, .was_counted = devices_[device].counted};
}

void Witness::EndSend(const Call& call, const DeliveryResult& result) {
  const std::lock_guard lock(mutex_);
  Device& device = devices_[call.device];
  if (result.delivery == Delivery::kAccepted) {
    ++totals_.accepted;
    if (++device.accepted > 1) {
      BlameLocked(StrCat("report ", call.device, " was accepted twice"));
    } else if (call.was_counted) {
      BlameLocked(StrCat("report ", call.device, " was accepted after it was known to be counted"));
    }
    const absl::Time now = absl::Now();
    if (last_acceptance_ != absl::InfinitePast()) {
      totals_.longest_gap = std::max(totals_.longest_gap, now - last_acceptance_);
    }
    last_acceptance_ = now;
  } else if (result.delivery == Delivery::kDuplicate) {
    ++totals_.duplicates;
    if (device.calls < 2) {
      BlameLocked(StrCat("report ", call.device, " is a duplicate, and was sent once"));
    }
  } else {
    BlameLocked(StrCat("report ", call.device, " was refused: ", result.reason));
  }
  if (!device.counted) ++totals_.counted;
  device.counted = true;
}

void Witness::FailSend(const Call&) {
  const std::lock_guard lock(mutex_);
  ++totals_.failed;
}

uint64_t Witness::BeginRead() const {
  const std::lock_guard lock(mutex_);
  return totals_.counted;
}

void Witness::EndRead(uint64_t at_least, uint64_t found, const std::string& through) {
  const std::lock_guard lock(mutex_);
  ++totals_.reads;
  if (found < at_least) {
    BlameLocked(StrCat("a stale read through ", through, ": ", found, " reports, where ", at_least,
                       " had been acknowledged before it was sent"));
  }
  if (found > sent_) {
    BlameLocked(StrCat("a read through ", through, " found ", found, " reports, where ", sent_,
                       " were ever sent"));
  }
}

bool Witness::IsCounted(size_t device) const {
  const std::lock_guard lock(mutex_);
  return devices_[device].counted;
}

absl::Time Witness::LastAcceptance() const {
  const std::lock_guard lock(mutex_);
  return last_acceptance_;
}

Witness::Totals Witness::totals() const {
  const std::lock_guard lock(mutex_);
  Totals totals = totals_;
  totals.devices = devices_.size();
  return totals;
}

void Witness::Blame(const std::string& violation) {
  const std::lock_guard lock(mutex_);
  BlameLocked(violation);
}

void Witness::BlameLocked(const std::string& violation) {
  if (violation_.empty()) violation_ = violation;
}

std::string Witness::violation() const {
  const std::lock_guard lock(mutex_);
  return violation_;
}

}  // namespace coppice::fleet_faults
