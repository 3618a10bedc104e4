// Converts between protobuf's messages of a manifest and checked values, by the readers and writers
// over bytes (common/wire/manifest.h).
//
// Errors     InvalidArgument that names the field, also for a field of the wrong length and for
// more
//            than kMaxManifestBytes or kMaxEndorsements. All input is hostile.

#ifndef COPPICE_COMMON_WIRE_PROTO_MANIFEST_H_
#define COPPICE_COMMON_WIRE_PROTO_MANIFEST_H_

#include <string_view>

#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "coppice/v1/study.pb.h"

namespace coppice {

v1::KeyEndorsement ToProto(const KeyEndorsement& endorsement);
StatusOr<KeyChain> ParseKeyChain(
    const google::protobuf::RepeatedPtrField<v1::KeyEndorsement>& protos);

// Neither function verifies anything, and the manifest's bytes are not looked at.
v1::SignedManifest ToProto(const SignedManifest& manifest);
StatusOr<SignedManifest> ParseSignedManifest(const v1::SignedManifest& proto);
v1::SignedClosing ToProto(const SignedClosing& closing);

StatusOr<PublicKey> ParsePublicKeyBytes(std::string_view bytes);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_MANIFEST_H_
