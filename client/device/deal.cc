#include "client/device/deal.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/encrypt/sealing_key.h"
#include "common/terms/envelope.h"
#include "common/terms/report_form.h"
#include "common/wire/calls.h"
#include "common/wire/terms.h"

namespace coppice {
namespace {

// The most that a mechanism takes beside its payload: a bit for each cell.
constexpr uint64_t kMechanismBytes = uint64_t{1} << 19;

// Numbers of coppice.v1.SubmitOutcome. All are final.
enum SubmitOutcome : int32_t {
  kStored = 1,     // on the relay's disk, now or before
  kConflict = 2,   // the ticket has another report, which stays
  kClosed = 3,     // too late
  kUnknown = 4,    // the relay has no such deal, or the ticket is not this device's
  kBadLength = 5,  // not as long as the study's sealed reports are
};

Status Declined(std::string_view study, std::string_view why) {
  return FailedPreconditionError(StrCat("the deal of study ", study, " is declined: ", why));
}

Status Malformed(std::string_view study, std::string_view why) {
  return DataLossError(StrCat("the deal of study ", study, " ", why,
                              "; do not answer, and tell the relay's operator"));
}

// What a message of another party's says, which may be hostile.
std::string Quoted(const Status& status) {
  constexpr size_t kMaxBytes = 500;
  return Printable(status.message().substr(0, kMaxBytes));
}

StatusOr<RelayTerms> VerifyRelayTerms(const DealMessage& offer, std::string_view study,
                                      const RelayPolicy& policy) {
  if (!IsSignedBy(policy.relay_key, kRelayDomain, offer.relay_terms, offer.signature)) {
    return Declined(study, StrCat("it is not signed by the relay that this device has pinned (",
                                  ToPin(policy.relay_key),
                                  "); check the address, or ask the relay's operator for its key"));
  }
  StatusOr<RelayTerms> relay = ReadRelayTerms(offer.relay_terms);
  if (!relay.ok()) return Malformed(study, StrCat("is bad: ", Quoted(relay.status())));
  if (relay->relay_key != KeyIdOf(policy.relay_key)) return Malformed(study, "names another relay");
  if (relay->study != study) return Declined(study, "what the relay signed is about another study");
  return relay;
}

StatusOr<Terms> OpenTerms(const DealMessage& offer, const RelayTerms& relay) {
  StatusOr<Terms> terms = ReadTerms(offer.terms);
  if (!terms.ok()) {
    return Malformed(relay.study, StrCat("has bad terms: ", Quoted(terms.status())));
  }
  if (terms->study != relay.study) return Malformed(relay.study, "has another study's terms");
  if (ReportForm::Of(*terms).ShowsSomething()) {
    return Declined(relay.study,
                    "its reports would show features or an id, by which the curator could tell "
                    "whose answer is whose");
  }
  return terms;
}

Status CheckBatch(const RelayTerms& relay, const RelayPolicy& policy,
                  const ManifestSealing& sealing) {
  const uint64_t least = std::max(policy.min_batch, sealing.min_batch);
  if (relay.min_batch >= least) return OkStatus();
  return Declined(relay.study,
                  StrCat("the relay sends batches of ", relay.min_batch, " reports, and ",
                         least == policy.min_batch ? "this device wants" : "the curator promises",
                         " at least ", least));
}

Status CheckRoom(const RelayTerms& relay, const RelayPolicy& policy) {
  if (relay.offer_bytes <= policy.max_offer_bytes) return OkStatus();
  return Declined(relay.study,
                  StrCat("its offers take ", relay.offer_bytes,
                         " bytes, and this device has room for ", policy.max_offer_bytes));
}

Status CheckTime(const RelayTerms& relay, const RelayPolicy& policy, int64_t now) {
  if (now >= relay.deal_until_unix_seconds) {
    return Declined(relay.study,
                    "the relay deals no more tickets of it; come again when the next one begins, "
                    "and if it should not be over, check this device's clock");
  }
  const int64_t left = relay.freeze_at_unix_seconds - now;
  if (left > int64_t{policy.max_send_delay_seconds}) return OkStatus();
  return Declined(relay.study, StrCat("it closes in ", left, " s, and this device sends up to ",
                                      policy.max_send_delay_seconds, " s after it has a ticket"));
}

Status CheckSealingKey(const RelayTerms& relay, const ManifestSealing& sealing) {
  const auto suite = static_cast<seal::Aead>(sealing.suite);
  if (relay.sealing_key == seal::SealingKeyIdOf(suite, sealing.key)) return OkStatus();
  return Declined(relay.study,
                  "the relay's deal is for another sealing key than the curator's manifest names; "
                  "come again when the next deal begins");
}

// Whether an answer about the tree takes no more than all reports are sealed to. An honest
// curator's trees do; one that takes more would also take more time and memory than the device set
// aside before it knew its ticket, and tell by them who had it.
bool FitsReports(const Deal& deal, const Tree& tree) {
  const auto mechanism = MakeMechanism(deal.terms, tree.num_leaves());
  return mechanism.ok() && (*mechanism)->max_payload_bytes() <= deal.sealing.payload_bytes;
}

// The tree that the ticket answers in, if a device can.
TreesByIndex TreeOf(const Deal& deal, const Ticket& ticket, const RelayedOfferMessage& offer) {
  TreesByIndex trees;
  const uint32_t number = TreeOfTicket(ticket, deal.terms.trees);
  StatusOr<Tree> tree = ReadProvenTree(deal.terms, number, offer.tree, offer.tree_path);
  if (tree.ok() && FitsReports(deal, *tree)) trees.emplace(number, *std::move(tree));
  return trees;
}

}  // namespace

StatusOr<Deal> AdmitDeal(const DealMessage& offer, std::string_view study,
                         std::string_view relay_address, const RelayPolicy& policy,
                         const Trust& trust, int64_t now) {
  COPPICE_ASSIGN_OR_RETURN(RelayTerms relay, VerifyRelayTerms(offer, study, policy));
  if (FingerprintOf(offer.terms) != relay.fingerprint) {
    return Malformed(study, "has terms that are not those that the relay signed");
  }
  if (!offer.manifest.has_value()) return Malformed(study, "has no manifest");
  COPPICE_ASSIGN_OR_RETURN(SeenManifest manifest, trust.Verify(relay_address, study, offer.manifest,
                                                               DeliveryRoute::kThroughRelay, now));
  if (manifest.manifest.fingerprint != relay.fingerprint) {
    return Declined(study, "what the curator signed is about other terms");
  }
  COPPICE_ASSIGN_OR_RETURN(Terms terms, OpenTerms(offer, relay));
  COPPICE_RETURN_IF_ERROR(trust.Admit(manifest, terms, DeliveryRoute::kThroughRelay, now));
  const ManifestSealing sealing = *manifest.manifest.sealing;
  COPPICE_RETURN_IF_ERROR(CheckSealingKey(relay, sealing));
  COPPICE_RETURN_IF_ERROR(CheckBatch(relay, policy, sealing));
  COPPICE_RETURN_IF_ERROR(CheckRoom(relay, policy));
  COPPICE_RETURN_IF_ERROR(
      CheckTime(relay, policy, std::max(now, manifest.manifest.issued_unix_seconds)));
  return Deal{.relay = std::move(relay),
              .terms = std::move(terms),
              .sealing = sealing,
              .manifest = std::move(manifest)};
}

StatusOr<DealtTicket> OpenEnvelope(const Deal& deal, std::string_view envelope) {
  if (envelope.size() != deal.relay.offer_bytes) {
    return Malformed(deal.relay.study,
                     StrCat("came with an envelope that holds no ticket: it has ", envelope.size(),
                            " bytes, and the relay signed ", deal.relay.offer_bytes));
  }
  const StatusOr<RelayedOfferMessage> offer = ReadRelayedOffer(OpenEnvelope(envelope).value_or(""));
  DealtTicket dealt;
  if (!offer.ok() || offer->claim.size() != dealt.claim.size()) {
    return Malformed(deal.relay.study, "came with an envelope that holds no ticket");
  }
  std::copy(offer->claim.begin(), offer->claim.end(), dealt.claim.begin());
  const StatusOr<Ticket> ticket = Ticket::FromBytes(offer->ticket);
  if (!ticket.ok()) {
    return Malformed(deal.relay.study, "came with an envelope that holds no ticket");
  }
  dealt.ticket = *ticket;
  dealt.trees = TreeOf(deal, dealt.ticket, *offer);
  return dealt;
}

StatusOr<Privatizer> MakePrivatizer(const Deal& deal, TreesByIndex trees) {
  return Privatizer::Create(deal.terms, deal.relay.fingerprint, std::move(trees));
}

StatusOr<DealSealer> DealSealer::Create(const Deal& deal) {
  const seal::ReportSealing sealing{.aead = static_cast<seal::Aead>(deal.sealing.suite),
                                    .fingerprint = deal.relay.fingerprint,
                                    .payload_bytes = deal.sealing.payload_bytes};
  COPPICE_ASSIGN_OR_RETURN(seal::ReportSealer sealer,
                           seal::ReportSealer::Create(sealing, deal.sealing.key));
  // A key under which everybody could open shows when something is sealed for it: now, so that no
  // ticket is taken for it.
  const Status tried = sealer.Seal(Ticket(), "").status();
  if (IsInvalidArgument(tried)) {
    return Declined(deal.relay.study, StrCat("nothing can be sealed for it: ", tried.message()));
  }
  COPPICE_RETURN_IF_ERROR(tried);
  return DealSealer(deal.relay, sealing, std::move(sealer));
}

StatusOr<SealedAnswer> DealSealer::Seal(const DealtTicket& dealt, std::string_view payload) {
  const bool fits = payload.size() <= sealing_.payload_bytes;
  COPPICE_ASSIGN_OR_RETURN(seal::SealedMessage message,
                           sealer_.Seal(dealt.ticket, fits ? payload : std::string_view()));
  return SealedAnswer{.relay = relay_.relay_key,
                      .epoch = relay_.epoch,
                      .closes_unix_seconds = relay_.freeze_at_unix_seconds,
                      .claim = dealt.claim,
                      .encapsulated = message.encapsulated,
                      .ciphertext = std::move(message.ciphertext)};
}

StatusOr<int64_t> DrawSendDelay(const RelayPolicy& policy, PrivateRandom& random) {
  const uint64_t most = uint64_t{policy.max_send_delay_seconds} * 1000;
  const uint64_t least = most / 10;
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(most - least + 1));
  return static_cast<int64_t>(least + drawn);
}

uint64_t MemoryToAnswer(const Deal& deal) {
  return deal.relay.offer_bytes * kMemoryPerOfferByte + uint64_t{2} * deal.sealing.payload_bytes +
         kMechanismBytes;
}

Status PrepareForTicket(const RelayPolicy& policy, PrivateRandom& random, AgreedDeal& agreed) {
  COPPICE_ASSIGN_OR_RETURN(agreed.delay_milliseconds, DrawSendDelay(policy, random));
  const uint64_t bytes = MemoryToAnswer(agreed.deal);
  if (bytes <= PTRDIFF_MAX) agreed.set_aside.reset(new (std::nothrow) char[bytes]);
  if (agreed.set_aside == nullptr) {
    return ResourceExhaustedError(StrCat("a ticket of study ", agreed.deal.relay.study,
                                         " may take ", bytes,
                                         " bytes of memory to answer, and there are not so many"));
  }
  // What is only promised may not be there.
  std::memset(agreed.set_aside.get(), 'm', bytes);
  return OkStatus();
}

std::string SealedReportRequest(const JournalEntry& entry) {
  const SealedAnswer& sealed = *entry.sealed;
  const std::string ticket = entry.report.ticket.ToBytes();
  return WriteSealedReportRequest({.epoch = sealed.epoch,
                                   .ticket = ticket,
                                   .claim = sealed.claim,
                                   .encapsulated = sealed.encapsulated,
                                   .ciphertext = sealed.ciphertext});
}

StatusOr<DeliveryResult> ReadSealedResult(std::string_view response) {
  COPPICE_ASSIGN_OR_RETURN(const int32_t outcome, ReadSealedOutcome(response));
  switch (outcome) {
    case kStored:
      return DeliveryResult{Delivery::kAccepted};
    case kConflict:
      return DeliveryResult{Delivery::kRefused, "the relay has another report for the ticket"};
    case kClosed:
      return DeliveryResult{Delivery::kRefused,
                            "the relay's deal was closed before the report came"};
    case kUnknown:
      return DeliveryResult{Delivery::kRefused,
                            "the relay does not know the deal, or this device's ticket"};
    case kBadLength:
      return DeliveryResult{Delivery::kRefused, "the relay expects reports of another length"};
    default:
      return DataLossError(StrCat("the relay answered with outcome ", outcome,
                                  ", which this version does not know"));
  }
}

}  // namespace coppice
