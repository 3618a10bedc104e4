// The audit log as a chain of hashes, and its signed head.
//
// The hash of an entry is SHA-256 of "coppice.v1.audit.entry", a zero byte, the hash of the entry
// before (32 zeros for the first) and the hash of the entry's canonical bytes (HashMessage())
// without the field `hash`. So the last hash covers all entries, and the curator signs it.
//
// A chain shows that no entry was changed, left out, added or moved. Only a head that was kept from
// before shows that entries are missing from the end.

#ifndef COPPICE_COMMON_WIRE_PROTO_AUDIT_CHAIN_H_
#define COPPICE_COMMON_WIRE_PROTO_AUDIT_CHAIN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "common/terms/signature.h"
#include "coppice/v1/admin.pb.h"

namespace coppice {

// Checks the entries of a log, one after the other.
//
// Errors     DataLoss that names the first wrong entry, and what is wrong with it.
// Threads    not thread-safe.
class AuditChain {
 public:
  // Starts at the first entry of the whole log.
  AuditChain() = default;
  // Starts after the entries of `head`, which were dropped. DataLoss if `head` is not valid.
  static StatusOr<AuditChain> After(const v1::AuditHead& head);

  uint64_t entries() const { return entries_; }
  const Sha256Digest& hash() const { return hash_; }

  // The hash that `entry` must have as the next one, whatever its `hash` says. InvalidArgument if
  // it has fields that this version does not know.
  StatusOr<Sha256Digest> HashOf(const v1::AuditEntry& entry) const;
  // Checks that `entry` is the next one, unchanged, and advances to it.
  Status Follow(const v1::AuditEntry& entry);
  // Appends `entry`: sets its sequence and hash.
  Status Append(v1::AuditEntry& entry);

  // DataLoss unless the entries so far are those of `head`.
  Status CheckEnd(const v1::AuditHead& head) const;

 private:
  uint64_t entries_ = 0;
  Sha256Digest hash_{};
};

// Makes a head without a signature.
v1::AuditHead ToProto(const AuditChain& chain);

// The bytes that the curator signs for a head, without kAuditDomain.
std::string SignedHeadBytes(const v1::AuditHead& head);

// OK if the head's signature verifies, with a key that `trusted`, if given, is or leads to. Codes
// as CheckModelSignature().
Status CheckHeadSignature(const v1::AuditHead& head, const std::optional<PublicKey>& trusted,
                          int64_t now_unix_seconds);

// "2026-01-31": the day of a log entry, in UTC.
std::string AuditDay(int64_t unix_seconds);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_AUDIT_CHAIN_H_
