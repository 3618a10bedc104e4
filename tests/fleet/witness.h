// What is known of reports, counts and jobs from outside, and whether all of it can be true of one
// curator that never fails:
//   1  a report is answered "accepted" at most once, and never in a call that began after another
//      call had heard that it is counted: else it was lost, or counts twice
//   2  it is answered "duplicate" only if another call has sent it before
//   3  it is never refused: the study is open and its ticket good
//   4  a count that is read is at least the number of reports that anybody had heard to be counted
//      before the read was sent, and at most the number sent by its answer
//   5  at the end every report is answered, and the store's books hold each exactly once
//   6  a job that was acknowledged is in its dataset's ledger, ends, and was charged if it gave a
//      model; the ledger's charges never exceed the cap
// Errors     a failed call says nothing of what it did: its report may count or not.
// Threads    safe to share.

#ifndef COPPICE_TESTS_FLEET_WITNESS_H_
#define COPPICE_TESTS_FLEET_WITNESS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/device/delivery.h"

namespace coppice::fleet_faults {

class Witness {
 public:
  struct Call {
    size_t device = 0;
    bool was_counted = false;  // some call had heard so when this one began
  };
  struct Totals {
    uint64_t calls = 0, accepted = 0, duplicates = 0, failed = 0, reads = 0;
    size_t devices = 0, counted = 0;  // counted: as far as any call heard
    absl::Duration longest_gap;       // between two acceptances
  };

  // Returns the number of a new device, which has one report.
  size_t AddDevice();

  Call BeginSend(size_t device);
  void EndSend(const Call& call, const DeliveryResult& result);
  void FailSend(const Call& call);

  // The least that a read beginning now must find.
  uint64_t BeginRead() const;
  void EndRead(uint64_t at_least, uint64_t found, const std::string& through);

  bool IsCounted(size_t device) const;
  absl::Time LastAcceptance() const;
  Totals totals() const;

  // Keeps the first violation only.
  void Blame(const std::string& violation);
  std::string violation() const;  // empty: none

 private:
  struct Device {
    uint32_t calls = 0;     // begun
    uint32_t accepted = 0;  // answers of "accepted"
    bool counted = false;
  };

  void BlameLocked(const std::string& violation);

  mutable std::mutex mutex_;
  std::vector<Device> devices_;
  size_t sent_ = 0;  // devices with a call
  Totals totals_;
  absl::Time last_acceptance_ = absl::InfinitePast();
  std::string violation_;
};

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_WITNESS_H_
