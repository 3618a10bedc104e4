// One deal of a relay, from the device's side: what is checked before a ticket is taken, what is in
// its envelope, and how the answer is sealed.

#ifndef COPPICE_CLIENT_DEVICE_DEAL_H_
#define COPPICE_CLIENT_DEVICE_DEAL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "client/device/delivery.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/encrypt/report_seal.h"
#include "common/privacy/private_random.h"
#include "common/terms/manifest.h"
#include "common/terms/relay_promise.h"
#include "common/terms/terms.h"
#include "common/wire/messages.h"

namespace coppice {

// All of it public, and the same for every device of the deal.
struct Deal {
  RelayTerms relay;
  Terms terms;
  ManifestSealing sealing;
  std::optional<SeenManifest> manifest = {};  // the curator's, to be remembered
};

// What a device must know of a deal that it agrees to.
//
// Guarantee  Of what it returns, the relay's terms are signed by the pinned relay; are about this
//            study, these terms and the sealing key of the manifest; promise batches that neither
//            the manifest nor the policy find too small, and offers that the device has room for;
//            and leave time to answer. The manifest is the curator's, by its pin (trust.h), and the
//            study's reports show nothing in the clear. No ticket is known yet.
// Errors     FailedPrecondition: declined, in words for the device's owner. DataLoss: malformed.
//            Otherwise those of Trust.
// Threads    no state.
//
// `now` is in seconds since 1970, by the device's clock; a clock behind what the curator signed is
// not believed.
StatusOr<Deal> AdmitDeal(const DealMessage& offer, std::string_view study,
                         std::string_view relay_address, const RelayPolicy& policy,
                         const Trust& trust, int64_t now);

// What a relay dealt to a device, and to nobody else.
struct DealtTicket {
  Ticket ticket;
  std::array<uint8_t, 16> claim{};
  // The one that the ticket answers in; empty if it is none that a device can answer in. That must
  // not make the device fall silent: the curator would learn who had the ticket.
  TreesByIndex trees;
};

// Reads what TakeOffer() returned. DataLoss if there is no ticket in it, or it is not as long as
// the relay signed: memory was set aside for that length. Both are the relay's fault.
StatusOr<DealtTicket> OpenEnvelope(const Deal& deal, std::string_view envelope);

// Without the ticket's tree, a session seals an empty payload.
StatusOr<Privatizer> MakePrivatizer(const Deal& deal, TreesByIndex trees);

// Seals the answers of one deal.
//
// Guarantee  A report that is longer than the study's are said to be, so that the curator broke its
//            word, is sealed as an empty one: the device sends something whatever its tree is.
// Errors     Create(): FailedPrecondition if nothing can be sealed for the study's key. Both:
//            Unavailable or Internal if OpenSSL fails.
// Threads    one at a time.
class DealSealer {
 public:
  static StatusOr<DealSealer> Create(const Deal& deal);

  size_t ciphertext_bytes() const { return sealing_.ciphertext_bytes(); }
  StatusOr<SealedAnswer> Seal(const DealtTicket& dealt, std::string_view payload);

 private:
  DealSealer(const RelayTerms& relay, const seal::ReportSealing& sealing, seal::ReportSealer sealer)
      : relay_(relay), sealing_(sealing), sealer_(std::move(sealer)) {}

  RelayTerms relay_;
  seal::ReportSealing sealing_;
  seal::ReportSealer sealer_;
};

// A deal that a device agreed to, and what it needs from the ticket on.
struct AgreedDeal {
  Deal deal;
  DealSealer sealer;
  int64_t delay_milliseconds = 0;
  // Held until the tickets have come, so that memory is short before there is one, and not when it
  // is one of a large tree.
  std::unique_ptr<char[]> set_aside = nullptr;
};

// What answering one ticket takes for each byte of its offer, whatever tree a curator chose: its
// columns as they are read, its nodes, and their index. A test holds it over the worst shapes.
inline constexpr uint64_t kMemoryPerOfferByte = 64;

// What answering a ticket of the deal takes at most.
uint64_t MemoryToAnswer(const Deal& deal);

// Draws the delay and sets the memory aside: the last that can fail before a ticket is asked for.
// ResourceExhausted without memory; those of `random`.
Status PrepareForTicket(const RelayPolicy& policy, PrivateRandom& random, AgreedDeal& agreed);

// How long after its ticket came a device sends, in milliseconds: uniform from a tenth of the
// policy's delay to all of it. The tenth is there to be longer than the work of any tree.
StatusOr<int64_t> DrawSendDelay(const RelayPolicy& policy, PrivateRandom& random);

// A SubmitSealedReportRequest for `entry`, which must be sealed.
std::string SealedReportRequest(const JournalEntry& entry);

// What a SubmitSealedReportResponse says became of the report. What is lost is refused. DataLoss
// for no such message, or an outcome that this version does not know.
StatusOr<DeliveryResult> ReadSealedResult(std::string_view response);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_DEAL_H_
