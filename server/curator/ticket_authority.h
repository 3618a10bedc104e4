// Issues tickets and recognizes its own, keeping no state until one is spent.
//
// Guarantee  a ticket is an id of 16 bytes from OpenSSL's private generator and the first 16 bytes of
//            HMAC-SHA-256 over the study's fingerprint and the id. It is valid for that study and
//            those terms only. Comparison is in constant time.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_
#define COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/study/terms.h"
#include "common/study/ticket.h"
#include "server/storage/store.h"

namespace coppice {

class TicketAuthority {
 public:
  // Loads the key from the store, or makes one and stores it.
  static absl::StatusOr<TicketAuthority> Open(Store& store);

  absl::StatusOr<Ticket> Issue(const Fingerprint& fingerprint) const;
  // InvalidArgument if this curator did not issue `ticket` for these terms.
  absl::Status Verify(const Ticket& ticket, const Fingerprint& fingerprint) const;

 private:
  using Key = std::array<uint8_t, 32>;
  explicit TicketAuthority(const Key& key) : key_(key) {}

  Key key_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_
