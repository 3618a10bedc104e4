// What a curator says about a study, under its signature: the terms and who may learn from them.
//
// All of it is public.
//
// Guarantee  a device that keeps the manifest it saw, and asks CheckNotWeakened() about the next
//            one, never agrees to more than it did before: what changes can only protect it better.

#ifndef COPPICE_COMMON_STUDY_MANIFEST_H_
#define COPPICE_COMMON_STUDY_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/study/key_chain.h"
#include "common/study/signature.h"
#include "common/study/terms.h"

namespace coppice {

// No manifest that ValidateManifest() accepts takes more as a message.
inline constexpr size_t kMaxManifestBytes = 256;

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

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// InvalidArgument unless every field is as stated above.
absl::Status ValidateManifest(const Manifest& manifest);

// FailedPrecondition, in words for the device's owner, unless `terms` are what `manifest` is about.
absl::Status CheckManifestIsOf(const Manifest& manifest, const Terms& terms,
                               const Fingerprint& fingerprint);

// FailedPrecondition if `now` takes back anything that `before`, of the same study, promised:
// another fingerprint or mechanism, a greater epsilon, fewer reports, a later expiry, an older
// sequence, or the same sequence with another content (but for the key).
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
