// One device: what it does about a study, from the question to the delivery.

#ifndef COPPICE_CLIENT_DEVICE_H_
#define COPPICE_CLIENT_DEVICE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/curator_link.h"
#include "client/journal.h"
#include "client/policy.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"

namespace coppice {

// Guarantee  The order is fetch, read, always answer. Opting out, the history and a full queue are
//            looked at before an offer is fetched; the policy decides on the offer's terms; only
//            then is the row read, and from there on there is an answer whatever it holds
//            (responder.h). So declining to answer leaks nothing of the row. Where a study is
//            joined by an id, a row whose id is missing or too long is not answered, which tells
//            of the id alone; it may be answered later, with an id.
//            An answer goes to the curator that asked, known by its key, and to nobody else.
// Errors     FailedPrecondition: opted out, the offer is declined, the study was answered for
//            another curator, or nobody vouches for this one. InvalidArgument: the row has no id
//            that the study could be joined by. ResourceExhausted: the queue is full.
//            DataLoss: a link that breaks its contract. Otherwise those of the link, the journal
//            and the random source.
// Threads    safe to share; Answer() calls must not overlap.
class Device {
 public:
  // `subject` is whose row it is. All must outlive the device.
  Device(std::string subject, const Policy& policy, Journal& journal, const CuratorLink& curator)
      : subject_(std::move(subject)), policy_(policy), journal_(journal), curator_(curator) {}

  // OK when the journal holds this device's answer to `study`, from now or from before. `read` is
  // called once for a new answer; what it leaves out is missing.
  using ReadText = absl::FunctionRef<TextRow()>;
  absl::Status Answer(absl::string_view study, ReadText read, PrivateRandom& random,
                      absl::string_view submission_token = "") const;

  struct Deliveries {
    uint64_t delivered = 0;            // counted, now or before
    uint64_t of_other_curators = 0;    // kept, and not sent
    std::vector<std::string> unknown;  // studies that the curator does not know; kept
    std::vector<std::string> refused;  // for good, and why
  };
  // Sends what waits for this curator. May be called at any time: at once, or on a schedule that
  // does not depend on rows. Call it whether or not Answer() succeeds: a queue drains no other way.
  absl::StatusOr<Deliveries> Deliver() const;

  // Ends the waiting of the answer to `study`, which is not delivered then. For studies that were
  // deleted, and curators that are gone. NotFound if there is no such answer.
  absl::Status GiveUp(absl::string_view study) const;

 private:
  // The study's offer, from a curator that the journal knows by its key.
  absl::StatusOr<Offer> Fetch(absl::string_view study, absl::string_view submission_token) const;
  absl::Status DeliverOne(const JournalEntry& entry, Deliveries& deliveries) const;

  const std::string subject_;
  const Policy& policy_;
  Journal& journal_;
  const CuratorLink& curator_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_H_
