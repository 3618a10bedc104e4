// Reads and writes manifests: as bytes that are signed, and signed as they travel.
//
// Guarantee  Whoever accepts a manifest has understood all of it.
// Errors     InvalidArgument that names the field, also for more than kMaxManifestBytes or
//            kMaxEndorsements, and for bytes that WriteManifest() would not write. All input is
//            hostile.

#ifndef COPPICE_COMMON_WIRE_MANIFEST_H_
#define COPPICE_COMMON_WIRE_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/terms/manifest.h"

namespace coppice {

// The bytes that are signed, and back.
std::string WriteManifest(const Manifest& manifest);
StatusOr<Manifest> ReadManifest(std::string_view bytes);

// The direct key of a manifest or of a proof. Names the field that is wrong.
StatusOr<DirectKey> MakeDirectKey(uint32_t suite, std::string_view key);

// The bytes of a closing that are signed, and back; and the signed closing as it travels.
inline constexpr size_t kMaxClosingBytes = 128;
std::string WriteClosing(const Closing& closing);
StatusOr<Closing> ReadClosing(std::string_view bytes);
std::string WriteSignedClosing(const SignedClosing& closing);

// These verify nothing, and do not look at the manifest's bytes.
std::string WriteSignedManifest(const SignedManifest& manifest);
StatusOr<SignedManifest> ReadSignedManifest(std::string_view bytes);
// Checks the lengths of one that is part of another message.
Status CheckSignedManifest(const SignedManifest& manifest);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_MANIFEST_H_
