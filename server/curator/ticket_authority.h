// Issues tickets and recognizes its own, keeping no state until one is spent; likewise the
// submission tokens that tickets may be issued for.
//
// Tickets    a ticket is an id of 16 bytes from OpenSSL's private generator and its MAC: the id
//            under AES-256, whose key is HMAC-SHA-256(curator's key, "coppice.v1.ticket" ||
//            fingerprint). One block of a block cipher is a MAC of messages of one block (CBC-MAC
//            of fixed length): a forgery succeeds with probability 2^-128 a try. It is valid for
//            that study and those terms only. Comparison is in constant time.
// Tokens     a submission token is an id of 16 random bytes and its MAC, made the same way under a
//            key for tokens alone; it is of no study. Its ticket for given terms has, as its id,
//            the first 16 bytes of HMAC-SHA-256(curator's key, "coppice.v1.token_ticket" ||
//            fingerprint || id of the token), and is otherwise a ticket like any other.
// One each   a token has one ticket a study: asking again gives the same one, so nobody draws trees
//            and columns until he likes them, and who has k tokens counts at most k times, since a
//            ticket that was spent is a duplicate. That needs no memory of tokens: the spent
//            tickets of the study are all there is. To whoever lacks the curator's key the ids are
//            random (HMAC is a pseudorandom function): he can neither choose a token by the tree
//            that it leads to, nor tell whether two tickets, of two studies, came from one token.
//            The curator can. Two tokens have the same ticket with probability 2^-128 a pair.
// Why AES     a batch of tickets is one call into AES-NI, some nanoseconds each; HMAC takes half a
//            microsecond, as much as all else that is done to a small report.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_
#define COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
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
  // The ticket of each of `tokens`, in their order. InvalidArgument if one has another length or
  // comes twice; PermissionDenied if one was not issued here. Messages number the token, from 1,
  // and do not show it.
  absl::StatusOr<std::vector<Ticket>> IssueFor(const Fingerprint& fingerprint,
                                               absl::Span<const std::string> tokens) const;
  // `count` fresh submission tokens, kTicketIdBytes + kTicketMacBytes bytes each.
  absl::StatusOr<std::vector<std::string>> IssueTokens(size_t count) const;
  // Which of `tickets` this curator issued for these terms, in their order.
  absl::StatusOr<std::vector<bool>> Recognize(absl::Span<const Ticket> tickets,
                                              const Fingerprint& fingerprint) const;

 private:
  using Key = std::array<uint8_t, 32>;
  explicit TicketAuthority(const Key& key) : key_(key) {}

  absl::StatusOr<Key> TicketKey(const Fingerprint& fingerprint) const;
  absl::StatusOr<Key> TokenKey() const;

  Key key_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_TICKET_AUTHORITY_H_
