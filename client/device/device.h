// One device: what it does about a study, from the question to the delivery.

#ifndef COPPICE_CLIENT_DEVICE_DEVICE_H_
#define COPPICE_CLIENT_DEVICE_DEVICE_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "client/device/curator_link.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "client/device/respondent.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"

namespace coppice {

// Guarantee  As Respondent: fetch, read, always answer.
//            An answer goes only to the curator that asked, known by its key.
// Errors     those of Respondent and of the link; DataLoss for a link that breaks its contract.
// Threads    safe to share; Answer() calls must not overlap.
class Device {
 public:
  // `subject` names whose row it is. The references must outlive the device.
  Device(std::string subject, const Policy& policy, Journal& journal, const CuratorLink& curator)
      : respondent_(std::move(subject), policy, journal), curator_(curator) {}

  // Returns OK once the journal holds this device's answer to `study`, new or old. `read` is called
  // once for a new answer; values that it leaves out count as missing.
  using ReadText = absl::FunctionRef<TextRow()>;
  Status Answer(std::string_view study, ReadText read, PrivateRandom& random,
                std::string_view submission_token = "") const;

  using Deliveries = coppice::Deliveries;
  // Sends the answers that wait for this curator, at once or on a schedule that does not depend on
  // rows. Call it whether or not Answer() succeeds: nothing else drains the queue.
  // FailedPrecondition, and nothing is sent, if answers wait and the owner opted out.
  StatusOr<Deliveries> Deliver() const;

  // Stops trying to deliver the answer to `study`, for studies that were deleted and curators that
  // are gone. NotFound if there is no such answer.
  Status GiveUp(std::string_view study) const { return respondent_.GiveUp(study); }

 private:
  Status DeliverOne(const JournalEntry& entry, Deliveries& deliveries) const;

  const Respondent respondent_;
  const CuratorLink& curator_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_DEVICE_H_
