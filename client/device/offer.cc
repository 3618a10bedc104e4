#include "client/device/offer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "client/device/direct_reports.h"
#include "common/base/remote_error.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/envelope.h"
#include "common/terms/merkle.h"
#include "common/wire/calls.h"
#include "common/wire/terms.h"

namespace coppice {
namespace {

StatusOr<Terms> OpenTerms(const OfferMessage& offer, std::string_view study) {
  StatusOr<Terms> terms = ReadTerms(offer.terms);
  if (!terms.ok()) return SanitizeRemoteError(terms.status());
  if (terms->study == study) return terms;
  return DataLossError(StrCat("the curator sent the terms of study ", terms->study,
                              " where those of ", study, " were asked for"));
}

// The terms that the manifest is about: those that came, or those that the device knows.
StatusOr<Terms> TermsOf(const OfferMessage& offer, const OfferQuestion& question,
                        const Fingerprint& fingerprint) {
  if (question.known != nullptr && question.known->fingerprint() == fingerprint) {
    return question.known->terms();
  }
  if (question.known != nullptr) {
    return FailedPreconditionError(
        StrCat("study ", question.study, " has other terms now; fetch its offer again"));
  }
  const Fingerprint sent = FingerprintOf(offer.terms);
  if (sent == fingerprint) return OpenTerms(offer, question.study);
  if (offer.fingerprint == AsBytes(sent)) {
    return FailedPreconditionError(StrCat("the offer of study ", question.study,
                                          " is declined: what the curator signed is about other "
                                          "terms"));
  }
  return DataLossError(StrCat("the terms of study ", question.study,
                              " do not match their fingerprint; do not answer, and tell the "
                              "curator"));
}

// All trees of the study, each read only once all are known to be those that the terms stand for.
StatusOr<TreesByIndex> OpenForest(const OfferMessage& offer, const Terms& terms) {
  MerkleRootStream root;
  for (const std::string_view tree : offer.forest) root.Add({tree});
  if (offer.forest.size() != terms.trees || root.Root() != terms.forest_root) {
    return DataLossError(StrCat("the forest that was sent is not the one that the terms of study ",
                                terms.study, " stand for"));
  }
  TreesByIndex trees;
  for (uint32_t number = 0; number < terms.trees; ++number) {
    StatusOr<Tree> tree = ReadStudyTree(offer.forest[number], terms);
    if (!tree.ok()) return SanitizeRemoteError(tree.status());
    trees.emplace(number, *std::move(tree));
  }
  return trees;
}

// All offers of a study have one length, whatever the ticket. Reading a tree takes many times its
// bytes, so its length is looked at first.
Status CheckHasRoom(const OfferMessage& offer, const OfferQuestion& question) {
  uint64_t bytes = offer.tree.size() + offer.tree_path.size();
  for (const std::string_view tree : offer.forest) bytes = std::max<uint64_t>(bytes, tree.size());
  if (bytes <= question.max_offer_bytes) return OkStatus();
  return FailedPreconditionError(StrCat("study ", question.study, " is declined: its offers take ",
                                        bytes, " bytes, and this device has room for ",
                                        question.max_offer_bytes));
}

StatusOr<std::vector<Ticket>> OpenTickets(const OfferMessage& offer, uint32_t asked) {
  if (offer.tickets.size() != asked) {
    return DataLossError(StrCat("the curator sent ", offer.tickets.size(), " tickets where ", asked,
                                asked == 1 ? " was" : " were", " asked for"));
  }
  std::vector<Ticket> tickets;
  tickets.reserve(asked);
  for (const std::string_view bytes : offer.tickets) {
    COPPICE_ASSIGN_OR_RETURN(tickets.emplace_back(), Ticket::FromBytes(bytes));
  }
  return tickets;
}

StatusOr<TreesByIndex> OpenTrees(const OfferMessage& offer, const OfferQuestion& question,
                                 const Terms& terms, const Ticket& ticket) {
  if (question.whole_forest) return OpenForest(offer, terms);
  const uint32_t number = TreeOfTicket(ticket, terms.trees);
  const std::optional<std::string_view> bytes = OpenEnvelope(offer.tree);
  const std::optional<std::string_view> path = OpenEnvelope(offer.tree_path);
  if (!bytes.has_value() || !path.has_value()) {
    return DataLossError(StrCat("the offer of study ", terms.study, " holds no tree and its path"));
  }
  StatusOr<Tree> tree = ReadProvenTree(terms, number, *bytes, *path);
  if (!tree.ok()) return SanitizeRemoteError(tree.status());
  TreesByIndex trees;
  trees.emplace(number, *std::move(tree));
  return trees;
}

StatusOr<std::shared_ptr<const Privatizer>> MakePrivatizer(Terms terms,
                                                           const Fingerprint& fingerprint,
                                                           TreesByIndex trees) {
  COPPICE_ASSIGN_OR_RETURN(Privatizer privatizer,
                           Privatizer::Create(std::move(terms), fingerprint, std::move(trees)));
  return std::make_shared<const Privatizer>(std::move(privatizer));
}

Status CheckReportsFit(const Offer& offer, const Privatizer& privatizer) {
  for (const Ticket& ticket : offer.tickets) {
    COPPICE_RETURN_IF_ERROR(
        CheckReportFits(offer.manifest.manifest, privatizer.MaxReportBytes(ticket)));
  }
  return OkStatus();
}

}  // namespace

std::string OfferRequest(const OfferQuestion& question,
                         absl::Span<const std::string> submission_tokens, const Trust& trust) {
  const std::optional<Sha256Digest> manifest = trust.Known(question.server, question.study);
  OfferRequestMessage request{
      .tickets = question.tickets,
      .whole_forest = question.whole_forest,
      .submission_tokens = {submission_tokens.begin(), submission_tokens.end()}};
  if (question.known != nullptr) {
    request.known_fingerprint = AsBytes(question.known->fingerprint());
  }
  if (manifest.has_value()) request.known_manifest = AsBytes(*manifest);
  return WriteOfferRequest(question.study, std::move(request));
}

StatusOr<Offer> OpenOffer(std::string_view response, const OfferQuestion& question,
                          const Trust& trust, int64_t now) {
  StatusOr<OfferMessage> message = ReadOffer(response);
  if (!message.ok()) return SanitizeRemoteError(message.status());
  StatusOr<SeenManifest> manifest =
      trust.Verify(question.server, question.study, message->manifest, DeliveryRoute::kDirect, now);
  if (!manifest.ok()) return SanitizeRemoteError(manifest.status());
  const Fingerprint& fingerprint = manifest->manifest.fingerprint;
  COPPICE_ASSIGN_OR_RETURN(Terms terms, TermsOf(*message, question, fingerprint));
  const Status admitted = trust.Admit(*manifest, terms, DeliveryRoute::kDirect, now);
  if (!admitted.ok()) return SanitizeRemoteError(admitted);
  COPPICE_ASSIGN_OR_RETURN(std::vector<Ticket> tickets, OpenTickets(*message, question.tickets));
  Offer offer{
      .manifest = *std::move(manifest), .privatizer = nullptr, .tickets = std::move(tickets)};
  if (question.known != nullptr && question.whole_forest) {  // the caller has it all
    COPPICE_RETURN_IF_ERROR(CheckReportsFit(offer, *question.known));
    return offer;
  }
  COPPICE_RETURN_IF_ERROR(CheckHasRoom(*message, question));
  COPPICE_ASSIGN_OR_RETURN(TreesByIndex trees,
                           OpenTrees(*message, question, terms, offer.tickets[0]));
  COPPICE_ASSIGN_OR_RETURN(offer.privatizer,
                           MakePrivatizer(std::move(terms), fingerprint, std::move(trees)));
  COPPICE_RETURN_IF_ERROR(CheckReportsFit(offer, *offer.privatizer));
  return offer;
}

}  // namespace coppice
