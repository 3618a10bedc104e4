#include "server/store/models/ids.h"

#include <openssl/rand.h>

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/terms.h"

namespace coppice::models {

Status CheckRequestId(std::string_view request_id) {
  if (!request_id.empty() && request_id.size() <= kMaxRequestIdBytes) return OkStatus();
  return InvalidArgumentError(StrCat("request_id: must have 1 to ", kMaxRequestIdBytes,
                                     " characters, has ", request_id.size()));
}

Status CheckNewId(std::string_view field, std::string_view id) {
  if (id.empty() || IsValidId(id)) return OkStatus();
  return InvalidArgumentError(
      StrCat(field, ": must be empty or 1 to 63 of a-z 0-9 - _, starting with a letter or digit"));
}

namespace {

StatusOr<std::string> DrawId() {
  static constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  static constexpr size_t kLength = 12;
  // Bytes from here on would make some characters more likely than others.
  static constexpr size_t kFairBytes = 256 / kAlphabet.size() * kAlphabet.size();
  std::string random;
  while (random.size() < kLength) {
    uint8_t byte = 0;
    if (RAND_bytes(&byte, 1) != 1) return UnavailableError("the system random source failed");
    if (byte < kFairBytes) random.push_back(kAlphabet[byte % kAlphabet.size()]);
  }
  return random;
}

}  // namespace

StatusOr<std::string> IdOrRandom(const std::string& id, const DrawnIdCheck& may_draw) {
  if (!id.empty()) return id;
  Status refusal;
  for (int draws = 0; draws < kMaxDraws; ++draws) {
    COPPICE_ASSIGN_OR_RETURN(std::string drawn, DrawId());
    if (may_draw == nullptr) return drawn;
    refusal = may_draw(drawn);
    if (refusal.ok()) return drawn;
  }
  return FailedPreconditionError(StrCat(
      "none of ", kMaxDraws, " ids that the curator drew may be used, the last one because ",
      refusal.message(), ": choose an id yourself, or ask the operator to narrow that pattern"));
}

}  // namespace coppice::models
