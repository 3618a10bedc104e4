// A signed manifest as a device gets it, and the text of a pinned key.

#include "common/wire/proto/manifest.h"

#include <string_view>

#include "common/wire/manifest.h"
#include "tests/fuzz/fuzz_input.h"

using coppice::testing::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = coppice::testing::AsBytes(data, size);
  const auto manifest = coppice::ReadManifest(input);
  if (manifest.ok()) {
    Require(coppice::ValidateManifest(*manifest).ok(),
            "a manifest that does not validate was parsed");
    Require(coppice::WriteManifest(*manifest) == input, "other bytes than were signed");
  }
  coppice::v1::SignedManifest proto;
  if (proto.ParseFromArray(data, static_cast<int>(size))) (void)coppice::ParseSignedManifest(proto);
  (void)coppice::ParsePublicKey(input);
  return 0;
}
