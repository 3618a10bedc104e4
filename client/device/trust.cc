#include "client/device/trust.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"

namespace coppice {
namespace {

Status Refused(std::string_view study, std::string_view why) {
  return FailedPreconditionError(StrCat("the offer of study ", study, " is declined: ", why));
}

Status BadManifest(std::string_view study, std::string_view why) {
  return DataLossError(
      StrCat("the manifest of study ", study, " ", why, "; do not answer, and tell the curator"));
}

// A study takes reports by one route, which its manifest names.
Status CheckRoute(const Manifest& manifest, DeliveryRoute route) {
  const bool is_relayed = manifest.sealing.has_value();
  if (is_relayed == (route == DeliveryRoute::kThroughRelay)) return OkStatus();
  return Refused(manifest.study,
                 is_relayed ? "it takes reports from its relay alone, and this device would send "
                              "its own to the curator; answer through the relay"
                            : "its reports are sealed for the curator alone, and no relay takes "
                              "them; answer the curator itself");
}

}  // namespace

std::optional<PublicKey> Trust::RootFor(std::string_view server, std::string_view study) const {
  if (policy_.curator_key.has_value()) return policy_.curator_key;
  if (const std::optional<PublicKey> root = seen_.RootOf(server)) return root;
  const std::optional<SeenManifest> seen = seen_.OfStudy(study);
  return seen.has_value() ? std::make_optional(seen->root) : std::nullopt;
}

std::optional<Sha256Digest> Trust::Known(std::string_view server, std::string_view study) const {
  const StatusOr<SeenManifest> seen = Remembered(server, study);
  return seen.ok() ? std::make_optional(seen->hash()) : std::nullopt;
}

StatusOr<SeenManifest> Trust::Remembered(std::string_view server, std::string_view study) const {
  std::optional<SeenManifest> seen = seen_.OfStudy(study);
  if (seen.has_value() && RootFor(server, study) == seen->root &&
      seen_.LastKeyOf(seen->root) == seen->key) {
    seen->curator = std::string(server);
    return *std::move(seen);
  }
  return BadManifest(study, "is missing");
}

StatusOr<SeenManifest> Trust::VerifySigned(std::string_view server, std::string_view study,
                                           const SignedManifest& manifest, int64_t now) const {
  const PublicKey root = RootFor(server, study).value_or(manifest.key);
  COPPICE_RETURN_IF_ERROR(
      FollowChain(seen_.LastKeyOf(root).value_or(root), manifest.endorsements, manifest.key, now));
  if (!IsSignedBy(manifest.key, kManifestDomain, manifest.bytes, manifest.signature)) {
    return BadManifest(study, "has a signature that does not check");
  }
  StatusOr<Manifest> parsed = ReadManifest(manifest.bytes);
  if (!parsed.ok()) return BadManifest(study, StrCat("is bad: ", parsed.status().message()));
  if (parsed->key != KeyIdOf(manifest.key)) return BadManifest(study, "names another key");
  return SeenManifest{.curator = std::string(server),
                      .bytes = manifest.bytes,
                      .manifest = *std::move(parsed),
                      .key = manifest.key,
                      .root = root};
}

Status Trust::CheckPin(std::string_view study, DeliveryRoute route) const {
  if (policy_.curator_key.has_value()) return OkStatus();
  if (route == DeliveryRoute::kThroughRelay) {
    return Refused(study,
                   "through a relay this device answers only with the curator's key pinned, as the "
                   "relay could show one of its own; give it one");
  }
  if (!policy_.demand_pin) return OkStatus();
  return Refused(study, "this device answers only with the curator's key pinned; give it one");
}

Status Trust::CheckPromises(const Manifest& manifest, int64_t now) const {
  // The clock may never have been set, but the manifest was certainly issued before now.
  now = std::max(now, manifest.issued_unix_seconds);
  if (manifest.expires_unix_seconds != 0 && now >= manifest.expires_unix_seconds) {
    return Refused(manifest.study, "it has expired; if not, check this device's clock");
  }
  if (manifest.min_reports < policy_.min_reports) {
    return Refused(manifest.study, StrCat("the curator builds models of ", manifest.min_reports,
                                          " reports, and this device wants to be one of at least ",
                                          policy_.min_reports));
  }
  return OkStatus();
}

StatusOr<SeenManifest> Trust::Verify(std::string_view server, std::string_view study,
                                     const std::optional<SignedManifest>& manifest,
                                     DeliveryRoute route, int64_t now) const {
  COPPICE_RETURN_IF_ERROR(CheckPin(study, route));
  COPPICE_ASSIGN_OR_RETURN(SeenManifest verified, manifest.has_value()
                                                      ? VerifySigned(server, study, *manifest, now)
                                                      : Remembered(server, study));
  if (verified.manifest.study != study) {
    return Refused(study, "what the curator signed is about another study");
  }
  return verified;
}

Status Trust::Admit(const SeenManifest& manifest, const Terms& terms, DeliveryRoute route,
                    int64_t now) const {
  const Manifest& promised = manifest.manifest;
  COPPICE_RETURN_IF_ERROR(CheckManifestIsOf(promised, terms, promised.fingerprint));
  COPPICE_RETURN_IF_ERROR(CheckRoute(promised, route));
  if (const std::optional<SeenManifest> before = seen_.OfStudy(promised.study)) {
    if (!policy_.curator_key.has_value() && before->root != manifest.root) {
      return Refused(promised.study, "it was another curator's before");
    }
    COPPICE_RETURN_IF_ERROR(CheckNotWeakened(before->manifest, promised));
  }
  return CheckPromises(promised, now);
}

Status Trust::CheckLedTo(const PublicKey& key, absl::Span<const KeyEndorsement> chain,
                         const PublicKey& root, int64_t now) const {
  return FollowChain(seen_.LastKeyOf(root).value_or(root), chain, key, now);
}

}  // namespace coppice
