// Collects the tickets of one pool from the curator's offers, and checks all of them.

#ifndef COPPICE_SERVER_RELAY_DEALING_POOL_BUILDER_H_
#define COPPICE_SERVER_RELAY_DEALING_POOL_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/terms/terms.h"
#include "common/terms/ticket.h"
#include "coppice/v1/study.pb.h"
#include "server/relay/dealing/curator_trust.h"
#include "server/relay/dealing/deal_documents.h"

namespace coppice::relay {

// A deal without its name and its times.
struct TicketPool {
  std::vector<Ticket> tickets;  // all different
  DealDocuments documents;
  Fingerprint fingerprint{};
  SealingKeyName sealing_key{};
  uint64_t min_batch = 0;
  uint64_t ciphertext_bytes = 0;  // of every sealed report
};

// Guarantee  All tickets have one set of terms, one manifest and so one sealing key: devices of a
//            deal differ only by ticket and tree. CuratorTrust admits the manifest, and the study
//            takes sealed reports and splits devices by nothing else.
// Errors     Add(): Aborted: the study has changed since the first offer; start a new builder.
//            DataLoss: the curator's answer is not what was asked for, or inconsistent.
//            FailedPrecondition: the study cannot be relayed, or needs more tickets; the message is
//            for the operator. Otherwise as CuratorTrust. After an error the builder is useless.
// Threads    one at a time.
class PoolBuilder {
 public:
  // `trust` must outlive the builder. `min_batch` is the relay's own minimum, 0 for none.
  PoolBuilder(std::string study, uint64_t tickets, uint64_t min_batch, CuratorTrust& trust)
      : study_(std::move(study)), wanted_(tickets), own_min_batch_(min_batch), trust_(trust) {}

  // The first request asks for the terms and one ticket, so errors show before many are spent.
  v1::GetOfferRequest NextRequest() const;
  Status Add(const v1::GetOfferResponse& offer, int64_t now_unix_seconds);

  // The bytes on disk that the deal will need, and the study's expiry; 0 before the first offer.
  uint64_t BytesNeeded() const;
  int64_t expires_unix_seconds() const {
    return first_.has_value() ? first_->documents.manifest().expires_unix_seconds : 0;
  }
  bool IsComplete() const { return first_.has_value() && pool_tickets_.size() == wanted_; }
  // Call it once the pool is complete. DataLoss: a ticket came twice.
  StatusOr<TicketPool> Finish() &&;

 private:
  struct First {
    Fingerprint fingerprint{};
    v1::SignedManifest signed_manifest;
    Sha256Digest manifest_hash{};
    ManifestSealing sealing;
    DealDocuments documents;
    uint64_t forest_bytes = 0;
  };

  Status AddFirst(const v1::GetOfferResponse& offer, int64_t now_unix_seconds);
  Status CheckUnchanged(const v1::GetOfferResponse& offer) const;
  Status AddTickets(const v1::GetOfferResponse& offer);
  Status CheckBatch(const ManifestSealing& sealing) const;
  uint64_t TicketsToAsk() const;

  std::string study_;
  uint64_t wanted_;
  uint64_t own_min_batch_;
  CuratorTrust& trust_;
  std::optional<First> first_;
  std::vector<Ticket> pool_tickets_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_POOL_BUILDER_H_
