#include "common/terms/public_key_file.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"

namespace coppice {

absl::StatusOr<PublicKey> ReadPublicKey(const std::string& pin_or_file) {
  const bool is_pin = absl::StartsWith(pin_or_file, "ed25519:");
  const absl::StatusOr<std::string> text = is_pin ? pin_or_file : ReadTextFile(pin_or_file);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  absl::StatusOr<PublicKey> key = ParsePublicKey(*text);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(absl::StrCat(pin_or_file, " ", key.status().message()));
}

}  // namespace coppice
