#include "client/device/messages/messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/printable.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/calls.h"
#include "common/wire/manifest.h"
#include "common/wire/terms.h"

namespace coppice {
namespace {

// The numbers of coppice.v1.ReportOutcome that are no refusal.
constexpr int32_t kAccepted = 1;
constexpr int32_t kDuplicate = 2;
constexpr int32_t kUnknownStudy = 3;

template <typename Array>
std::string_view AsBytes(const Array& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size()};
}

// An error whose text may quote the curator, who may be hostile: printable, and not long.
Status OfCurator(const Status& status) {
  constexpr size_t kMaxBytes = 2000;
  const std::string_view text = status.message();
  return Status(status.code(),
                StrCat(Printable(text.substr(0, kMaxBytes)), text.size() > kMaxBytes ? "..." : ""));
}

StatusOr<Terms> OpenTerms(const OfferMessage& offer, std::string_view study) {
  if (offer.fingerprint != AsBytes(FingerprintOf(offer.terms))) {
    return DataLossError(
        StrCat("the terms of study ", study,
               " do not match their fingerprint; do not answer, and tell the curator"));
  }
  StatusOr<Terms> terms = ReadTerms(offer.terms);
  if (!terms.ok()) return OfCurator(terms.status());
  if (terms->study == study) return terms;
  return DataLossError(StrCat("the curator sent the terms of study ", terms->study,
                              " where those of ", study, " were asked for"));
}

StatusOr<Ticket> OpenTicket(const OfferMessage& offer) {
  if (offer.tickets.size() == 1) return Ticket::FromBytes(offer.tickets[0]);
  return DataLossError(
      StrCat("the curator sent ", offer.tickets.size(), " tickets where 1 was asked for"));
}

StatusOr<TreesByIndex> OpenTree(const OfferMessage& offer, const Terms& terms,
                                const Ticket& ticket) {
  const uint32_t number = TreeOfTicket(ticket, terms.trees);
  StatusOr<Tree> tree = ReadProvenTree(terms, number, offer.tree, offer.tree_path);
  if (!tree.ok()) return OfCurator(tree.status());
  TreesByIndex trees;
  trees.emplace(number, *std::move(tree));
  return trees;
}

}  // namespace

std::string OfferRequestBytes(std::string_view study, std::string_view submission_token,
                              const std::optional<Sha256Digest>& known_manifest) {
  OfferRequestMessage request{.tickets = 1};
  if (known_manifest.has_value()) request.known_manifest = AsBytes(*known_manifest);
  if (!submission_token.empty()) request.submission_tokens.push_back(submission_token);
  return WriteOfferRequest(study, std::move(request));
}

StatusOr<Offer> OpenOffer(std::string_view response, std::string_view curator,
                          std::string_view study, Trust& trust) {
  const StatusOr<OfferMessage> message = ReadOffer(response);
  if (!message.ok()) {
    return DataLossError(StrCat("the response is no offer: ", message.status().message(),
                                "; do not answer, and tell the curator"));
  }
  COPPICE_ASSIGN_OR_RETURN(Terms terms, OpenTerms(*message, study));
  const Fingerprint fingerprint = FingerprintOf(message->terms);
  COPPICE_RETURN_IF_ERROR(OfCurator(
      trust.Admit(curator, terms.study, fingerprint, &terms, message->manifest, ReadManifest)));
  COPPICE_ASSIGN_OR_RETURN(const Ticket ticket, OpenTicket(*message));
  COPPICE_ASSIGN_OR_RETURN(TreesByIndex trees, OpenTree(*message, terms, ticket));
  return Offer{std::move(terms), fingerprint, {ticket}, std::move(trees)};
}

std::string ProofRequestBytes(std::string_view challenge) { return WriteProofRequest(challenge); }

StatusOr<CuratorProof> OpenProof(std::string_view response, std::string_view challenge) {
  StatusOr<ProofMessage> message = ReadProof(response);
  if (!message.ok()) {
    return DataLossError(
        StrCat("the response is no key of a curator's: ", message.status().message()));
  }
  Signature proof{};
  if (message->proof.size() == proof.size()) {
    std::copy(message->proof.begin(), message->proof.end(), proof.begin());
  }
  if (!IsSignedBy(message->key, kCuratorDomain, challenge, proof)) {
    return FailedPreconditionError(
        "the curator does not prove that it has its key; nothing is sent to it");
  }
  return CuratorProof{.key = message->key, .endorsements = std::move(message->endorsements)};
}

std::string ReportRequestBytes(const PrivateReport& report) {
  const std::string ticket = report.ticket.ToBytes();
  return WriteReportsRequest(
      report.study, report.fingerprint,
      {{.ticket = ticket, .payload = report.payload, .public_values = report.public_values}});
}

StatusOr<DeliveryResult> ReadDelivery(std::string_view response) {
  const StatusOr<std::vector<int32_t>> outcomes = ReadOutcomes(response);
  if (!outcomes.ok() || outcomes->size() != 1) {
    return DataLossError("the response has not one outcome for the one report");
  }
  switch ((*outcomes)[0]) {
    case kAccepted:
      return DeliveryResult{Delivery::kAccepted, ""};
    case kDuplicate:
      return DeliveryResult{Delivery::kDuplicate, ""};
    case kUnknownStudy:
      return DeliveryResult{Delivery::kUnknownStudy, "unknown study"};
    default:
      return DeliveryResult{Delivery::kRefused, StrCat("outcome ", (*outcomes)[0])};
  }
}

}  // namespace coppice
