// The devices: real journals and responders behind a few gateways, and rows that tell them apart.
//
// Device     d answers the studies of slot d % kSlots through gateway d / kSlots % kGateways. Its
//            row and label are such that, without noise, its report by laplace_joint is 1 in one
//            cell, and no other device of the slot has that cell.
// Curator    each gateway decides by its pin and its memory of manifests, as client/trust.h does.
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
#include "server/curator/studies/studies.h"
#include "tests/faults/schedule.h"

namespace coppice::testing {

inline uint32_t SlotOf(uint32_t device) { return device % kSlots; }
inline uint32_t GatewayOf(uint32_t device) { return device / kSlots % kGateways; }

// Studies of this slot end some time after they are made; of that one, they ask for tokens.
inline constexpr uint32_t kExpiringSlot = 1;
inline constexpr uint32_t kTokenSlot = 2;

// Its neighbour whose studies ask for tokens.
inline uint32_t TokenDevice(uint32_t device) { return device - SlotOf(device) + kTokenSlot; }

// What the studies of a slot are made from; `id` tells them apart. They need two reports for a
// model, and but for those with tokens they are retired a day or two after they are sealed.
curator::StudySpec FleetStudy(const std::string& id, uint32_t slot);

class Fleet {
 public:
  // Journals in `folder`. Whoever is `trusting` believes any manifest: what no device must.
  Fleet(std::string folder, bool trusting);

  // The gateway's process ends and another one opens its journal.
  absl::Status RestartGateway(uint32_t gateway);

  void Pin(uint32_t gateway, const PublicKey& key) { offers_[gateway].curator_key = key; }
  // Whether its gateway accepts an offer with this manifest. One that it has already is not sent
  // again, unless `always`.
  absl::Status Admit(uint32_t device, const std::string& study,
                     const curator::Studies::Offer& offer, const SignedManifest& manifest,
                     int64_t now, bool always = false);

  // Answers the study if the device has not yet: then its report is in the journal.
  absl::Status Answer(uint32_t device, const curator::Studies::Offer& offer);
  // The same without a journal: what a device must not do.
  absl::StatusOr<PrivateReport> AnswerAnew(uint32_t device,
                                           const curator::Studies::Offer& offer) const;

  std::optional<JournalEntry> Find(uint32_t device, const std::string& study) const;
  // The gateway's devices that have answered the study; or those of them that are not delivered.
  std::vector<uint32_t> Answered(uint32_t gateway, const std::string& study) const;
  std::vector<uint32_t> Undelivered(uint32_t gateway, const std::string& study) const;
  absl::Status MarkDelivered(uint32_t device, const std::string& study);

  // Where the device's report counts.
  static size_t CellOf(uint32_t device);

 private:
  std::string JournalPath(uint32_t gateway) const;

  std::string folder_;
  const bool trusting_;
  Policy policy_;
  std::array<OfferPolicy, kGateways> offers_{};
  std::array<std::unique_ptr<Journal>, kGateways> journals_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_FLEET_H_
