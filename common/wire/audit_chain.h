// The audit log as a chain of hashes, and its signed head.
//
// The hash of an entry is SHA-256 of "coppice.v1.audit.entry", a zero byte, the hash of the entry
// before (32 zeros for the first) and the hash of the entry's canonical bytes (HashMessage())
// without the field `hash`. So the last hash stands for all entries, and the curator signs it.
//
// A chain shows that no entry was changed, left out, added or moved. That entries are missing from
// the end shows whoever kept an earlier head: FollowsHead().

#ifndef COPPICE_COMMON_WIRE_AUDIT_CHAIN_H_
#define COPPICE_COMMON_WIRE_AUDIT_CHAIN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/sha256.h"
#include "common/study/signature.h"
#include "coppice/v1/admin.pb.h"

namespace coppice {

// Follows the entries of a log, one after the other.
//
// Errors     DataLoss that names the first entry that does not hold, and what does not.
// Threads    one at a time.
class AuditChain {
 public:
  // The whole log, from its first entry on.
  AuditChain() = default;
  // The log after these entries, which were dropped. DataLoss if `head` is none.
  static absl::StatusOr<AuditChain> After(const v1::AuditHead& head);

  uint64_t entries() const { return entries_; }
  const Sha256Digest& hash() const { return hash_; }

  // The hash that `entry` has as the next, whatever its `hash` says. InvalidArgument if it has
  // fields that this version does not know.
  absl::StatusOr<Sha256Digest> HashOf(const v1::AuditEntry& entry) const;
  // Checks that `entry` is the next one, unchanged, and goes on to it.
  absl::Status Follow(const v1::AuditEntry& entry);
  // Makes `entry` the next: sets its sequence and hash.
  absl::Status Append(v1::AuditEntry& entry);

  // DataLoss unless the entries so far are those of `head`.
  absl::Status CheckEnd(const v1::AuditHead& head) const;

 private:
  uint64_t entries_ = 0;
  Sha256Digest hash_{};
};

// Without a signature.
v1::AuditHead ToProto(const AuditChain& chain);

// What the curator signs of a head, without kAuditDomain.
std::string SignedHeadBytes(const v1::AuditHead& head);

// OK if the head has a signature that checks, by a key that `trusted`, if given, is or leads to.
// Codes as CheckModelSignature().
absl::Status CheckHeadSignature(const v1::AuditHead& head, const std::optional<PublicKey>& trusted,
                                int64_t now_unix_seconds);

// "2026-01-31": the day of the log, in UTC.
std::string AuditDay(int64_t unix_seconds);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_AUDIT_CHAIN_H_
