// Decides whether a device trusts a study's manifest: by the curator's key, pinned or remembered,
// and by what that key signed before.

#ifndef COPPICE_CLIENT_TRUST_H_
#define COPPICE_CLIENT_TRUST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "client/policy.h"
#include "client/seen_manifests.h"

namespace coppice {

// Seconds since 1970, by the device's clock.
int64_t SystemSeconds();

// The key is the pin, if the policy has one; else the key that this curator, or this study, had
// first (trust on first use). From then on it is the last key that a chain of endorsements led to:
// an older one, even the pin itself, is refused. Another pin starts anew, and studies keep their
// promises even so.
//
// Guarantee  What Admit() lets pass is signed by that key, or one that it led to; says of the study
//            what the terms say; takes reports by the way that the device would send its own; has
//            not expired; and takes nothing back that the device saw before. It is remembered
//            before Admit() returns. All of it happens before the row is read, and knows nothing of
//            it. Through a relay, which could put a key of its own in, the pin is a must.
// Errors     FailedPrecondition: refused, in words for the device's owner. DataLoss: malformed,
//            oversized, or a signature that does not check. Otherwise as ManifestMemory.
// Threads    safe to share.
class Trust {
 public:
  // `memory` must outlive the trust.
  Trust(const OfferPolicy& policy, ManifestMemory& memory,
        std::function<int64_t()> clock = SystemSeconds)
      : policy_(policy), memory_(memory), clock_(std::move(clock)) {}

  // The hash of the last manifest of `study`, if the key that signed it is still the one that
  // counts at `curator`: the curator may then leave it out.
  std::optional<Sha256Digest> Known(absl::string_view curator, absl::string_view study) const;

  // Whether to answer a study with these terms. `manifest` is what the curator sent; empty if it
  // left it out, which it may only if Known() has it. `parse` reads the manifest's bytes once they
  // are verified. `curator` is the relay's address where the offer came from a relay.
  using Parse = absl::FunctionRef<absl::StatusOr<Manifest>(absl::string_view bytes)>;
  absl::Status Admit(absl::string_view curator, absl::string_view study,
                     const Fingerprint& fingerprint, const Terms* terms,
                     const std::optional<SignedManifest>& manifest, Parse parse,
                     Way way = Way::kDirect);

  // FailedPrecondition unless `key` is where trust that began with `root` has led by now, `chain`
  // leading on from there.
  absl::Status CheckLedTo(const PublicKey& key, absl::Span<const KeyEndorsement> chain,
                          const PublicKey& root) const;

 private:
  // The key that trust in `curator` began with; empty on first use.
  std::optional<PublicKey> RootFor(absl::string_view curator, absl::string_view study) const;
  absl::StatusOr<SeenManifest> Verify(absl::string_view curator, absl::string_view study,
                                      const SignedManifest& manifest, Parse parse) const;
  absl::StatusOr<SeenManifest> Remembered(absl::string_view curator, absl::string_view study) const;
  absl::Status CheckPin(absl::string_view study, Way way) const;
  absl::Status CheckPromises(const Manifest& manifest) const;

  const OfferPolicy policy_;
  ManifestMemory& memory_;
  const std::function<int64_t()> clock_;
  absl::Mutex admitting_;  // looking and remembering are one step
};

// Reads a pin from a file: PEM, or "ed25519:...". InvalidArgument, naming the file.
absl::StatusOr<PublicKey> ReadCuratorKey(const std::string& path);

}  // namespace coppice

#endif  // COPPICE_CLIENT_TRUST_H_
