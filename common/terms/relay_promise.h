// What a relay signs: for devices its promise about a deal, for the curator what a batch holds.
//
// All of it is public.

#ifndef COPPICE_COMMON_TERMS_RELAY_PROMISE_H_
#define COPPICE_COMMON_TERMS_RELAY_PROMISE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "common/terms/signature.h"
#include "common/terms/terms.h"

namespace coppice {

// The random id of one deal of a relay. A deal yields at most one batch.
using EpochId = std::array<uint8_t, 16>;
// The first 16 bytes of a hash of the sealing key (common/encrypt/sealing_key.h).
using SealingKeyName = std::array<uint8_t, 16>;

// What a relay signs, as it travels.
inline constexpr size_t kMaxRelayPromiseBytes = 512;
inline constexpr uint64_t kMaxEpochTickets = uint64_t{1} << 24;
// A relayed study accepts no smaller batch, nor does a device without another setting.
inline constexpr uint64_t kLeastMinBatch = 1000;
// The longest offer, of a tree and its path, that a relay sends and a device can make room for. The
// largest tree that a model may have takes half of it.
inline constexpr uint32_t kMaxOfferBytes = 16u << 20;

// What a device decides by. It is sent as bytes, signed by the relay under kRelayDomain.
struct RelayTerms {
  std::string study;  // the study's id
  Fingerprint fingerprint{};
  SealingKeyName sealing_key{};
  EpochId epoch{};
  uint64_t min_batch = 0;               // a batch with fewer reports is erased; at least 1
  uint64_t tickets = 0;                 // tickets dealt at most: min_batch to kMaxEpochTickets
  int64_t deal_until_unix_seconds = 0;  // no ticket is dealt from then on
  int64_t freeze_at_unix_seconds = 0;   // no report is accepted from then on; not before that
  KeyId relay_key{};
  uint32_t offer_bytes = 0;  // length of every offer, whatever its tree

  friend bool operator==(const RelayTerms&, const RelayTerms&) = default;
};

// InvalidArgument unless every field is as stated above.
Status ValidateRelayTerms(const RelayTerms& terms);

// What a relay states about a batch, under kBatchDomain. The batch's id is SHA-256 of its bytes.
struct BatchHeader {
  std::string study;  // the study's id
  Fingerprint fingerprint{};
  SealingKeyName sealing_key{};
  EpochId epoch{};
  uint64_t reports = 0;    // at least min_batch, at most kMaxEpochTickets
  uint64_t min_batch = 0;  // as devices were told; at least 1
  // The root of the hash tree over the sealed reports in ticket order, each as ticket, ephemeral
  // key and ciphertext (merkle.h).
  Sha256Digest root{};
  KeyId relay_key{};

  friend bool operator==(const BatchHeader&, const BatchHeader&) = default;
};

// InvalidArgument unless every field is as stated above.
Status ValidateBatchHeader(const BatchHeader& header);

// A batch is sent in parts of at most kMaxReportsPerPart reports. Every part but the last has at
// least kMinReportsPerPart reports or kMinPartBytes bytes: the curator makes two synced writes per
// part. A quarter of the maximum leaves room for relays that must keep their messages small.
inline constexpr uint64_t kMaxReportsPerPart = 1000;
inline constexpr uint64_t kMinReportsPerPart = kMaxReportsPerPart / 4;
inline constexpr uint64_t kMinPartBytes = uint64_t{1} << 18;

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_RELAY_PROMISE_H_
