#include "server/models/random_id.h"

#include <openssl/rand.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace coppice {

absl::StatusOr<std::string> MakeRandomId() {
  static constexpr absl::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  static constexpr size_t kLength = 12;
  // Bytes from here on would make some characters likelier than others.
  static constexpr size_t kFairBytes = 256 / kAlphabet.size() * kAlphabet.size();
  std::string id;
  while (id.size() < kLength) {
    uint8_t byte = 0;
    if (RAND_bytes(&byte, 1) != 1) return absl::UnavailableError("the system random source failed");
    if (byte < kFairBytes) id.push_back(kAlphabet[byte % kAlphabet.size()]);
  }
  return id;
}

}  // namespace coppice
