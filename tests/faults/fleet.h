// The devices: real journals and responders behind a few gateways, and rows that tell them apart.
//
// Device     d answers the studies of slot d % kSlots through gateway d / kSlots % kGateways. Its
//            row and label are such that, without noise, its report by laplace_joint is 1 in one
//            cell, and no other device of the slot has that cell.
// Noise      none: the random source says 0 whenever it is asked. Nothing here is private.
// Errors     what Responder and Journal return.

#ifndef COPPICE_TESTS_FAULTS_FLEET_H_
#define COPPICE_TESTS_FAULTS_FLEET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/journal.h"
#include "client/policy.h"
#include "client/privatizer.h"
#include "server/curator/studies.h"
#include "tests/faults/schedule.h"

namespace coppice::testing {

inline uint32_t SlotOf(uint32_t device) { return device % kSlots; }
inline uint32_t GatewayOf(uint32_t device) { return device / kSlots % kGateways; }

// What all studies of this world are made from; `id` tells them apart.
StudySpec FleetStudy(const std::string& id);

class Fleet {
 public:
  // Journals in `folder`.
  explicit Fleet(std::string folder);

  // The gateway's process ends and another one opens its journal.
  absl::Status RestartGateway(uint32_t gateway);

  // Answers the study if the device has not yet: then its report is in the journal.
  absl::Status Answer(uint32_t device, const Studies::Offered& offer);
  // The same without a journal: what a device must not do.
  absl::StatusOr<PrivateReport> AnswerAnew(uint32_t device, const Studies::Offered& offer) const;

  std::optional<JournalEntry> Find(uint32_t device, const std::string& study) const;
  std::vector<uint32_t> Undelivered(uint32_t gateway, const std::string& study) const;
  absl::Status MarkDelivered(uint32_t device, const std::string& study);

  // Where the device's report counts.
  static size_t CellOf(uint32_t device);

 private:
  std::string JournalPath(uint32_t gateway) const;

  std::string folder_;
  Policy policy_;
  std::array<std::unique_ptr<Journal>, kGateways> journals_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_FLEET_H_
