// What a device reads and writes on the wire of a relay (proto/coppice/v1/relay.proto), without
// protobuf. All bytes that come are hostile until they are checked, which client/device/relay does.

#ifndef COPPICE_CLIENT_DEVICE_MESSAGES_RELAY_MESSAGES_H_
#define COPPICE_CLIENT_DEVICE_MESSAGES_RELAY_MESSAGES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "client/device/journal.h"
#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "common/terms/relay_promise.h"
#include "common/terms/signature.h"

namespace coppice {

// What a relay says of a deal, as it came.
struct DealOffer {
  std::string relay_terms{};  // what the relay signs, after kRelayDomain
  Signature signature{};
  std::string terms{};  // the study's
  SignedManifest manifest{};
};

// What became of a sealed report. All are final.
enum class SubmitOutcome : uint8_t {
  kStored,     // on the relay's disk, now or before
  kConflict,   // the ticket has another report, which stays
  kClosed,     // too late
  kUnknown,    // the relay has no such deal, or the ticket is not this device's
  kBadLength,  // not as long as the study's sealed reports are
};

// A GetRelayTermsRequest, and what answers it: DataLoss for no such message, or one whose signature
// or manifest is none by its lengths.
std::string DealRequestBytes(std::string_view study);
StatusOr<DealOffer> ReadDealOffer(std::string_view response);

// A TakeOfferRequest, and the envelope in what answers it, a view of the response: DataLoss for no
// such message.
std::string TicketRequestBytes(std::string_view study, const EpochId& epoch);
StatusOr<std::string_view> OpenTicketResponse(std::string_view response);

// A SubmitSealedReportRequest for `entry`, which must be sealed, and what answers it: DataLoss for
// no such message, or an outcome that this version does not know.
std::string SealedReportRequestBytes(const JournalEntry& entry);
StatusOr<SubmitOutcome> ReadSubmitOutcome(std::string_view response);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_MESSAGES_RELAY_MESSAGES_H_
