// What a relay shows to devices of one deal, made once: the terms that all of them get, and
// offers. All of it is public but for who gets which offer.

#ifndef COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_
#define COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/manifest.h"
#include "common/study/relay_promise.h"
#include "common/study/signature.h"
#include "coppice/v1/study.pb.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {

// Guarantee  Every envelope has offer_bytes() bytes, whatever the ticket and its tree. The forest
//            is the one that the terms' root stands for.
// Errors     DataLoss: the forest is another one, or the bytes are no documents. InvalidArgument:
//            terms or trees that this version does not take, or offers above kMaxOfferBytes.
// Threads    immutable once Promise() was called; then safe to share.
class DealDocuments {
 public:
  static constexpr size_t kMaxOfferBytes = size_t{16} << 20;

  // `offer`: the curator's, with terms, manifest and the whole forest. Its tickets are passed over.
  static absl::StatusOr<DealDocuments> Create(const v1::GetOfferResponse& offer);

  uint32_t offer_bytes() const { return static_cast<uint32_t>(offer_bytes_); }

  // Signs what the relay promises of this deal. Once, before anything below.
  absl::Status Promise(const RelayTerms& promise, const SigningKey& key);

  const RelayTerms& promise() const { return promise_; }
  // What the curator signed.
  const Manifest& manifest() const { return manifest_; }
  // A serialized GetRelayTermsResponse.
  const std::shared_ptr<const std::string>& terms_answer() const { return terms_answer_; }
  // Four bytes with a length, big-endian; as many of a serialized RelayedOffer; zeros.
  std::string Envelope(const Dealt& dealt) const;

  // For the epoch's folder, and back.
  std::string Pack() const;
  static absl::StatusOr<DealDocuments> Unpack(absl::string_view packed);

 private:
  explicit DealDocuments(Manifest manifest) : manifest_(std::move(manifest)) {}

  std::string terms_;
  v1::SignedManifest signed_manifest_;
  Manifest manifest_;
  std::vector<std::string> tree_fields_;  // of each tree, `tree` and `tree_path` of RelayedOffer
  size_t offer_bytes_ = 0;
  RelayTerms promise_;
  std::shared_ptr<const std::string> terms_answer_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_DEAL_DOCUMENTS_H_
