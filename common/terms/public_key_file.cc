#include "common/terms/public_key_file.h"

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {

StatusOr<PublicKey> ReadPublicKey(const std::string& pin_or_file) {
  const bool is_pin = StartsWith(pin_or_file, "ed25519:");
  const StatusOr<std::string> text = is_pin ? pin_or_file : ReadTextFile(pin_or_file);
  if (!text.ok()) return InvalidArgumentError(text.status().message());
  StatusOr<PublicKey> key = ParsePublicKey(*text);
  if (key.ok()) return key;
  return InvalidArgumentError(StrCat(pin_or_file, " ", key.status().message()));
}

}  // namespace coppice
