// Decides whether a device trusts a study's manifest: by the curator's key, pinned or remembered,
// and by what that key signed before.

#ifndef COPPICE_CLIENT_DEVICE_TRUST_H_
#define COPPICE_CLIENT_DEVICE_TRUST_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "client/device/policy.h"
#include "client/device/seen_manifests.h"
#include "common/base/status.h"
#include "common/terms/key_chain.h"
#include "common/terms/manifest.h"
#include "common/terms/terms.h"

namespace coppice {

// Trusts the pinned key, if the policy has one; else the first key seen from this curator, or of
// this study (trust on first use). From then on it trusts the last key that a chain of endorsements
// led to, and refuses older ones, even the pin itself. Another pin starts anew; studies must keep
// their promises even then.
//
// Guarantee  A manifest that Verify() returns is signed by that key, or by one that it led to. One
//            that Admit() accepts agrees with the terms; takes reports by the route that the device
//            would send its own; has not expired; and takes back nothing that the device saw
//            before. All this comes before the row is read and does not depend on it. Through a
//            relay, which could present a key of its own, a pin is required.
// Errors     FailedPrecondition: refused, in words for the device's owner. DataLoss: malformed,
//            oversized, or a signature that does not check.
// Threads    as the manifests that were seen.
//
// `server` is where the manifest came from: the curator's address or the relay's. `now` is in
// seconds since 1970, by the device's clock.
class Trust {
 public:
  // `seen` must outlive the trust.
  Trust(const OfferPolicy& policy, const SeenManifests& seen) : policy_(policy), seen_(seen) {}

  // The hash of the last manifest of `study`, if the key that signed it is still the one trusted
  // for `server`: the curator may then leave the manifest out.
  std::optional<Sha256Digest> Known(std::string_view server, std::string_view study) const;

  // Checks who signed, then reads what. `manifest` may be empty only if Known() has it. What is
  // returned is to be remembered once Admit() has accepted it.
  StatusOr<SeenManifest> Verify(std::string_view server, std::string_view study,
                                const std::optional<SignedManifest>& manifest, DeliveryRoute route,
                                int64_t now) const;

  // Whether to answer under terms with the fingerprint that `manifest` names.
  Status Admit(const SeenManifest& manifest, const Terms& terms, DeliveryRoute route,
               int64_t now) const;

  // FailedPrecondition unless `key` is the key that trust which began with `root` has led to by
  // now, after the endorsements of `chain`.
  Status CheckLedTo(const PublicKey& key, absl::Span<const KeyEndorsement> chain,
                    const PublicKey& root, int64_t now) const;

 private:
  // The key that trust in `server` began with; empty on first use.
  std::optional<PublicKey> RootFor(std::string_view server, std::string_view study) const;
  StatusOr<SeenManifest> VerifySigned(std::string_view server, std::string_view study,
                                      const SignedManifest& manifest, int64_t now) const;
  StatusOr<SeenManifest> Remembered(std::string_view server, std::string_view study) const;
  Status CheckPin(std::string_view study, DeliveryRoute route) const;
  Status CheckPromises(const Manifest& manifest, int64_t now) const;

  const OfferPolicy& policy_;
  const SeenManifests& seen_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_TRUST_H_
