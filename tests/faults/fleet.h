// The devices: real journals and randomizing behind a few gateways, and rows that tell them apart.
//
// Device d answers the studies of slot d % kSlots through gateway d / kSlots % kGateways. Its row
// and label are such that, without noise, its report by laplace_joint is 1 in one cell, and no
// other device of the slot has that cell. Each gateway decides about curators by its pin and its
// memory of manifests, as client/device/trust.h does.
// There is no noise: the random source always says 0. Nothing here is private.
// Errors     those of JournalStore, Consent and Privatizer.

#ifndef COPPICE_TESTS_FAULTS_FLEET_H_
#define COPPICE_TESTS_FAULTS_FLEET_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/device/journal_store.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "server/curator/studies/studies.h"
#include "tests/faults/schedule.h"

namespace coppice::testing {

inline uint32_t SlotOf(uint32_t device) { return device % kSlots; }
inline uint32_t GatewayOf(uint32_t device) { return device / kSlots % kGateways; }

// Studies of kExpiringSlot end some time after they are made; those of kTokenSlot ask for tokens.
inline constexpr uint32_t kExpiringSlot = 1;
inline constexpr uint32_t kTokenSlot = 2;

// The device's neighbour whose studies ask for tokens.
inline uint32_t TokenDevice(uint32_t device) { return device - SlotOf(device) + kTokenSlot; }

// What the studies of a slot are made from; `id` tells them apart. They need two reports for a
// model; except those with tokens, they are retired a day or two after they are sealed.
curator::StudySpec FleetStudy(const std::string& id, uint32_t slot);

class Fleet {
 public:
  // Keeps journals in `folder`. If `trusting` (a planted bug), devices believe any manifest.
  Fleet(std::string folder, bool trusting);

  // Ends the gateway's process; another one opens its journal.
  Status RestartGateway(uint32_t gateway);

  void Pin(uint32_t gateway, const PublicKey& key) { offers_[gateway].curator_key = key; }
  // Whether the device's gateway accepts an offer with this manifest. A manifest that it already
  // has is sent again only if `always`.
  Status Admit(uint32_t device, const std::string& study, const curator::Studies::Offer& offer,
               const SignedManifest& manifest, int64_t now, bool always = false);

  // Answers the study unless the device already has; its report is then in the journal.
  Status Answer(uint32_t device, const curator::Studies::Offer& offer);
  // Does the same without a journal, as no device may.
  StatusOr<PrivateReport> AnswerAnew(uint32_t device, const curator::Studies::Offer& offer) const;

  // With the report also after its delivery: the journal forgets it, and the network does not.
  std::optional<JournalEntry> Find(uint32_t device, const std::string& study) const;
  // The gateway's devices that have answered the study; Undelivered() those not yet delivered.
  std::vector<uint32_t> Answered(uint32_t gateway, const std::string& study) const;
  std::vector<uint32_t> Undelivered(uint32_t gateway, const std::string& study) const;
  Status MarkDelivered(uint32_t device, const std::string& study);

  // The cell in which the device's report counts.
  static size_t CellOf(uint32_t device);

 private:
  std::string JournalPath(uint32_t gateway) const;

  std::string folder_;
  const bool trusting_;
  Policy policy_;
  std::array<OfferPolicy, kGateways> offers_{};
  std::array<std::unique_ptr<JournalStore>, kGateways> journals_;
  std::map<std::pair<uint32_t, std::string>, PrivateReport> copies_;  // by device and study
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_FLEET_H_
