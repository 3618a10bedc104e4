#include "server/relay/dealing/deal_documents.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/calls.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"
#include "coppice/v1/relay.pb.h"

namespace coppice::relay {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kTicketBytes = kTicketIdBytes + kTicketMacBytes;
// Fields 1 and 2 of RelayedOffer: each a byte that names the field, one with the length, the value.
constexpr char kTicketField[] = {0x0a, static_cast<char>(kTicketBytes)};
constexpr char kClaimField[] = {0x12, static_cast<char>(kClaimBytes)};
constexpr size_t kOwnFieldsBytes =
    sizeof kTicketField + kTicketBytes + sizeof kClaimField + kClaimBytes;

// Appends it big-endian.
void AppendLength(size_t length, std::string& to) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    to.push_back(static_cast<char>(length >> shift & 0xff));
  }
}

// Fields are serialized in the order of their numbers, so a message can be assembled from the bytes
// of two.
std::string TreeFields(const std::string& tree, const std::string& path) {
  v1::RelayedOffer offer;
  offer.set_tree(tree);
  offer.set_tree_path(path);
  return offer.SerializeAsString();
}

Status DamagedDocuments() { return DataLossError("the documents of a deal are damaged"); }

}  // namespace

StatusOr<DealDocuments> DealDocuments::Create(const v1::GetOfferResponse& offer) {
  COPPICE_ASSIGN_OR_RETURN(const Terms terms, ReadTerms(offer.terms()));
  const PackedForest packed = PackTrees({offer.forest().begin(), offer.forest().end()});
  COPPICE_RETURN_IF_ERROR(OpenForest(terms, packed).status());
  COPPICE_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(offer.manifest().manifest()));
  DealDocuments documents(std::move(manifest));
  documents.terms_ = offer.terms();
  documents.signed_manifest_ = offer.manifest();
  size_t longest = 0;
  for (size_t i = 0; i < packed.trees.size(); ++i) {
    documents.tree_fields_.push_back(TreeFields(packed.trees[i], packed.merkle.paths[i]));
    longest = std::max(longest, documents.tree_fields_.back().size());
  }
  documents.offer_bytes_ = kLengthBytes + kOwnFieldsBytes + longest;
  if (documents.offer_bytes_ > kMaxOfferBytes) {
    return InvalidArgumentError(StrCat("an offer of study ", terms.study, " has ",
                                       documents.offer_bytes_, " bytes, and a relay sends at most ",
                                       kMaxOfferBytes, ": the study needs smaller trees"));
  }
  return documents;
}

Status DealDocuments::Promise(const RelayTerms& promise, const SigningKey& key) {
  COPPICE_RETURN_IF_ERROR(ValidateRelayTerms(promise));
  v1::GetRelayTermsResponse answer;
  answer.set_relay_terms(WriteRelayTerms(promise));
  COPPICE_ASSIGN_OR_RETURN(const Signature signature, key.Sign(kRelayDomain, answer.relay_terms()));
  answer.mutable_signature()->assign(signature.begin(), signature.end());
  answer.set_terms(terms_);
  *answer.mutable_manifest() = signed_manifest_;
  promise_ = promise;
  terms_answer_ = std::make_shared<const std::string>(answer.SerializeAsString());
  return OkStatus();
}

std::string DealDocuments::Envelope(const Dealt& dealt) const {
  const std::string& tree =
      tree_fields_[TreeOfTicket(dealt.ticket, static_cast<uint32_t>(tree_fields_.size()))];
  std::string envelope;
  envelope.reserve(offer_bytes_);
  AppendLength(kOwnFieldsBytes + tree.size(), envelope);
  envelope.append(kTicketField, sizeof kTicketField);
  envelope.append(dealt.ticket.id.begin(), dealt.ticket.id.end());
  envelope.append(dealt.ticket.mac.begin(), dealt.ticket.mac.end());
  envelope.append(kClaimField, sizeof kClaimField);
  envelope.append(dealt.claim.begin(), dealt.claim.end());
  envelope += tree;
  envelope.resize(offer_bytes_, '\0');
  return envelope;
}

// Writes a length, that much of the answer to GetRelayTerms, a GetOfferResponse with the forest.
std::string DealDocuments::Pack() const {
  v1::GetOfferResponse forest;
  for (const std::string& fields : tree_fields_) {
    v1::RelayedOffer tree;
    tree.ParseFromString(fields);
    forest.add_forest(std::move(*tree.mutable_tree()));
  }
  std::string packed;
  AppendLength(terms_answer_->size(), packed);
  return packed + *terms_answer_ + forest.SerializeAsString();
}

StatusOr<DealDocuments> DealDocuments::Unpack(std::string_view packed) {
  if (packed.size() < kLengthBytes) return DamagedDocuments();
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length = length << 8 | static_cast<uint8_t>(packed[i]);
  }
  packed.remove_prefix(kLengthBytes);
  if (length > packed.size()) return DamagedDocuments();
  const std::string_view answer_bytes = packed.substr(0, length);
  packed.remove_prefix(length);
  v1::GetRelayTermsResponse answer;
  v1::GetOfferResponse offer;
  if (!answer.ParseFromArray(answer_bytes.data(), static_cast<int>(length)) ||
      !offer.ParseFromArray(packed.data(), static_cast<int>(packed.size()))) {
    return DamagedDocuments();
  }
  offer.set_terms(answer.terms());
  *offer.mutable_manifest() = answer.manifest();
  COPPICE_ASSIGN_OR_RETURN(DealDocuments documents, Create(offer));
  COPPICE_ASSIGN_OR_RETURN(documents.promise_, ReadRelayTerms(answer.relay_terms()));
  if (documents.promise_.offer_bytes != documents.offer_bytes()) return DamagedDocuments();
  documents.terms_answer_ = std::make_shared<const std::string>(answer_bytes);
  return documents;
}

}  // namespace coppice::relay
