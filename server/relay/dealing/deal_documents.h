// The documents that a relay shows to devices of one deal, made once: the terms that all of them
// get, and the offers. All of it is public, except who gets which offer.

#ifndef COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_
#define COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "common/terms/relay_promise.h"
#include "common/terms/signature.h"
#include "coppice/v1/study.pb.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {

// Guarantee  Every envelope has offer_bytes() bytes, whatever the ticket and its tree. The forest
//            is the one that the terms' root commits to.
// Errors     DataLoss: the forest is another one, or the bytes are malformed. InvalidArgument:
//            unsupported terms or trees, or offers above kMaxOfferBytes.
// Threads    immutable after Promise(); then safe to share.
class DealDocuments {
 public:
  // `offer` is the curator's, with terms, manifest and the whole forest. Its tickets are ignored.
  static StatusOr<DealDocuments> Create(const v1::GetOfferResponse& offer);

  uint32_t offer_bytes() const { return static_cast<uint32_t>(offer_bytes_); }

  // Signs what the relay promises for this deal. Call it once, before anything below.
  Status Promise(const RelayTerms& promise, const SigningKey& key);

  const RelayTerms& promise() const { return promise_; }
  // The manifest that the curator signed.
  const Manifest& manifest() const { return manifest_; }
  // A serialized GetRelayTermsResponse.
  const std::shared_ptr<const std::string>& terms_answer() const { return terms_answer_; }
  // Returns a length of four bytes, big-endian; a serialized RelayedOffer of that length; zeros.
  std::string Envelope(const Dealt& dealt) const;

  // Converts to the bytes that the epoch's folder keeps, and back.
  std::string Pack() const;
  static StatusOr<DealDocuments> Unpack(std::string_view packed);

 private:
  explicit DealDocuments(Manifest manifest) : manifest_(std::move(manifest)) {}

  std::string terms_;
  v1::SignedManifest signed_manifest_;
  Manifest manifest_;
  std::vector<std::string> tree_fields_;  // per tree, `tree` and `tree_path` of RelayedOffer
  size_t offer_bytes_ = 0;
  RelayTerms promise_;
  std::shared_ptr<const std::string> terms_answer_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_
