#include "common/wire/calls.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/manifest.h"

namespace coppice {
namespace {

std::string NameOf(std::string_view study) { return StrCat("studies/", study); }

// Reads what is signed, which must be understood in full: no unknown field, none out of order.
template <typename Promise>
StatusOr<Promise> ReadPromise(std::string_view what, std::string_view bytes,
                              Status (*validate)(const Promise&)) {
  if (bytes.size() > kMaxRelayPromiseBytes) {
    return FieldError(
        what, StrCat("must have at most ", kMaxRelayPromiseBytes, " bytes, has ", bytes.size()));
  }
  StatusOr<Promise> promise = ReadFields<Promise>(bytes);
  if (!promise.ok()) return InField(what, promise.status());
  COPPICE_RETURN_IF_ERROR(InField(what, validate(*promise)));
  if (WriteFields(*promise) == bytes) return promise;
  return FieldError(what, "has fields that this version does not know");
}

}  // namespace

std::string WriteOfferRequest(std::string_view study, OfferRequestMessage request) {
  request.name = NameOf(study);
  return WriteFields(std::move(request));
}

StatusOr<OfferMessage> ReadOffer(std::string_view response) {
  COPPICE_ASSIGN_OR_RETURN(OfferMessage offer, ReadFields<OfferMessage>(response));
  if (offer.manifest) COPPICE_RETURN_IF_ERROR(CheckSignedManifest(*offer.manifest));
  return offer;
}

std::string WriteProofRequest(std::string_view challenge) {
  return WriteFields(ProofRequestMessage{.challenge = challenge});
}

StatusOr<ProofMessage> ReadProof(std::string_view response) {
  return ReadFields<ProofMessage>(response);
}

std::string WriteSealedReports(std::string_view study, const Fingerprint& fingerprint,
                               std::vector<ReportView> reports) {
  const std::string name = NameOf(study);
  return WriteFields(ReportsMessage{
      .study = name, .fingerprint = AsBytes(fingerprint), .reports = std::move(reports)});
}

StatusOr<ReportsMessage> ReadSealedReports(std::string_view content) {
  return ReadFields<ReportsMessage>(content);
}

std::string WriteSubmitRequest(const SubmitMessage& request) { return WriteFields(request); }

StatusOr<std::string_view> ReadSealedOutcomes(std::string_view response) {
  COPPICE_ASSIGN_OR_RETURN(const OutcomesMessage message, ReadFields<OutcomesMessage>(response));
  return message.sealed_outcomes;
}

std::string WriteRelayTermsRequest(std::string_view study) {
  return WriteFields(RelayTermsRequestMessage{.study = NameOf(study)});
}

StatusOr<DealMessage> ReadDeal(std::string_view response) {
  COPPICE_ASSIGN_OR_RETURN(DealMessage deal, ReadFields<DealMessage>(response));
  if (deal.manifest) COPPICE_RETURN_IF_ERROR(CheckSignedManifest(*deal.manifest));
  return deal;
}

std::string WriteTakeOfferRequest(std::string_view study, const EpochId& epoch) {
  return WriteFields(TakeOfferMessage{.study = NameOf(study), .epoch = epoch});
}

StatusOr<std::string_view> ReadEnvelope(std::string_view response) {
  COPPICE_ASSIGN_OR_RETURN(const EnvelopeMessage message, ReadFields<EnvelopeMessage>(response));
  return message.envelope;
}

StatusOr<RelayedOfferMessage> ReadRelayedOffer(std::string_view content) {
  return ReadFields<RelayedOfferMessage>(content);
}

std::string WriteSealedReportRequest(const SealedReportMessage& report) {
  return WriteFields(report);
}

StatusOr<int32_t> ReadSealedOutcome(std::string_view response) {
  COPPICE_ASSIGN_OR_RETURN(const SealedOutcomeMessage message,
                           ReadFields<SealedOutcomeMessage>(response));
  return message.outcome;
}

std::string WriteRelayTerms(const RelayTerms& terms) { return WriteFields(terms); }

StatusOr<RelayTerms> ReadRelayTerms(std::string_view bytes) {
  return ReadPromise<RelayTerms>("relay_terms", bytes, ValidateRelayTerms);
}

std::string WriteBatchHeader(const BatchHeader& header) { return WriteFields(header); }

StatusOr<BatchHeader> ReadBatchHeader(std::string_view bytes) {
  return ReadPromise<BatchHeader>("header", bytes, ValidateBatchHeader);
}

}  // namespace coppice
