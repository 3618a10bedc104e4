#include "common/terms/manifest.h"

#include <string_view>

#include "absl/algorithm/container.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status Loosened(const Manifest& now, std::string_view what) {
  return FailedPreconditionError(
      StrCat("the manifest of study ", now.study, " ", what,
             " than the one that this device saw before; it does not answer"));
}

bool ExpiresLater(const Manifest& before, const Manifest& now) {
  if (before.expires_unix_seconds == 0) return false;
  return now.expires_unix_seconds == 0 || now.expires_unix_seconds > before.expires_unix_seconds;
}

Status ValidateSealing(const ManifestSealing& sealing) {
  if (sealing.suite != 1 && sealing.suite != 3) {
    return InvalidArgumentError("sealing_suite: is none that this version knows");
  }
  if (sealing.min_batch == 0) return InvalidArgumentError("min_batch: must be at least 1");
  if (sealing.payload_bytes == 0 || sealing.payload_bytes > kMaxSealedPayloadBytes) {
    return InvalidArgumentError(StrCat("sealed_payload_bytes: must be 1 to ",
                                       kMaxSealedPayloadBytes, ", is ", sealing.payload_bytes));
  }
  return OkStatus();
}

Status ValidateDirect(const DirectSealing& direct) {
  if (direct.key.suite != 1 && direct.key.suite != 3) {
    return InvalidArgumentError("direct_suite: is none that this version knows");
  }
  if (direct.report_bytes != 0 && direct.report_bytes <= kMaxDirectReportBytes) return OkStatus();
  return InvalidArgumentError(
      StrCat("report_bytes: must be 1 to ", kMaxDirectReportBytes, ", is ", direct.report_bytes));
}

Status ValidateRoute(const Manifest& manifest) {
  if (manifest.sealing.has_value() && manifest.direct.has_value()) {
    return InvalidArgumentError("sealing_key, direct_key: a study takes reports in one way");
  }
  if (manifest.sealing.has_value()) return ValidateSealing(*manifest.sealing);
  if (manifest.direct.has_value()) return ValidateDirect(*manifest.direct);
  return InvalidArgumentError("direct_key: is missing, and reports are never sent unsealed");
}

// Whether the parts of the sealing agree that must not change.
bool SealsAlike(const Manifest& a, const Manifest& b) {
  if (a.sealing.has_value() && b.sealing.has_value()) {
    return a.sealing->suite == b.sealing->suite &&
           a.sealing->payload_bytes == b.sealing->payload_bytes;
  }
  if (a.direct.has_value() && b.direct.has_value()) {
    return a.direct->key.suite == b.direct->key.suite &&
           a.direct->report_bytes == b.direct->report_bytes;
  }
  return false;
}

}  // namespace

Status ValidateManifest(const Manifest& manifest) {
  if (!IsValidId(manifest.study)) {
    return InvalidArgumentError(
        "study: an id is 1 to 63 of a-z 0-9 - _ and starts with a letter or digit");
  }
  if (manifest.epsilon.nanos() < kMinEpsilonNanos ||
      manifest.epsilon.nanos() > kMaxStudyEpsilonNanos) {
    return InvalidArgumentError(StrCat("epsilon_nanos: must be ", kMinEpsilonNanos, " to ",
                                       kMaxStudyEpsilonNanos, ", is ", manifest.epsilon.nanos()));
  }
  if (!absl::c_linear_search(AllMechanismKinds(), manifest.mechanism)) {
    return InvalidArgumentError("mechanism: is none that this version knows");
  }
  if (manifest.expires_unix_seconds < 0 || manifest.issued_unix_seconds < 0) {
    return InvalidArgumentError("expires_unix_seconds, issued_unix_seconds: are not negative");
  }
  if (manifest.sequence == 0) return InvalidArgumentError("sequence: must be at least 1");
  return ValidateRoute(manifest);
}

Status CheckManifestIsOf(const Manifest& manifest, const Terms& terms,
                         const Fingerprint& fingerprint) {
  const bool same = manifest.study == terms.study && manifest.fingerprint == fingerprint &&
                    manifest.epsilon == terms.epsilon && manifest.mechanism == terms.mechanism &&
                    manifest.public_features == terms.num_public_features();
  if (same) return OkStatus();
  return FailedPreconditionError(
      StrCat("what the curator signed is not about the terms that it sent for study ", terms.study,
             "; do not answer, and tell the curator"));
}

std::string ProvenBytes(std::string_view challenge, const DirectKey& key) {
  const char suite[] = {static_cast<char>(key.suite >> 8), static_cast<char>(key.suite & 0xff)};
  return StrCat(challenge, std::string_view(suite, sizeof(suite)), AsBytes(key.key));
}

Status CheckNotWeakened(const Manifest& before, const Manifest& now) {
  if (now.study != before.study) return Loosened(now, "is of another study");
  if (now.fingerprint != before.fingerprint) return Loosened(now, "has other terms");
  if (now.mechanism != before.mechanism) return Loosened(now, "has another mechanism");
  if (now.epsilon > before.epsilon) return Loosened(now, "has a greater epsilon");
  if (now.min_reports < before.min_reports) return Loosened(now, "asks for fewer reports");
  if (ExpiresLater(before, now)) return Loosened(now, "expires later");
  if (!SealsAlike(before, now)) {
    return Loosened(now, "sends reports in another way");
  }
  if (now.sealing.has_value() && now.sealing->min_batch < before.sealing->min_batch) {
    return Loosened(now, "takes smaller batches");
  }
  if (now.sequence < before.sequence) return Loosened(now, "is older");
  Manifest same = now;
  same.key = before.key;
  if (same.direct.has_value()) same.direct->key = before.direct->key;
  if (now.sequence == before.sequence && same != before) {
    return Loosened(now, "has the same sequence and says something else");
  }
  return OkStatus();
}

}  // namespace coppice
