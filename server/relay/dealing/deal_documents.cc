#include "server/relay/dealing/deal_documents.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/packed_forest.h"
#include "coppice/v1/relay.pb.h"

namespace coppice::relay {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kTicketBytes = kTicketIdBytes + kTicketMacBytes;
// Fields 1 and 2 of RelayedOffer: a byte that names the field, one with the length, the value.
constexpr char kTicketField[] = {0x0a, static_cast<char>(kTicketBytes)};
constexpr char kClaimField[] = {0x12, static_cast<char>(kClaimBytes)};
constexpr size_t kOwnFieldsBytes =
    sizeof kTicketField + kTicketBytes + sizeof kClaimField + kClaimBytes;

// Fields follow each other in the order of their numbers, so that a message may be put together
// from the bytes of two.
std::string TreeFields(const std::string& tree, const std::string& path) {
  v1::RelayedOffer offer;
  offer.set_tree(tree);
  offer.set_tree_path(path);
  return offer.SerializeAsString();
}

}  // namespace

absl::StatusOr<DealDocuments> DealDocuments::Create(const v1::GetOfferResponse& offer) {
  COPPICE_ASSIGN_OR_RETURN(const Terms terms, ParseTerms(offer.terms()));
  const PackedForest packed = PackTrees({offer.forest().begin(), offer.forest().end()});
  COPPICE_RETURN_IF_ERROR(OpenForest(terms, packed).status());
  DealDocuments documents;
  documents.terms_ = offer.terms();
  documents.manifest_ = offer.manifest();
  size_t longest = 0;
  for (size_t i = 0; i < packed.trees.size(); ++i) {
    documents.tree_fields_.push_back(TreeFields(packed.trees[i], packed.merkle.paths[i]));
    longest = std::max(longest, documents.tree_fields_.back().size());
  }
  documents.offer_bytes_ = kLengthBytes + kOwnFieldsBytes + longest;
  if (documents.offer_bytes_ > kMaxOfferBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an offer of study ", terms.study, " has ", documents.offer_bytes_,
        " bytes, and a relay sends at most ", kMaxOfferBytes, ": the study needs smaller trees"));
  }
  return documents;
}

std::string DealDocuments::Pack(v1::GetOfferResponse offer) {
  offer.clear_tickets();
  return offer.SerializeAsString();
}

absl::StatusOr<DealDocuments> DealDocuments::Unpack(absl::string_view packed) {
  v1::GetOfferResponse offer;
  if (!offer.ParseFromArray(packed.data(), static_cast<int>(packed.size()))) {
    return absl::DataLossError("the documents of a deal are damaged");
  }
  return Create(offer);
}

std::string DealDocuments::Envelope(const Ticket& ticket, absl::string_view claim) const {
  const std::string& tree =
      tree_fields_[TreeOfTicket(ticket, static_cast<uint32_t>(tree_fields_.size()))];
  const size_t length = kOwnFieldsBytes + tree.size();
  std::string envelope;
  envelope.reserve(offer_bytes_);
  for (int shift = 24; shift >= 0; shift -= 8) {
    envelope.push_back(static_cast<char>(length >> shift & 0xff));
  }
  envelope.append(kTicketField, sizeof kTicketField);
  envelope.append(ticket.id.begin(), ticket.id.end());
  envelope.append(ticket.mac.begin(), ticket.mac.end());
  envelope.append(kClaimField, sizeof kClaimField);
  envelope.append(claim.data(), kClaimBytes);
  envelope += tree;
  envelope.resize(offer_bytes_, '\0');
  return envelope;
}

std::string DealDocuments::TermsAnswer(absl::string_view relay_terms,
                                       const Signature& signature) const {
  v1::GetRelayTermsResponse answer;
  answer.set_relay_terms(relay_terms.data(), relay_terms.size());
  answer.mutable_signature()->assign(signature.begin(), signature.end());
  answer.set_terms(terms_);
  *answer.mutable_manifest() = manifest_;
  return answer.SerializeAsString();
}

}  // namespace coppice::relay
