// The relay as a device sees it: who deals tickets and keeps sealed reports. RelayClient, over
// gRPC, is one.

#ifndef COPPICE_CLIENT_DEVICE_RELAY_RELAY_LINK_H_
#define COPPICE_CLIENT_DEVICE_RELAY_RELAY_LINK_H_

#include <string>
#include <string_view>

#include "client/device/journal.h"
#include "client/device/messages/relay_messages.h"
#include "common/base/status.h"
#include "common/terms/relay_promise.h"

namespace coppice {

// Guarantee  What comes is returned unchecked, and what is sent is the same bytes at every try.
// Errors     those of the transport, and DataLoss for an answer that is none.
// Threads    safe to share.
class RelayLink {
 public:
  virtual ~RelayLink() = default;

  virtual const std::string& address() const = 0;  // HOST:PORT

  // What a device decides by; deal.h checks it.
  virtual StatusOr<DealOffer> GetRelayTerms(std::string_view study) const = 0;
  // A ticket in its envelope, another one at each call.
  virtual StatusOr<std::string> TakeOffer(std::string_view study, const EpochId& epoch) const = 0;
  // `entry` must be sealed.
  virtual StatusOr<SubmitOutcome> Submit(const JournalEntry& entry) const = 0;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_RELAY_RELAY_LINK_H_
