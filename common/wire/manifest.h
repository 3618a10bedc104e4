// Reads and writes manifests: as bytes that are signed, and signed as they travel.
//
// Guarantee  Whoever accepts a manifest has understood all of it.
// Errors     InvalidArgument that names the field, also for more than kMaxManifestBytes or
//            kMaxEndorsements, and for bytes that WriteManifest() would not write. All input is
//            hostile.

#ifndef COPPICE_COMMON_WIRE_MANIFEST_H_
#define COPPICE_COMMON_WIRE_MANIFEST_H_

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/terms/manifest.h"

namespace coppice {

// The bytes that are signed, and back.
std::string WriteManifest(const Manifest& manifest);
StatusOr<Manifest> ReadManifest(std::string_view bytes);

// These verify nothing, and do not look at the manifest's bytes.
std::string WriteSignedManifest(const SignedManifest& manifest);
StatusOr<SignedManifest> ReadSignedManifest(std::string_view bytes);
// Checks the lengths of one that is part of another message.
Status CheckSignedManifest(const SignedManifest& manifest);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_MANIFEST_H_
