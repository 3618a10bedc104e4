// What a relay shows to devices of one deal, made once: the terms that all of them get, and
// offers. All of it is public but for who gets which offer.

#ifndef COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_
#define COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/signature.h"
#include "common/study/terms.h"
#include "common/study/ticket.h"
#include "coppice/v1/study.pb.h"

namespace coppice::relay {

inline constexpr size_t kClaimBytes = 16;

// Guarantee  Every envelope has offer_bytes() bytes, whatever the ticket and its tree. The forest
//            is the one that the terms' root stands for.
// Errors     DataLoss: the forest is another one. InvalidArgument: terms or trees that this
//            version does not take, or offers of more than kMaxOfferBytes.
// Threads    immutable; safe to share.
class DealDocuments {
 public:
  static constexpr size_t kMaxOfferBytes = size_t{16} << 20;

  // `offer`: the curator's, with terms, manifest and the whole forest. Its tickets are passed over.
  static absl::StatusOr<DealDocuments> Create(const v1::GetOfferResponse& offer);
  // From the bytes that Pack() gave.
  static absl::StatusOr<DealDocuments> Unpack(absl::string_view packed);
  static std::string Pack(v1::GetOfferResponse offer);

  uint32_t offer_bytes() const { return static_cast<uint32_t>(offer_bytes_); }

  // Four bytes with a length, big-endian; as many of a serialized RelayedOffer; zeros.
  std::string Envelope(const Ticket& ticket, absl::string_view claim) const;

  // A serialized GetRelayTermsResponse.
  std::string TermsAnswer(absl::string_view relay_terms, const Signature& signature) const;

 private:
  DealDocuments() = default;

  std::string terms_;
  v1::SignedManifest manifest_;
  std::vector<std::string> tree_fields_;  // of each tree, `tree` and `tree_path` of RelayedOffer
  size_t offer_bytes_ = 0;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_
