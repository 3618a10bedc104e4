#include "client/device/messages/relay_messages.h"

#include <optional>
#include <string_view>
#include <utility>

#include "client/device/messages/message_reader.h"
#include "client/device/messages/message_writer.h"
#include "client/device/messages/parts.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status NotOfRelay(std::string_view what) {
  return DataLossError(StrCat("the relay sent ", what, "; do not answer, and tell its operator"));
}

std::string NameOf(std::string_view study) { return StrCat("studies/", study); }

std::string RelayTermsBytes(const RelayTerms& terms) {
  MessageWriter writer;
  writer.Bytes(1, terms.study);
  writer.Bytes(2, AsBytes(terms.fingerprint));
  writer.Bytes(3, AsBytes(terms.sealing_key));
  writer.Bytes(4, AsBytes(terms.epoch));
  writer.Number(5, terms.min_batch);
  writer.Number(6, terms.tickets);
  writer.Number(7, static_cast<uint64_t>(terms.deal_until_unix_seconds));
  writer.Number(8, static_cast<uint64_t>(terms.freeze_at_unix_seconds));
  writer.Bytes(9, AsBytes(terms.relay_key));
  writer.Number(10, terms.offer_bytes);
  return writer.Finish();
}

// Fields of RelayTerms whose lengths are looked at last.
struct RelayTermsMessage {
  RelayTerms terms;
  std::string_view fingerprint;
  std::string_view sealing_key;
  std::string_view epoch;
  std::string_view relay_key;

  void ReadField(MessageReader& field) {
    if (field.field() == 1) field.ReadText(terms.study);
    if (field.field() == 2) field.ReadBytes(fingerprint);
    if (field.field() == 3) field.ReadBytes(sealing_key);
    if (field.field() == 4) field.ReadBytes(epoch);
    if (field.field() == 5) field.Read(terms.min_batch);
    if (field.field() == 6) field.Read(terms.tickets);
    if (field.field() == 7) field.Read(terms.deal_until_unix_seconds);
    if (field.field() == 8) field.Read(terms.freeze_at_unix_seconds);
    if (field.field() == 9) field.ReadBytes(relay_key);
    if (field.field() == 10) field.Read(terms.offer_bytes);
  }

  StatusOr<RelayTerms> Make() {
    COPPICE_RETURN_IF_ERROR(CopyExactly("fingerprint", fingerprint, terms.fingerprint));
    COPPICE_RETURN_IF_ERROR(CopyExactly("sealing_key_id", sealing_key, terms.sealing_key));
    COPPICE_RETURN_IF_ERROR(CopyExactly("epoch", epoch, terms.epoch));
    COPPICE_RETURN_IF_ERROR(CopyExactly("relay_key_id", relay_key, terms.relay_key));
    COPPICE_RETURN_IF_ERROR(ValidateRelayTerms(terms));
    return std::move(terms);
  }
};

}  // namespace

std::string DealRequestBytes(std::string_view study) {
  MessageWriter writer;
  writer.Bytes(1, NameOf(study));
  return writer.Finish();
}

StatusOr<DealOffer> ReadDealOffer(std::string_view response) {
  std::string_view relay_terms;
  std::string_view signature;
  std::string_view terms;
  std::optional<SignedManifestMessage> manifest;
  MessageReader field(response);
  while (field.Next()) {
    if (field.field() == 1) field.ReadBytes(relay_terms);
    if (field.field() == 2) field.ReadBytes(signature);
    if (field.field() == 3) field.ReadBytes(terms);
    if (field.field() == 4) ReadSignedManifestMessage(field, manifest);
  }
  if (field.failed()) return NotOfRelay("terms that are no such message");
  DealOffer offer{.relay_terms = std::string(relay_terms), .terms = std::string(terms)};
  if (!CopyExactly("signature", signature, offer.signature).ok()) {
    return NotOfRelay("terms without a signature");
  }
  StatusOr<SignedManifest> signed_manifest =
      MakeSignedManifest(manifest.value_or(SignedManifestMessage()));
  if (!signed_manifest.ok()) {
    return NotOfRelay(StrCat("a bad manifest: ", signed_manifest.status().message()));
  }
  offer.manifest = *std::move(signed_manifest);
  return offer;
}

StatusOr<RelayTerms> ReadRelayTerms(std::string_view bytes) {
  if (bytes.size() > kMaxRelayPromiseBytes) {
    return InvalidArgumentError(StrCat("relay_terms: must have at most ", kMaxRelayPromiseBytes,
                                       " bytes, has ", bytes.size()));
  }
  RelayTermsMessage message;
  MessageReader field(bytes);
  while (field.Next()) message.ReadField(field);
  if (field.failed()) return InvalidArgumentError("relay_terms: no such message");
  StatusOr<RelayTerms> terms = message.Make();
  if (!terms.ok()) return terms;
  // What is signed is understood in full: no unknown field, none twice, none out of order.
  if (RelayTermsBytes(*terms) != bytes) {
    return InvalidArgumentError("relay_terms: has fields that this version does not know");
  }
  return terms;
}

std::string TicketRequestBytes(std::string_view study, const EpochId& epoch) {
  MessageWriter writer;
  writer.Bytes(1, NameOf(study));
  writer.Bytes(2, AsBytes(epoch));
  return writer.Finish();
}

StatusOr<std::string_view> ReadEnvelope(std::string_view response) {
  std::string_view envelope;
  MessageReader field(response);
  while (field.Next()) {
    if (field.field() == 1) field.ReadBytes(envelope);
  }
  if (field.failed()) return NotOfRelay("no envelope where a ticket was asked for");
  return envelope;
}

StatusOr<RelayedOffer> ReadRelayedOffer(std::string_view bytes) {
  RelayedOffer offer;
  MessageReader field(bytes);
  while (field.Next()) {
    if (field.field() == 1) field.ReadBytes(offer.ticket);
    if (field.field() == 2) field.ReadBytes(offer.claim);
    if (field.field() == 3) field.ReadBytes(offer.tree);
    if (field.field() == 4) field.ReadBytes(offer.tree_path);
  }
  if (field.failed()) return NotOfRelay("an envelope that holds no offer");
  return offer;
}

std::string SealedReportRequestBytes(const JournalEntry& entry) {
  const SealedAnswer& sealed = *entry.sealed;
  MessageWriter writer;
  writer.Bytes(1, AsBytes(sealed.epoch));
  writer.Bytes(2, entry.report.ticket.ToBytes());
  writer.Bytes(3, AsBytes(sealed.claim));
  writer.Bytes(4, AsBytes(sealed.encapsulated));
  writer.Bytes(5, sealed.ciphertext);
  return writer.Finish();
}

StatusOr<SubmitOutcome> ReadSubmitOutcome(std::string_view response) {
  int32_t outcome = 0;
  MessageReader field(response);
  while (field.Next()) {
    if (field.field() == 1) field.Read(outcome);
  }
  if (field.failed()) return DataLossError("the relay's response has no outcome");
  // coppice.v1.SubmitOutcome has one number before these, for none.
  if (outcome >= 1 && outcome <= 1 + static_cast<int32_t>(SubmitOutcome::kBadLength)) {
    return static_cast<SubmitOutcome>(outcome - 1);
  }
  return DataLossError(
      StrCat("the relay answered with outcome ", outcome, ", which this version does not know"));
}

}  // namespace coppice
