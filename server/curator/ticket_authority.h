// Issues tickets and recognizes its own, keeping no state until one is spent.
//
// Guarantee  a ticket is an id of 16 bytes from OpenSSL's private generator and its MAC: the id
//            under AES-256, whose key is HMAC-SHA-256(curator's key, "coppice.v1.ticket" ||
//            fingerprint). One block of a block cipher is a MAC of messages of one block (CBC-MAC
//            of fixed length): a forgery succeeds with probability 2^-128 a try. It is valid for
//            that study and those terms only. Comparison is in constant time.
// Why AES     a batch of tickets is one call into AES-NI, some nanoseconds each; HMAC takes half a
//            microsecond, as much as all else that is done to a small report.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_
#define COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/study/terms.h"
#include "common/study/ticket.h"
#include "server/storage/store.h"

namespace coppice {

class TicketAuthority {
 public:
  // Loads the key from the store, or makes one and stores it.
  static absl::StatusOr<TicketAuthority> Open(Store& store);

  absl::StatusOr<std::vector<Ticket>> Issue(const Fingerprint& fingerprint, size_t count) const;
  // Which of `tickets` this curator issued for these terms, in their order.
  absl::StatusOr<std::vector<bool>> Recognize(absl::Span<const Ticket> tickets,
                                              const Fingerprint& fingerprint) const;

 private:
  using Key = std::array<uint8_t, 32>;
  explicit TicketAuthority(const Key& key) : key_(key) {}

  // The MACs of ids that stand in a row, 16 bytes each.
  absl::StatusOr<std::vector<uint8_t>> MacsOf(const std::vector<uint8_t>& ids,
                                              const Fingerprint& fingerprint) const;

  Key key_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_
