// The tickets and submission tokens of a curator.

#ifndef COPPICE_SERVER_CURATOR_KEYS_TICKET_AUTHORITY_H_
#define COPPICE_SERVER_CURATOR_KEYS_TICKET_AUTHORITY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/terms.h"
#include "common/terms/ticket.h"
#include "server/store/store.h"

namespace coppice::curator {

// The number of the run that issued a ticket (high 64 bits) and its number within the run.
using TicketSerial = absl::uint128;

// Issues tickets and recognizes its own without keeping state until one is spent. Does the same for
// the submission tokens that tickets may be issued for.
//
// A ticket is an id and its MAC, 16 bytes each. The id is a serial under AES-256: the run of the
// curator that issued the ticket (a number drawn from OpenSSL's private generator at the start) and
// the ticket's number within the run. The MAC is the id under AES-256 with another key. The two
// keys are the halves of HMAC-SHA-512(curator's key, "coppice.v1.ticket" || fingerprint), so a
// ticket is valid for one study and its terms only. Without the key ids look random (AES is a
// pseudorandom permutation): they reveal neither their number nor their order. AES handles a batch
// of tickets in one call into AES-NI, some nanoseconds each; HMAC takes half a microsecond, as much
// as everything else done to a small report.
//
// The curator stores tickets by serial, since tickets issued together lie together
// (spent_tickets.h). Two tickets share a serial only if two runs drew the same number of 63 bits,
// even after a crash or in a store restored from a backup.
//
// A submission token is made the same way, under keys for tokens alone; it belongs to no study. Its
// serial is that of its ticket in each study. Runs of tokens are numbered from 2^63, so no ticket
// issued without a token shares it. A token has one ticket per study, and asking again returns the
// same one: nobody can redraw trees and columns, and k tokens count at most k times. Without the
// curator's key nobody can choose a token by its tree, nor link tickets of two studies to one
// token. The curator can.
//
// Guarantee  One AES block is a MAC of one-block messages (CBC-MAC of fixed length): a forgery
//            succeeds with probability 2^-128 per try. Comparison takes constant time.
// Threads    safe to share.
class TicketAuthority {
 public:
  // Loads the key from the store, or makes and stores one.
  static StatusOr<TicketAuthority> Open(storage::Store& store);

  StatusOr<std::vector<Ticket>> Issue(const Fingerprint& fingerprint, size_t count) const;
  // The ticket of each of `tokens`, in their order. InvalidArgument if one has a wrong length or
  // comes twice; PermissionDenied if one was not issued here. Messages give the token's number,
  // from 1, and do not show it.
  StatusOr<std::vector<Ticket>> IssueFor(const Fingerprint& fingerprint,
                                         absl::Span<const std::string> tokens) const;
  // `count` fresh submission tokens of kTicketIdBytes + kTicketMacBytes bytes each.
  StatusOr<std::vector<std::string>> IssueTokens(size_t count) const;
  // The serials of `tickets`, in their order; none for a ticket that this curator did not issue for
  // these terms.
  StatusOr<std::vector<std::optional<TicketSerial>>> Recognize(
      absl::Span<const Ticket> tickets, const Fingerprint& fingerprint) const;

 private:
  using Key = std::array<uint8_t, 32>;
  // The keys of the tickets of one study, or of tokens.
  struct Keys {
    Key id;
    Key mac;
  };
  // Caches the keys of studies: deriving them takes longer than recognizing the ticket of a report
  // that comes in a call of its own.
  class DerivedKeys {
   public:
    std::optional<Keys> Find(const Fingerprint& fingerprint) const;
    void Keep(const Fingerprint& fingerprint, const Keys& keys);

   private:
    static constexpr size_t kMaxKeys = 1024;  // a full cache is cleared
    mutable SharedMutex mutex_;
    absl::flat_hash_map<Fingerprint, Keys> keys_ ABSL_GUARDED_BY(mutex_);
  };
  TicketAuthority(const Key& key, uint64_t run) : key_(key), run_(run) {}

  StatusOr<Keys> TicketKeys(const Fingerprint& fingerprint) const;
  StatusOr<Keys> TokenKeys() const;
  StatusOr<Keys> Derive(std::string_view prefix, absl::Span<const uint8_t> terms) const;
  // The next `count` serials of a run.
  std::vector<TicketSerial> NextSerials(uint64_t run, size_t count) const;

  static StatusOr<std::vector<Ticket>> Sign(absl::Span<const TicketSerial> serials,
                                            const Keys& keys);
  static StatusOr<std::vector<std::optional<TicketSerial>>> Verify(absl::Span<const Ticket> tickets,
                                                                   const Keys& keys);

  Key key_;
  uint64_t run_;
  std::unique_ptr<std::atomic<uint64_t>> issued_ = std::make_unique<std::atomic<uint64_t>>(0);
  std::unique_ptr<DerivedKeys> derived_ = std::make_unique<DerivedKeys>();
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_TICKET_AUTHORITY_H_
