#include "client/device/trust.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status Refused(std::string_view study, std::string_view why) {
  return FailedPreconditionError(StrCat("the offer of study ", study, " is declined: ", why));
}

Status Malformed(std::string_view study, std::string_view why) {
  return DataLossError(
      StrCat("the manifest of study ", study, " ", why, "; do not answer, and tell the curator"));
}

// A study takes reports in one way, which its manifest says.
Status CheckWay(const Manifest& manifest, Way way) {
  const bool is_relayed = manifest.sealing.has_value();
  if (is_relayed == (way == Way::kThroughRelay)) return OkStatus();
  return Refused(manifest.study,
                 is_relayed ? "it takes reports from its relay alone, and this device would send "
                              "its own to the curator; answer through the relay"
                            : "its reports are not sealed, so that a relay could read them; answer "
                              "the curator itself");
}

}  // namespace

int64_t SystemSeconds() { return static_cast<int64_t>(std::time(nullptr)); }

std::optional<PublicKey> Trust::RootFor(std::string_view curator, std::string_view study) const {
  if (policy_.curator_key.has_value()) return policy_.curator_key;
  if (const std::optional<PublicKey> root = memory_.RootOf(curator)) return root;
  const std::optional<SeenManifest> seen = memory_.OfStudy(study);
  return seen.has_value() ? std::make_optional(seen->root) : std::nullopt;
}

std::optional<Sha256Digest> Trust::Known(std::string_view curator, std::string_view study) const {
  const StatusOr<SeenManifest> seen = Remembered(curator, study);
  return seen.ok() ? std::make_optional(seen->hash) : std::nullopt;
}

StatusOr<SeenManifest> Trust::Remembered(std::string_view curator, std::string_view study) const {
  const std::optional<SeenManifest> seen = memory_.OfStudy(study);
  if (seen.has_value() && RootFor(curator, study) == seen->root &&
      memory_.LastKeyOf(seen->root) == seen->key) {
    return *seen;
  }
  return Malformed(study, "is missing");
}

StatusOr<SeenManifest> Trust::Verify(std::string_view curator, std::string_view study,
                                     const SignedManifest& manifest, Parse parse) const {
  const std::optional<PublicKey> known_root = RootFor(curator, study);
  const PublicKey root = known_root.value_or(manifest.key);
  COPPICE_RETURN_IF_ERROR(FollowChain(memory_.LastKeyOf(root).value_or(root), manifest.endorsements,
                                      manifest.key, clock_()));
  if (!IsSignedBy(manifest.key, kManifestDomain, manifest.bytes, manifest.signature)) {
    return Malformed(study, "has a signature that does not check");
  }
  StatusOr<Manifest> parsed = parse(manifest.bytes);
  if (!parsed.ok()) return Malformed(study, StrCat("is bad: ", parsed.status().message()));
  if (parsed->key != KeyIdOf(manifest.key)) return Malformed(study, "names another key");
  return SeenManifest{.curator = std::string(curator),
                      .manifest = *std::move(parsed),
                      .hash = Sha256({manifest.bytes}),
                      .key = manifest.key,
                      .root = root};
}

Status Trust::CheckPin(std::string_view study, Way way) const {
  if (policy_.curator_key.has_value()) return OkStatus();
  if (way == Way::kThroughRelay) {
    return Refused(study,
                   "through a relay this device answers only with the curator's key pinned, as the "
                   "relay could show one of its own; give it one");
  }
  if (!policy_.demand_pin) return OkStatus();
  return Refused(study, "this device answers only with the curator's key pinned; give it one");
}

Status Trust::CheckPromises(const Manifest& manifest) const {
  // The clock may never have been set, but the manifest was certainly issued before now.
  const int64_t now = std::max(clock_(), manifest.issued_unix_seconds);
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

Status Trust::Admit(std::string_view curator, std::string_view study,
                    const Fingerprint& fingerprint, const Terms* terms,
                    const std::optional<SignedManifest>& manifest, Parse parse, Way way) {
  COPPICE_RETURN_IF_ERROR(CheckPin(study, way));
  absl::MutexLock lock(&admitting_);
  COPPICE_ASSIGN_OR_RETURN(SeenManifest now, manifest.has_value()
                                                 ? Verify(curator, study, *manifest, parse)
                                                 : Remembered(curator, study));
  now.curator = std::string(curator);
  if (now.manifest.study != study) {
    return Refused(study, "what the curator signed is about another study");
  }
  if (now.manifest.fingerprint != fingerprint) {
    return Refused(study, "what the curator signed is about other terms");
  }
  if (terms != nullptr) {
    COPPICE_RETURN_IF_ERROR(CheckManifestIsOf(now.manifest, *terms, fingerprint));
  }
  COPPICE_RETURN_IF_ERROR(CheckWay(now.manifest, way));
  const std::optional<SeenManifest> before = memory_.OfStudy(study);
  if (before.has_value()) {
    if (!policy_.curator_key.has_value() && before->root != now.root) {
      return Refused(study, "it was another curator's before");
    }
    COPPICE_RETURN_IF_ERROR(CheckNotWeakened(before->manifest, now.manifest));
  }
  COPPICE_RETURN_IF_ERROR(CheckPromises(now.manifest));
  return memory_.Knows(now) ? OkStatus() : memory_.Remember(now);
}

Status Trust::CheckLedTo(const PublicKey& key, absl::Span<const KeyEndorsement> chain,
                         const PublicKey& root) const {
  return FollowChain(memory_.LastKeyOf(root).value_or(root), chain, key, clock_());
}

}  // namespace coppice
