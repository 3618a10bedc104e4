#include "common/wire/manifest.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/messages.h"
#include "common/wire/terms.h"

namespace coppice {
namespace {

Status TooLong(size_t bytes) {
  return FieldError("manifest",
                    StrCat("must have at most ", kMaxManifestBytes, " bytes, has ", bytes));
}

// Returns nullopt if the manifest has none of the fields for sealing.
StatusOr<std::optional<ManifestSealing>> MakeSealing(const ManifestMessage& message) {
  if (message.sealing_suite == 0 && message.sealing_key.empty() && message.min_batch == 0 &&
      message.sealed_payload_bytes == 0) {
    return std::nullopt;
  }
  if (message.sealing_suite > std::numeric_limits<uint16_t>::max()) {
    return FieldError("sealing_suite", "is none that this version knows");
  }
  ManifestSealing sealing{.suite = static_cast<uint16_t>(message.sealing_suite),
                          .min_batch = message.min_batch,
                          .payload_bytes = message.sealed_payload_bytes};
  if (message.sealing_key.size() != sealing.key.size()) {
    return FieldError("sealing_key", StrCat("must have ", sealing.key.size(), " bytes, has ",
                                            message.sealing_key.size()));
  }
  std::copy(message.sealing_key.begin(), message.sealing_key.end(), sealing.key.begin());
  return sealing;
}

// As above, for the fields of direct messages.
StatusOr<std::optional<DirectSealing>> MakeDirect(const ManifestMessage& message) {
  if (message.direct_suite == 0 && message.direct_key.empty() && message.report_bytes == 0) {
    return std::nullopt;
  }
  COPPICE_ASSIGN_OR_RETURN(const DirectKey key,
                           MakeDirectKey(message.direct_suite, message.direct_key));
  return DirectSealing{.key = key, .report_bytes = message.report_bytes};
}

StatusOr<Manifest> MakeManifest(ManifestMessage message) {
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind mechanism, MakeMechanismKind(message.mechanism));
  const StatusOr<Budget> epsilon = Budget::FromNanos(message.epsilon_nanos);
  if (!epsilon.ok()) return InField("epsilon_nanos", epsilon.status());
  Manifest manifest{.study = std::move(message.study),
                    .fingerprint = message.fingerprint,
                    .epsilon = *epsilon,
                    .mechanism = mechanism,
                    .expires_unix_seconds = message.expires_unix_seconds,
                    .min_reports = message.min_reports,
                    .sequence = message.sequence,
                    .issued_unix_seconds = message.issued_unix_seconds,
                    .key = message.key_id,
                    .public_features = message.public_features};
  COPPICE_ASSIGN_OR_RETURN(manifest.sealing, MakeSealing(message));
  COPPICE_ASSIGN_OR_RETURN(manifest.direct, MakeDirect(message));
  COPPICE_RETURN_IF_ERROR(ValidateManifest(manifest));
  return manifest;
}

}  // namespace

StatusOr<DirectKey> MakeDirectKey(uint32_t suite, std::string_view key) {
  DirectKey made{.suite = static_cast<uint16_t>(suite)};
  if (suite != 1 && suite != 3) {
    return FieldError("direct_suite", "is none that this version knows");
  }
  if (key.size() != made.key.size()) {
    return FieldError("direct_key",
                      StrCat("must have ", made.key.size(), " bytes, has ", key.size()));
  }
  std::copy(key.begin(), key.end(), made.key.begin());
  return made;
}

std::string WriteClosing(const Closing& closing) {
  return WriteFields(ClosingMessage{.study = closing.study,
                                    .reason = static_cast<int32_t>(closing.reason),
                                    .key_id = closing.key});
}

StatusOr<Closing> ReadClosing(std::string_view bytes) {
  if (bytes.size() > kMaxClosingBytes) return FieldError("closing", "is too long");
  StatusOr<ClosingMessage> message = ReadFields<ClosingMessage>(bytes);
  if (!message.ok()) return InField("closing", message.status());
  if (message->reason != static_cast<int32_t>(ClosingReason::kSealed) &&
      message->reason != static_cast<int32_t>(ClosingReason::kDeleted)) {
    return FieldError("closing.reason", "is none that this version knows");
  }
  const Closing closing{.study = std::move(message->study),
                        .reason = static_cast<ClosingReason>(message->reason),
                        .key = message->key_id};
  if (WriteClosing(closing) == bytes) return closing;
  return FieldError("closing", "has fields that this version does not know");
}

std::string WriteSignedClosing(const SignedClosing& closing) { return WriteFields(closing); }

std::string WriteManifest(const Manifest& manifest) {
  ManifestMessage message{.study = manifest.study,
                          .fingerprint = manifest.fingerprint,
                          .epsilon_nanos = manifest.epsilon.nanos(),
                          .mechanism = static_cast<int32_t>(manifest.mechanism),
                          .expires_unix_seconds = manifest.expires_unix_seconds,
                          .min_reports = manifest.min_reports,
                          .sequence = manifest.sequence,
                          .issued_unix_seconds = manifest.issued_unix_seconds,
                          .key_id = manifest.key,
                          .public_features = manifest.public_features};
  if (manifest.sealing.has_value()) {
    const ManifestSealing& sealing = *manifest.sealing;
    message.sealing_suite = sealing.suite;
    message.sealing_key = AsBytes(sealing.key);
    message.min_batch = sealing.min_batch;
    message.sealed_payload_bytes = sealing.payload_bytes;
  }
  if (manifest.direct.has_value()) {
    const DirectSealing& direct = *manifest.direct;
    message.direct_suite = direct.key.suite;
    message.direct_key = AsBytes(direct.key.key);
    message.report_bytes = direct.report_bytes;
  }
  return WriteFields(std::move(message));
}

StatusOr<Manifest> ReadManifest(std::string_view bytes) {
  if (bytes.size() > kMaxManifestBytes) return TooLong(bytes.size());
  StatusOr<ManifestMessage> message = ReadFields<ManifestMessage>(bytes);
  if (!message.ok()) return InField("manifest", message.status());
  StatusOr<Manifest> manifest = MakeManifest(*std::move(message));
  if (!manifest.ok()) return InField("manifest", manifest.status());
  // What is signed is understood in full: no unknown field, none out of order.
  if (WriteManifest(*manifest) != bytes) {
    return FieldError("manifest", "has fields that this version does not know");
  }
  return manifest;
}

std::string WriteSignedManifest(const SignedManifest& manifest) { return WriteFields(manifest); }

StatusOr<SignedManifest> ReadSignedManifest(std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(SignedManifest manifest, ReadFields<SignedManifest>(bytes));
  COPPICE_RETURN_IF_ERROR(CheckSignedManifest(manifest));
  return manifest;
}

Status CheckSignedManifest(const SignedManifest& manifest) {
  return manifest.bytes.size() > kMaxManifestBytes ? TooLong(manifest.bytes.size()) : OkStatus();
}

}  // namespace coppice
