// Decides whether a device trusts a study's manifest: by the curator's key, pinned or remembered,
// and by what that key signed before.

#ifndef COPPICE_CLIENT_DEVICE_TRUST_H_
#define COPPICE_CLIENT_DEVICE_TRUST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "client/device/policy.h"
#include "client/device/seen_manifests.h"
#include "common/base/status.h"

namespace coppice {

// Seconds since 1970, by the device's clock.
int64_t SystemSeconds();

// Trusts the pinned key, if the policy has one; else the first key seen from this curator, or of
// this study (trust on first use). From then on it trusts the last key that a chain of endorsements
// led to, and refuses older ones, even the pin itself. Another pin starts anew; studies must keep
// their promises even then.
//
// Guarantee  A manifest that Admit() accepts is signed by that key, or by one that it led to;
//            agrees with the terms; takes reports the way that the device would send its own; has
//            not expired; and takes back nothing that the device saw before. It is remembered
//            before Admit() returns. All this comes before the row is read and does not depend on
//            it. Through a relay, which could present a key of its own, a pin is required.
// Errors     FailedPrecondition: refused, in words for the device's owner. DataLoss: malformed,
//            oversized, or a signature that does not check. Otherwise as ManifestMemory.
// Threads    safe to share.
class Trust {
 public:
  // `memory` must outlive the trust.
  Trust(const OfferPolicy& policy, ManifestMemory& memory,
        std::function<int64_t()> clock = SystemSeconds)
      : policy_(policy), memory_(memory), clock_(std::move(clock)) {}

  // Returns the hash of the last manifest of `study`, if the key that signed it is still the one
  // trusted for `curator`: the curator may then leave the manifest out.
  std::optional<Sha256Digest> Known(std::string_view curator, std::string_view study) const;

  // Decides whether to answer a study with these terms. `manifest` is what the curator sent; it may
  // be empty only if Known() has it. `parse` reads the manifest's bytes once they are verified.
  // `curator` is the relay's address where the offer came from a relay.
  using Parse = absl::FunctionRef<StatusOr<Manifest>(std::string_view bytes)>;
  Status Admit(std::string_view curator, std::string_view study, const Fingerprint& fingerprint,
               const Terms* terms, const std::optional<SignedManifest>& manifest, Parse parse,
               Way way = Way::kDirect);

  // FailedPrecondition unless `key` is the key that trust which began with `root` has led to by
  // now, after the endorsements of `chain`.
  Status CheckLedTo(const PublicKey& key, absl::Span<const KeyEndorsement> chain,
                    const PublicKey& root) const;

 private:
  // The key that trust in `curator` began with; empty on first use.
  std::optional<PublicKey> RootFor(std::string_view curator, std::string_view study) const;
  StatusOr<SeenManifest> Verify(std::string_view curator, std::string_view study,
                                const SignedManifest& manifest, Parse parse) const;
  StatusOr<SeenManifest> Remembered(std::string_view curator, std::string_view study) const;
  Status CheckPin(std::string_view study, Way way) const;
  Status CheckPromises(const Manifest& manifest) const;

  const OfferPolicy policy_;
  ManifestMemory& memory_;
  const std::function<int64_t()> clock_;
  absl::Mutex admitting_;  // makes looking and remembering one step
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_TRUST_H_
