// What a device agrees to, before it reads its row.

#ifndef COPPICE_CLIENT_DEVICE_POLICY_H_
#define COPPICE_CLIENT_DEVICE_POLICY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/terms/relay_promise.h"
#include "common/terms/signature.h"
#include "common/terms/terms.h"

namespace coppice {

// How an answer reaches the curator. A study takes reports in one of the two ways.
enum class DeliveryRoute : uint8_t {
  kDirect,        // from the device itself
  kThroughRelay,  // sealed, in a relay's batch
};

// The longest offer, of a tree and its path, that a device takes without another setting. Reading
// one takes up to 64 times as much memory.
inline constexpr uint32_t kUsualOfferBytes = 1u << 20;

// What a device demands of a study's manifest (trust.h) and of an offer that a curator makes itself
// (offer.h).
struct OfferPolicy {
  std::optional<PublicKey> curator_key{};  // the pin: trusted, as are the keys that it leads to
  bool demand_pin = false;                 // no study is answered without a pin
  uint64_t min_reports = 0;                // fewest reports that a model may be built from
  uint32_t max_offer_bytes = kUsualOfferBytes;  // a longer offer is declined
};

// What a device demands of a relay; see client/device/relay.
struct RelayPolicy {
  PublicKey relay_key{};                // the pin; it must not come from the curator
  uint64_t min_batch = kLeastMinBatch;  // fewest reports among which the curator finds the answer
  uint32_t max_offer_bytes = kUsualOfferBytes;  // a longer offer is declined
  // A sealed answer is sent at a random time, which does not depend on its ticket, at most this
  // long after the ticket came; 0 sends it at once.
  uint32_t max_send_delay_seconds = 60;
};

// What a device agrees to.
//
// Guarantee  Decisions depend on the policy, the offer's terms and the journal's sums, never on the
//            row: AllowsFetch() comes before an offer is fetched, Allows() before the row is read.
// Errors     FailedPrecondition, and ResourceExhausted for a full queue, in words for the device's
//            owner.
struct Policy {
  Budget max_epsilon;  // per report, also through a relay, which may collude with the curator
  // Per report sent to the curator itself, if set; more epsilon goes only through a relay.
  std::optional<Budget> max_epsilon_direct = {};
  std::optional<Budget> max_total_epsilon = {};  // for all reports of a subject together, if set
  bool opted_out = false;                        // no offer is fetched
  std::optional<uint64_t> max_waiting = {};      // answers that wait for delivery, if set
  // The journal's size, if set: the oldest delivered reports make room; if that is not enough, no
  // offer is fetched.
  std::optional<uint64_t> max_journal_bytes = {};
  // The schema that the device declares for its own rows. If set, studies must agree with it; a
  // study that is joined by an id only on the label, as devices have none of its features, and the
  // id must be neither a feature nor the label of this schema.
  std::shared_ptr<const Schema> own_schema = nullptr;
  // Names of features that may be sent in the clear where a study marks them as public: as the
  // study's schema codes them, so that coarse bounds or values stay coarse.
  std::vector<std::string> allowed_in_clear = {};
  // Names of ids by which studies may join. A report shows the column's text as it is, which lets
  // the curator join to it the features that it already holds of the id's owner. Apart from the
  // list above: the same name in it would let a curator that calls the feature an id have its text.
  std::vector<std::string> join_ids = {};

  // InvalidArgument if a name is in both lists: it cannot be a feature, which is sent as coarse as
  // the study's schema is, and an id, which is sent as it is. For the doors, which take the lists
  // from an owner; a curator that calls the feature an id would have its text.
  Status CheckLists() const;

  // OK if an offer may be fetched while `waiting` answers wait for delivery.
  Status AllowsFetch(uint64_t waiting) const;

  // OK if the subject may answer under `terms` this way. `spent` is the sum of the subject's
  // answers in the journal; empty if there are none.
  Status Allows(const Terms& terms, const std::optional<Budget>& spent,
                DeliveryRoute route = DeliveryRoute::kDirect) const;

 private:
  Status AllowsInClear(const Terms& terms) const;
  Status AllowsEpsilon(const Budget& epsilon, const std::optional<Budget>& spent,
                       DeliveryRoute route) const;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_POLICY_H_
