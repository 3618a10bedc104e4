#include "common/wire/proto/manifest.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/field_error.h"

namespace coppice {
namespace {

template <typename Bytes>
Status ReadBytes(std::string_view field, std::string_view from, Bytes& to) {
  if (from.size() != to.size()) {
    return FieldError(field, StrCat("must have ", to.size(), " bytes, has ", from.size()));
  }
  std::copy(from.begin(), from.end(), to.begin());
  return OkStatus();
}

// Returns nullopt if the manifest has none of the sealing fields.
StatusOr<std::optional<ManifestSealing>> ReadSealing(const v1::Manifest& proto) {
  const bool sealed = proto.sealing_suite() != 0 || !proto.sealing_key().empty() ||
                      proto.min_batch() != 0 || proto.sealed_payload_bytes() != 0;
  if (!sealed) return std::nullopt;
  if (proto.sealing_suite() > std::numeric_limits<uint16_t>::max()) {
    return FieldError("sealing_suite", "is none that this version knows");
  }
  ManifestSealing sealing{.suite = static_cast<uint16_t>(proto.sealing_suite()),
                          .min_batch = proto.min_batch(),
                          .payload_bytes = proto.sealed_payload_bytes()};
  COPPICE_RETURN_IF_ERROR(ReadBytes("sealing_key", proto.sealing_key(), sealing.key));
  return sealing;
}

// The same for the direct fields.
StatusOr<std::optional<DirectSealing>> ReadDirect(const v1::Manifest& proto) {
  const bool direct =
      proto.direct_suite() != 0 || !proto.direct_key().empty() || proto.report_bytes() != 0;
  if (!direct) return std::nullopt;
  if (proto.direct_suite() > std::numeric_limits<uint16_t>::max()) {
    return FieldError("direct_suite", "is none that this version knows");
  }
  DirectSealing sealing{.key = {.suite = static_cast<uint16_t>(proto.direct_suite())},
                        .report_bytes = proto.report_bytes()};
  COPPICE_RETURN_IF_ERROR(ReadBytes("direct_key", proto.direct_key(), sealing.key.key));
  return sealing;
}

StatusOr<Manifest> ReadManifest(const v1::Manifest& proto) {
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind mechanism, FromProto(proto.mechanism()));
  const StatusOr<Budget> epsilon = Budget::FromNanos(proto.epsilon_nanos());
  if (!epsilon.ok()) return InField("epsilon_nanos", epsilon.status());
  Manifest manifest{.study = proto.study(),
                    .epsilon = *epsilon,
                    .mechanism = mechanism,
                    .expires_unix_seconds = proto.expires_unix_seconds(),
                    .min_reports = proto.min_reports(),
                    .sequence = proto.sequence(),
                    .issued_unix_seconds = proto.issued_unix_seconds(),
                    .public_features = proto.public_features()};
  COPPICE_RETURN_IF_ERROR(ReadBytes("fingerprint", proto.fingerprint(), manifest.fingerprint));
  COPPICE_RETURN_IF_ERROR(ReadBytes("key_id", proto.key_id(), manifest.key));
  COPPICE_ASSIGN_OR_RETURN(manifest.sealing, ReadSealing(proto));
  COPPICE_ASSIGN_OR_RETURN(manifest.direct, ReadDirect(proto));
  COPPICE_RETURN_IF_ERROR(ValidateManifest(manifest));
  return manifest;
}

}  // namespace

std::string SerializeManifest(const Manifest& manifest) {
  v1::Manifest proto;
  proto.set_study(manifest.study);
  proto.mutable_fingerprint()->assign(manifest.fingerprint.begin(), manifest.fingerprint.end());
  proto.set_epsilon_nanos(manifest.epsilon.nanos());
  proto.set_mechanism(ToProto(manifest.mechanism));
  proto.set_expires_unix_seconds(manifest.expires_unix_seconds);
  proto.set_min_reports(manifest.min_reports);
  proto.set_sequence(manifest.sequence);
  proto.set_issued_unix_seconds(manifest.issued_unix_seconds);
  proto.mutable_key_id()->assign(manifest.key.begin(), manifest.key.end());
  proto.set_public_features(manifest.public_features);
  if (manifest.sealing.has_value()) {
    const ManifestSealing& sealing = *manifest.sealing;
    proto.set_sealing_suite(sealing.suite);
    proto.mutable_sealing_key()->assign(sealing.key.begin(), sealing.key.end());
    proto.set_min_batch(sealing.min_batch);
    proto.set_sealed_payload_bytes(sealing.payload_bytes);
  }
  if (manifest.direct.has_value()) {
    const DirectSealing& direct = *manifest.direct;
    proto.set_direct_suite(direct.key.suite);
    proto.mutable_direct_key()->assign(direct.key.key.begin(), direct.key.key.end());
    proto.set_report_bytes(direct.report_bytes);
  }
  return proto.SerializeAsString();
}

StatusOr<Manifest> ParseManifest(std::string_view bytes) {
  if (bytes.size() > kMaxManifestBytes) {
    return FieldError(
        "manifest", StrCat("must have at most ", kMaxManifestBytes, " bytes, has ", bytes.size()));
  }
  v1::Manifest proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return FieldError("manifest", "is not a coppice.v1.Manifest message");
  }
  StatusOr<Manifest> manifest = ReadManifest(proto);
  if (!manifest.ok()) return InField("manifest", manifest.status());
  if (SerializeManifest(*manifest) != bytes) {
    return FieldError("manifest", "has fields that this version does not know");
  }
  return manifest;
}

v1::KeyEndorsement ToProto(const KeyEndorsement& endorsement) {
  v1::KeyEndorsement proto;
  proto.mutable_endorser_id()->assign(endorsement.endorser.begin(), endorsement.endorser.end());
  proto.mutable_key()->assign(endorsement.key.begin(), endorsement.key.end());
  proto.set_not_before_unix_seconds(endorsement.not_before_unix_seconds);
  proto.mutable_signature()->assign(endorsement.signature.begin(), endorsement.signature.end());
  return proto;
}

StatusOr<KeyEndorsement> FromProto(const v1::KeyEndorsement& proto) {
  KeyEndorsement endorsement;
  COPPICE_RETURN_IF_ERROR(ReadBytes("endorser_id", proto.endorser_id(), endorsement.endorser));
  COPPICE_RETURN_IF_ERROR(ReadBytes("key", proto.key(), endorsement.key));
  COPPICE_RETURN_IF_ERROR(ReadBytes("signature", proto.signature(), endorsement.signature));
  endorsement.not_before_unix_seconds = proto.not_before_unix_seconds();
  return endorsement;
}

StatusOr<KeyChain> FromProto(const google::protobuf::RepeatedPtrField<v1::KeyEndorsement>& protos) {
  if (static_cast<size_t>(protos.size()) > kMaxEndorsements) {
    return FieldError("endorsements",
                      StrCat("must be at most ", kMaxEndorsements, ", are ", protos.size()));
  }
  KeyChain chain;
  for (const v1::KeyEndorsement& proto : protos) {
    COPPICE_ASSIGN_OR_RETURN(chain.emplace_back(), FromProto(proto));
  }
  return chain;
}

StatusOr<PublicKey> ParsePublicKeyBytes(std::string_view bytes) {
  PublicKey key{};
  COPPICE_RETURN_IF_ERROR(ReadBytes("key", bytes, key));
  return key;
}

std::string SerializeClosing(const Closing& closing) {
  v1::Closing proto;
  proto.set_study(closing.study);
  proto.set_reason(static_cast<v1::ClosingReason>(closing.reason));
  proto.mutable_key_id()->assign(closing.key.begin(), closing.key.end());
  return proto.SerializeAsString();
}

v1::SignedClosing ToProto(const SignedClosing& closing) {
  v1::SignedClosing proto;
  proto.set_closing(closing.bytes);
  proto.mutable_signature()->assign(closing.signature.begin(), closing.signature.end());
  proto.mutable_key()->assign(closing.key.begin(), closing.key.end());
  for (const KeyEndorsement& endorsement : closing.endorsements) {
    *proto.add_endorsements() = ToProto(endorsement);
  }
  return proto;
}

v1::SignedManifest ToProto(const SignedManifest& manifest) {
  v1::SignedManifest proto;
  proto.set_manifest(manifest.bytes);
  proto.mutable_signature()->assign(manifest.signature.begin(), manifest.signature.end());
  proto.mutable_key()->assign(manifest.key.begin(), manifest.key.end());
  for (const KeyEndorsement& endorsement : manifest.endorsements) {
    *proto.add_endorsements() = ToProto(endorsement);
  }
  return proto;
}

StatusOr<SignedManifest> FromProto(const v1::SignedManifest& proto) {
  if (proto.manifest().size() > kMaxManifestBytes) {
    return FieldError("manifest", StrCat("must have at most ", kMaxManifestBytes, " bytes, has ",
                                         proto.manifest().size()));
  }
  SignedManifest manifest{.bytes = proto.manifest(), .endorsements = {}};
  COPPICE_RETURN_IF_ERROR(ReadBytes("signature", proto.signature(), manifest.signature));
  COPPICE_ASSIGN_OR_RETURN(manifest.key, ParsePublicKeyBytes(proto.key()));
  COPPICE_ASSIGN_OR_RETURN(manifest.endorsements, FromProto(proto.endorsements()));
  return manifest;
}

}  // namespace coppice
