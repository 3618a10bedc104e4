// Converts between the messages of a manifest and checked values. As in convert.h, all input is
// hostile.
//
// Errors     InvalidArgument that names the field, also for a field of the wrong length, for more
//            than kMaxManifestBytes or kMaxEndorsements, and for bytes that SerializeManifest()
//            would not write: whoever accepts a manifest has understood all of it.

#ifndef COPPICE_COMMON_WIRE_PROTO_MANIFEST_H_
#define COPPICE_COMMON_WIRE_PROTO_MANIFEST_H_

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "coppice/v1/study.pb.h"

namespace coppice {

// The bytes that are sent and signed, and back.
std::string SerializeManifest(const Manifest& manifest);
StatusOr<Manifest> ParseManifest(std::string_view bytes);

// The bytes of a closing that are sent and signed.
std::string SerializeClosing(const Closing& closing);
v1::SignedClosing ToProto(const SignedClosing& closing);

v1::KeyEndorsement ToProto(const KeyEndorsement& endorsement);
StatusOr<KeyEndorsement> FromProto(const v1::KeyEndorsement& proto);

// Neither function verifies anything, and the manifest's bytes are not parsed.
v1::SignedManifest ToProto(const SignedManifest& manifest);
StatusOr<SignedManifest> FromProto(const v1::SignedManifest& proto);

StatusOr<PublicKey> ParsePublicKeyBytes(std::string_view bytes);
StatusOr<KeyChain> FromProto(const google::protobuf::RepeatedPtrField<v1::KeyEndorsement>& protos);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_MANIFEST_H_
