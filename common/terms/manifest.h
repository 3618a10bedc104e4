// What a curator states about a study, under its signature: the terms and who may learn from them.
//
// All of it is public.
//
// Guarantee  a device that keeps the manifest it saw, and calls CheckNotWeakened() with the next
//            one, never agrees to more than before: changes can only improve its protection.

#ifndef COPPICE_COMMON_TERMS_MANIFEST_H_
#define COPPICE_COMMON_TERMS_MANIFEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/terms/key_chain.h"
#include "common/terms/signature.h"
#include "common/terms/terms.h"

namespace coppice {

// Every manifest that ValidateManifest() accepts serializes to at most this many bytes.
inline constexpr size_t kMaxManifestBytes = 256;

inline constexpr uint32_t kMaxSealedPayloadBytes = 65535;
// Leaves room in a message of 2^20 bytes for all else that it holds.
inline constexpr uint32_t kMaxDirectReportBytes = (uint32_t{1} << 20) - 1024;

// How reports are sealed if they go to the curator through a relay (common/encrypt).
struct ManifestSealing {
  uint16_t suite = 0;             // number of the AEAD in RFC 9180: 1 or 3
  std::array<uint8_t, 32> key{};  // the curator's X25519 key
  uint64_t min_batch = 0;         // the curator accepts no smaller batch; at least 1
  uint32_t payload_bytes = 0;     // every report is padded to a payload of this length

  friend bool operator==(const ManifestSealing&, const ManifestSealing&) = default;
};

// The curator's key that devices seal messages to the curator itself for (common/encrypt).
struct DirectKey {
  uint16_t suite = 0;             // number of the AEAD in RFC 9180: 1 or 3
  std::array<uint8_t, 32> key{};  // X25519; one for all studies of a curator

  friend bool operator==(const DirectKey&, const DirectKey&) = default;
};

// What a curator signs, under kCuratorDomain, for somebody who drew `challenge`: the challenge, the
// suite in two bytes, big-endian, and the key. A server that passes the proof on thereby hands out
// a key that it cannot open messages with.
std::string ProvenBytes(std::string_view challenge, const DirectKey& key);

// How reports are sealed if they go to the curator itself.
struct DirectSealing {
  DirectKey key;
  uint32_t report_bytes = 0;  // payload and public values of a report have at most so many bytes

  friend bool operator==(const DirectSealing&, const DirectSealing&) = default;
};

struct Manifest {
  std::string study;  // the study's id
  Fingerprint fingerprint{};
  Budget epsilon;  // epsilon of one report
  MechanismKind mechanism;
  int64_t expires_unix_seconds = 0;  // nobody should answer from then on; 0: never
  uint64_t min_reports = 0;          // no model is built from fewer
  uint64_t sequence = 1;             // increases with every change; at least 1
  int64_t issued_unix_seconds = 0;   // when this sequence was made
  KeyId key{};                       // the key that signs
  uint32_t public_features = 0;      // how many features the device sends in the clear
  // Exactly one is set: reports go through a relay and in no other way, or to the curator itself.
  // None is sent unsealed.
  std::optional<ManifestSealing> sealing{};
  std::optional<DirectSealing> direct{};

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// InvalidArgument unless every field is as stated above.
Status ValidateManifest(const Manifest& manifest);

// FailedPrecondition, in words for the device's owner, unless `manifest` is about `terms`.
Status CheckManifestIsOf(const Manifest& manifest, const Terms& terms,
                         const Fingerprint& fingerprint);

// FailedPrecondition if `now` takes back anything that `before`, of the same study, promised:
// another fingerprint or mechanism, a greater epsilon, fewer reports, a later expiry, reports that
// go another way or are sealed otherwise (except for the key), smaller batches, an older sequence,
// or the same sequence with other content (except for the signing key and the direct key, which
// time replaces).
Status CheckNotWeakened(const Manifest& before, const Manifest& now);

// A manifest as it is sent. Not checked.
struct SignedManifest {
  std::string bytes;  // the signed bytes, after kManifestDomain
  Signature signature{};
  PublicKey key{};  // the signing key
  KeyChain endorsements;
};

// Why a study takes no more reports. The numbers are those of coppice.v1.ClosingReason.
enum class ClosingReason : uint8_t { kSealed = 1, kDeleted = 2 };

// What a curator states about a study that takes no more reports, under kClosingDomain.
struct Closing {
  std::string study;  // the study's id
  ClosingReason reason = ClosingReason::kSealed;
  KeyId key{};  // the key that signs

  friend bool operator==(const Closing&, const Closing&) = default;
};

// A closing as it is sent. Not checked.
struct SignedClosing {
  std::string bytes;  // the signed bytes, after kClosingDomain
  Signature signature{};
  PublicKey key{};  // the signing key
  KeyChain endorsements;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_MANIFEST_H_
