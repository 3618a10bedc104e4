#include "common/wire/proto/audit_chain.h"

#include <algorithm>
#include <string_view>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/key_chain.h"
#include "common/wire/proto/model_signature.h"

namespace coppice {
namespace {

constexpr std::string_view kEntryDomain("coppice.v1.audit.entry\0", 23);

std::string BigEndian(uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

Status EntryError(uint64_t sequence, std::string_view what) {
  return DataLossError(StrCat("entry ", sequence, " of the audit log ", what));
}

}  // namespace

StatusOr<AuditChain> AuditChain::After(const v1::AuditHead& head) {
  AuditChain chain;
  if (head.hash().size() != chain.hash_.size()) {
    return DataLossError(
        "the place where the audit log begins is damaged: its hash does not "
        "have 32 bytes");
  }
  chain.entries_ = head.entries();
  std::copy(head.hash().begin(), head.hash().end(), chain.hash_.begin());
  if (chain.entries_ == 0 && chain.hash_ != Sha256Digest{}) {
    return DataLossError(
        "the place where the audit log begins is damaged: it has a hash and "
        "no entry");
  }
  return chain;
}

StatusOr<Sha256Digest> AuditChain::HashOf(const v1::AuditEntry& entry) const {
  COPPICE_ASSIGN_OR_RETURN(const Sha256Digest content,
                           HashMessage(entry, {v1::AuditEntry::kHashFieldNumber}));
  return Sha256({kEntryDomain, AsBytes(hash_), AsBytes(content)});
}

Status AuditChain::Follow(const v1::AuditEntry& entry) {
  if (entry.sequence() != entries_) {
    return EntryError(
        entries_, StrCat("is missing or out of place: entry ", entry.sequence(), " stands there"));
  }
  const StatusOr<Sha256Digest> hash = HashOf(entry);
  if (!hash.ok()) {
    return EntryError(entries_, StrCat("cannot be checked: ", hash.status().message(),
                                       "; does a later version write this log?"));
  }
  if (entry.hash() != AsBytes(*hash)) {
    return EntryError(entries_,
                      "was changed, or the one before it is not the one that it was "
                      "written after");
  }
  ++entries_;
  hash_ = *hash;
  return OkStatus();
}

Status AuditChain::Append(v1::AuditEntry& entry) {
  entry.set_sequence(entries_);
  COPPICE_ASSIGN_OR_RETURN(hash_, HashOf(entry));
  entry.set_hash(std::string(AsBytes(hash_)));
  ++entries_;
  return OkStatus();
}

Status AuditChain::CheckEnd(const v1::AuditHead& head) const {
  if (head.entries() > entries_) {
    return EntryError(entries_, StrCat("is missing: the log has ", head.entries(),
                                       " entries by its head, and ends before that"));
  }
  if (head.entries() < entries_) {
    return EntryError(head.entries(), "stands after the end of the log that its head names");
  }
  if (head.hash() == AsBytes(hash_)) return OkStatus();
  if (entries_ == 0) return DataLossError("the head of the audit log is damaged");
  return EntryError(entries_ - 1, "is not the one that the head of the log names");
}

v1::AuditHead ToProto(const AuditChain& chain) {
  v1::AuditHead head;
  head.set_entries(chain.entries());
  head.set_hash(std::string(AsBytes(chain.hash())));
  return head;
}

std::string SignedHeadBytes(const v1::AuditHead& head) {
  return StrCat(BigEndian(head.entries()), head.hash());
}

Status CheckHeadSignature(const v1::AuditHead& head, const std::optional<PublicKey>& trusted,
                          int64_t now_unix_seconds) {
  if (!head.has_signature()) return NotFoundError("the head of the audit log is not signed");
  const StatusOr<ModelSignature> signature = ParseModelSignature(head.signature());
  if (!signature.ok()) return DataLossError(signature.status().message());
  if (!IsSignedBy(signature->key, kAuditDomain, SignedHeadBytes(head), signature->signature)) {
    return DataLossError(
        "the signature of the audit log's head does not check: it was changed after it was signed");
  }
  if (!trusted.has_value()) return OkStatus();
  const Status led =
      FollowChain(*trusted, signature->endorsements, signature->key, now_unix_seconds);
  if (led.ok()) return led;
  return Status(led.code(), StrCat("the audit log's head: ", led.message()));
}

std::string AuditDay(int64_t unix_seconds) {
  return absl::FormatCivilTime(
      absl::ToCivilDay(absl::FromUnixSeconds(unix_seconds), absl::UTCTimeZone()));
}

}  // namespace coppice
