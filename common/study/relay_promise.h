// What a relay signs: to devices, what it promises of a deal; to the curator, what a batch holds.
//
// All of it is public.

#ifndef COPPICE_COMMON_STUDY_RELAY_PROMISE_H_
#define COPPICE_COMMON_STUDY_RELAY_PROMISE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/study/sha256.h"
#include "common/study/signature.h"
#include "common/study/terms.h"

namespace coppice {

// One deal of a relay, by a name that it drew. At most one batch comes of it.
using EpochId = std::array<uint8_t, 16>;
// The first 16 bytes of a hash of the sealing key (common/seal/sealing_key.h).
using SealingKeyName = std::array<uint8_t, 16>;

// Of what a relay signs, as it travels.
inline constexpr size_t kMaxRelayPromiseBytes = 512;
inline constexpr uint64_t kMaxEpochTickets = uint64_t{1} << 24;
// A relay's study accepts no smaller batch, and a device that is told nothing else none either.
inline constexpr uint64_t kLeastMinBatch = 1000;

// What a device decides by. It travels as bytes, signed by the relay under kRelayDomain.
struct RelayTerms {
  std::string study;  // its id
  Fingerprint fingerprint{};
  SealingKeyName sealing_key{};
  EpochId epoch{};
  uint64_t min_batch = 0;               // a batch with fewer reports is erased; at least 1
  uint64_t tickets = 0;                 // that are dealt at most: min_batch to kMaxEpochTickets
  int64_t deal_until_unix_seconds = 0;  // from then on no ticket is dealt,
  int64_t freeze_at_unix_seconds = 0;   // and from then on no report is taken; not before that
  KeyId relay_key{};
  uint32_t offer_bytes = 0;  // of every offer, whatever its tree

  friend bool operator==(const RelayTerms&, const RelayTerms&) = default;
};

// InvalidArgument unless every field is as stated above.
absl::Status ValidateRelayTerms(const RelayTerms& terms);

// What a relay says of a batch, under kBatchDomain. The batch's id is SHA-256 of its bytes.
struct BatchHeader {
  std::string study;  // its id
  Fingerprint fingerprint{};
  SealingKeyName sealing_key{};
  EpochId epoch{};
  uint64_t reports = 0;    // at least min_batch, at most kMaxEpochTickets
  uint64_t min_batch = 0;  // as devices were told; at least 1
  // The root of the hash tree over the sealed reports in the order of their tickets, each as
  // ticket, ephemeral key and ciphertext (merkle.h).
  Sha256Digest root{};
  KeyId relay_key{};

  friend bool operator==(const BatchHeader&, const BatchHeader&) = default;
};

// InvalidArgument unless every field is as stated above.
absl::Status ValidateBatchHeader(const BatchHeader& header);

// A batch travels in parts of at most this many reports. But for the last one, a part has at least
// the second number of reports, or this many bytes of them: each is a synced write of the curator,
// and another when it is counted. A quarter of the most leaves room for relays that must keep
// their messages small.
inline constexpr uint64_t kMaxReportsPerPart = 1000;
inline constexpr uint64_t kMinReportsPerPart = kMaxReportsPerPart / 4;
inline constexpr uint64_t kMinPartBytes = uint64_t{1} << 18;

}  // namespace coppice

#endif  // COPPICE_COMMON_STUDY_RELAY_PROMISE_H_
