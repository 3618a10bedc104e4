// Issues tickets and recognizes its own, keeping no state until one is spent; likewise the
// submission tokens that tickets may be issued for.
//
// Tickets    a ticket is an id and its MAC, 16 bytes each. The id is a serial under AES-256: which
//            run of the curator issued it (a number drawn from OpenSSL's private generator when it
//            is opened) and which of that run's tickets it is. The MAC is the id under AES-256 with
//            another key; the two keys are the halves of HMAC-SHA-512(curator's key,
//            "coppice.v1.ticket" || fingerprint). So a ticket is valid for that study and those
//            terms only, and to whoever lacks the key ids are random (AES is a pseudorandom
//            permutation): they tell nobody how many there are, or which came after which.
// MAC        one block of a block cipher is a MAC of messages of one block (CBC-MAC of fixed
//            length): a forgery succeeds with probability 2^-128 a try. Comparison is in constant
//            time.
// Serials    are what the curator knows tickets by, since those that were issued together lie
//            together (spent_tickets.h). No state is needed for no two tickets to have the same
//            one, unless two runs drew the same number of 63 bits: also after a crash, or in a
//            store that was restored from a backup.
// Tokens     a submission token is made the same way under keys for tokens alone; it is of no
//            study. Its serial is also that of its ticket in each study: no ticket that was issued
//            without a token has it, since the runs of tokens are numbered from 2^63 on.
// One each   a token has one ticket a study: asking again gives the same one, so nobody draws trees
//            and columns until he likes them, and who has k tokens counts at most k times, since a
//            ticket that was spent is a duplicate. That needs no memory of tokens: the spent
//            tickets of the study are all there is. Whoever lacks the curator's key can neither
//            choose a token by the tree that it leads to, nor tell whether two tickets, of two
//            studies, came from one token. The curator can.
// Why AES    a batch of tickets is one call into AES-NI, some nanoseconds each; HMAC takes half a
//            microsecond, as much as all else that is done to a small report.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CURATOR_KEYS_TICKET_AUTHORITY_H_
#define COPPICE_SERVER_CURATOR_KEYS_TICKET_AUTHORITY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/study/terms.h"
#include "common/study/ticket.h"
#include "server/storage/store.h"

namespace coppice::curator {

// The run that issued a ticket, and below it (64 bits) how many that run had issued before.
using TicketSerial = absl::uint128;

class TicketAuthority {
 public:
  // Loads the key from the store, or makes one and stores it.
  static absl::StatusOr<TicketAuthority> Open(storage::Store& store);

  absl::StatusOr<std::vector<Ticket>> Issue(const Fingerprint& fingerprint, size_t count) const;
  // The ticket of each of `tokens`, in their order. InvalidArgument if one has another length or
  // comes twice; PermissionDenied if one was not issued here. Messages number the token, from 1,
  // and do not show it.
  absl::StatusOr<std::vector<Ticket>> IssueFor(const Fingerprint& fingerprint,
                                               absl::Span<const std::string> tokens) const;
  // `count` fresh submission tokens, kTicketIdBytes + kTicketMacBytes bytes each.
  absl::StatusOr<std::vector<std::string>> IssueTokens(size_t count) const;
  // The serials of `tickets`, in their order; none where this curator did not issue it for these
  // terms.
  absl::StatusOr<std::vector<std::optional<TicketSerial>>> Recognize(
      absl::Span<const Ticket> tickets, const Fingerprint& fingerprint) const;

 private:
  using Key = std::array<uint8_t, 32>;
  // Of one kind of tickets.
  struct Keys {
    Key id;
    Key mac;
  };
  // Keys of studies, so that a report in a call of its own need not derive them again: that takes
  // longer than to recognize its ticket.
  class DerivedKeys {
   public:
    std::optional<Keys> Find(const Fingerprint& fingerprint) const;
    void Keep(const Fingerprint& fingerprint, const Keys& keys);

   private:
    static constexpr size_t kMost = 1024;  // then it begins anew
    mutable SharedMutex mutex_;
    absl::flat_hash_map<Fingerprint, Keys> keys_ ABSL_GUARDED_BY(mutex_);
  };
  TicketAuthority(const Key& key, uint64_t run) : key_(key), run_(run) {}

  absl::StatusOr<Keys> TicketKeys(const Fingerprint& fingerprint) const;
  absl::StatusOr<Keys> TokenKeys() const;
  absl::StatusOr<Keys> Derive(absl::string_view prefix, absl::Span<const uint8_t> terms) const;
  // The next `count` serials of a run.
  std::vector<TicketSerial> NextSerials(uint64_t run, size_t count) const;

  static absl::StatusOr<std::vector<Ticket>> Sign(absl::Span<const TicketSerial> serials,
                                                  const Keys& keys);
  static absl::StatusOr<std::vector<std::optional<TicketSerial>>> Verify(
      absl::Span<const Ticket> tickets, const Keys& keys);

  Key key_;
  uint64_t run_;
  std::unique_ptr<std::atomic<uint64_t>> issued_ = std::make_unique<std::atomic<uint64_t>>(0);
  std::unique_ptr<DerivedKeys> derived_ = std::make_unique<DerivedKeys>();
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_TICKET_AUTHORITY_H_
