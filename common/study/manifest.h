// What a curator says about a study, under its signature: the terms and who may learn from them.
//
// All of it is public.
//
// Guarantee  a device that keeps the manifest it saw, and asks CheckNotWeakened() about the next
//            one, never agrees to more than it did before: what changes can only protect it better.

#ifndef COPPICE_COMMON_STUDY_MANIFEST_H_
#define COPPICE_COMMON_STUDY_MANIFEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/study/key_chain.h"
#include "common/study/signature.h"
#include "common/study/terms.h"

namespace coppice {

// No manifest that ValidateManifest() accepts takes more as a message.
inline constexpr size_t kMaxManifestBytes = 256;

inline constexpr uint32_t kMaxSealedPayloadBytes = 65535;

// How reports are sealed where they go to the curator through a relay (common/seal).
struct ManifestSealing {
  uint16_t suite = 0;             // number of the AEAD in RFC 9180: 1 or 3
  std::array<uint8_t, 32> key{};  // the curator's, X25519
  uint64_t min_batch = 0;         // it takes no smaller batch; at least 1
  uint32_t payload_bytes = 0;     // every report is sealed as if its payload were as long

  friend bool operator==(const ManifestSealing&, const ManifestSealing&) = default;
};

struct Manifest {
  std::string study;  // its id
  Fingerprint fingerprint{};
  Budget epsilon;  // of one report
  MechanismKind mechanism;
  int64_t expires_unix_seconds = 0;  // from then on nobody should answer; 0: never
  uint64_t min_reports = 0;          // no model is built of fewer
  uint64_t sequence = 1;             // grows with every change; at least 1
  int64_t issued_unix_seconds = 0;   // when this sequence was made
  KeyId key{};                       // that signs it
  uint32_t public_features = 0;      // how many the device sends in the clear
  // Set: reports go through a relay, and in no other way.
  std::optional<ManifestSealing> sealing{};

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// InvalidArgument unless every field is as stated above.
absl::Status ValidateManifest(const Manifest& manifest);

// FailedPrecondition, in words for the device's owner, unless `terms` are what `manifest` is about.
absl::Status CheckManifestIsOf(const Manifest& manifest, const Terms& terms,
                               const Fingerprint& fingerprint);

// FailedPrecondition if `now` takes back anything that `before`, of the same study, promised:
// another fingerprint or mechanism, a greater epsilon, fewer reports, a later expiry, reports that
// go another way or are sealed otherwise (but for the key), smaller batches, an older sequence, or
// the same sequence with another content (but for the key that signs).
absl::Status CheckNotWeakened(const Manifest& before, const Manifest& now);

// A manifest as it travels. Not checked.
struct SignedManifest {
  std::string bytes;  // what is signed, after kManifestDomain
  Signature signature{};
  PublicKey key{};  // that signed it
  KeyChain endorsements;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_STUDY_MANIFEST_H_
