#include "server/relay/dealing/pool_builder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/encrypt/report_seal.h"
#include "common/terms/report_form.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/terms.h"

namespace coppice::relay {
namespace {

constexpr uint64_t kMaxTicketsPerCall = 1000;  // what the curator gives at most

std::string FingerprintBytes(const Fingerprint& fingerprint) {
  return {fingerprint.begin(), fingerprint.end()};
}

Status NotRelayed(std::string_view study, std::string_view why) {
  return FailedPreconditionError(
      StrCat("study ", study, " ", why, ", so that it cannot be answered through a relay"));
}

// Refuses studies in which devices' values or answers would split them into smaller crowds.
Status CheckRelayable(const Terms& terms, const Manifest& manifest) {
  if (!manifest.sealing.has_value()) {
    return NotRelayed(terms.study, "was created without a relay");
  }
  const ReportForm& form = ReportForm::Of(terms);
  if (form.ShowsId()) return NotRelayed(terms.study, "is joined by an id");
  if (form.ShowsSomething()) return NotRelayed(terms.study, "has public features");
  return OkStatus();
}

seal::ReportSealing SealingOf(const ManifestSealing& sealing, const Fingerprint& fingerprint) {
  return {.aead = static_cast<seal::Aead>(sealing.suite),
          .fingerprint = fingerprint,
          .payload_bytes = sealing.payload_bytes};
}

StatusOr<Terms> ReadOfferedTerms(const v1::GetOfferResponse& offer, std::string_view study) {
  if (offer.fingerprint() != FingerprintBytes(FingerprintOf(offer.terms()))) {
    return DataLossError(
        StrCat("the terms of study ", study, " do not match their fingerprint; tell the curator"));
  }
  COPPICE_ASSIGN_OR_RETURN(Terms terms, ReadTerms(offer.terms()));
  if (terms.study != study) {
    return DataLossError(StrCat("the curator sent the terms of study ", terms.study,
                                " where those of ", study, " were asked for"));
  }
  return terms;
}

}  // namespace

uint64_t PoolBuilder::TicketsToAsk() const {
  if (!first_.has_value()) return 1;
  return std::min<uint64_t>(kMaxTicketsPerCall, wanted_ - pool_tickets_.size());
}

v1::GetOfferRequest PoolBuilder::NextRequest() const {
  v1::GetOfferRequest request;
  request.set_name(MakeName(kStudies, study_));
  request.set_tickets(static_cast<uint32_t>(TicketsToAsk()));
  request.set_whole_forest(true);
  if (first_.has_value()) {
    request.set_known_fingerprint(FingerprintBytes(first_->fingerprint));
    request.mutable_known_manifest()->assign(first_->manifest_hash.begin(),
                                             first_->manifest_hash.end());
  }
  return request;
}

Status PoolBuilder::Add(const v1::GetOfferResponse& offer, int64_t now_unix_seconds) {
  const uint64_t asked = TicketsToAsk();
  if (static_cast<uint64_t>(offer.tickets_size()) != asked) {
    return DataLossError(StrCat("the curator sent ", offer.tickets_size(), " tickets where ", asked,
                                " were asked for"));
  }
  COPPICE_RETURN_IF_ERROR(first_.has_value() ? CheckUnchanged(offer)
                                             : AddFirst(offer, now_unix_seconds));
  return AddTickets(offer);
}

Status PoolBuilder::AddFirst(const v1::GetOfferResponse& offer, int64_t now_unix_seconds) {
  COPPICE_ASSIGN_OR_RETURN(const Terms terms, ReadOfferedTerms(offer, study_));
  const Fingerprint fingerprint = FingerprintOf(offer.terms());
  if (!offer.has_manifest()) {
    return DataLossError(StrCat("the curator sent no manifest of study ", study_));
  }
  COPPICE_ASSIGN_OR_RETURN(const SignedManifest signed_manifest,
                           ParseSignedManifest(offer.manifest()));
  COPPICE_ASSIGN_OR_RETURN(const Manifest manifest,
                           trust_.Admit(signed_manifest, now_unix_seconds));
  COPPICE_RETURN_IF_ERROR(CheckManifestIsOf(manifest, terms, fingerprint));
  COPPICE_RETURN_IF_ERROR(CheckRelayable(terms, manifest));
  COPPICE_RETURN_IF_ERROR(CheckBatch(*manifest.sealing));
  COPPICE_ASSIGN_OR_RETURN(DealDocuments documents, DealDocuments::Create(offer));
  uint64_t forest_bytes = offer.terms().size();
  for (const std::string& tree : offer.forest()) forest_bytes += tree.size();
  first_.emplace(First{.fingerprint = fingerprint,
                       .signed_manifest = offer.manifest(),
                       .manifest_hash = Sha256({signed_manifest.bytes}),
                       .sealing = *manifest.sealing,
                       .documents = std::move(documents),
                       .forest_bytes = forest_bytes});
  pool_tickets_.reserve(wanted_);
  return OkStatus();
}

Status PoolBuilder::CheckBatch(const ManifestSealing& sealing) const {
  const uint64_t min_batch = std::max(own_min_batch_, sealing.min_batch);
  if (wanted_ >= min_batch) return OkStatus();
  return FailedPreconditionError(StrCat("study ", study_, " takes no batch of fewer than ",
                                        min_batch, " reports, and a pool of this relay has ",
                                        wanted_, " tickets; give it more (--tickets)"));
}

// A changed manifest may name another sealing key, and different bytes would tell devices of one
// deal apart.
Status PoolBuilder::CheckUnchanged(const v1::GetOfferResponse& offer) const {
  const bool has_same_manifest =
      !offer.has_manifest() ||
      offer.manifest().SerializeAsString() == first_->signed_manifest.SerializeAsString();
  if (has_same_manifest && offer.fingerprint() == FingerprintBytes(first_->fingerprint)) {
    return OkStatus();
  }
  return AbortedError(StrCat("study ", study_, " has changed while its tickets were fetched"));
}

Status PoolBuilder::AddTickets(const v1::GetOfferResponse& offer) {
  for (const std::string& bytes : offer.tickets()) {
    const StatusOr<Ticket> ticket = Ticket::FromBytes(bytes);
    if (!ticket.ok()) {
      return DataLossError(StrCat("the curator sent a ticket of ", bytes.size(), " bytes"));
    }
    pool_tickets_.push_back(*ticket);
  }
  return OkStatus();
}

uint64_t PoolBuilder::BytesNeeded() const {
  if (!first_.has_value()) return 0;
  constexpr uint64_t kPerSlot = 1 + kEncapsulatedBytes + 8;  // besides the ciphertext
  constexpr uint64_t kPerTicket = kTicketIdBytes + kTicketMacBytes;
  constexpr uint64_t kRest = 1 << 20;
  const uint64_t ciphertext = SealingOf(first_->sealing, first_->fingerprint).ciphertext_bytes();
  return wanted_ * (kPerSlot + ciphertext + kPerTicket) + first_->forest_bytes + kRest;
}

StatusOr<TicketPool> PoolBuilder::Finish() && {
  std::vector<Ticket>& tickets = pool_tickets_;
  const auto before = [](const Ticket& a, const Ticket& b) {
    return a.id != b.id ? a.id < b.id : a.mac < b.mac;
  };
  std::sort(tickets.begin(), tickets.end(), before);
  if (std::adjacent_find(tickets.begin(), tickets.end()) != tickets.end()) {
    return DataLossError(StrCat("the curator gave a ticket of study ", study_,
                                " twice: one of two reports would be lost, by the "
                                "order in which they come; tell the curator"));
  }
  const seal::ReportSealing sealing = SealingOf(first_->sealing, first_->fingerprint);
  return TicketPool{.tickets = std::move(tickets),
                    .documents = std::move(first_->documents),
                    .fingerprint = first_->fingerprint,
                    .sealing_key = seal::SealingKeyIdOf(sealing.aead, first_->sealing.key),
                    .min_batch = std::max(own_min_batch_, first_->sealing.min_batch),
                    .ciphertext_bytes = sealing.ciphertext_bytes()};
}

}  // namespace coppice::relay
