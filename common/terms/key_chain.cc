#include "common/terms/key_chain.h"

#include <string>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

std::string EndorsedBytes(const PublicKey& key, int64_t not_before) {
  std::string bytes(key.begin(), key.end());
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>((static_cast<uint64_t>(not_before) >> shift) & 0xff));
  }
  return bytes;
}

std::string NameOf(const PublicKey& key) {
  const KeyId id = KeyIdOf(key);
  return BytesToHexString(AsBytes(id));
}

Status CheckStep(const PublicKey& trusted, const KeyEndorsement& step, int64_t now) {
  if (!IsSignedBy(trusted, kEndorsementDomain,
                  EndorsedBytes(step.key, step.not_before_unix_seconds), step.signature)) {
    return DataLossError(StrCat("the endorsement of key ", NameOf(step.key), " by key ",
                                NameOf(trusted),
                                " does not check; do not answer, and tell the curator"));
  }
  if (step.not_before_unix_seconds <= now) return OkStatus();
  return FailedPreconditionError(StrCat("the curator's key ", NameOf(step.key),
                                        " counts only later than now; check this device's clock"));
}

}  // namespace

StatusOr<KeyEndorsement> Endorse(const SigningKey& old_key, const PublicKey& key,
                                 int64_t not_before_unix_seconds) {
  COPPICE_ASSIGN_OR_RETURN(
      const Signature signature,
      old_key.Sign(kEndorsementDomain, EndorsedBytes(key, not_before_unix_seconds)));
  return KeyEndorsement{.endorser = KeyIdOf(old_key.public_key()),
                        .key = key,
                        .not_before_unix_seconds = not_before_unix_seconds,
                        .signature = signature};
}

Status FollowChain(const PublicKey& trusted, absl::Span<const KeyEndorsement> chain,
                   const PublicKey& signer, int64_t now_unix_seconds) {
  if (signer == trusted) return OkStatus();
  if (chain.size() > kMaxEndorsements) {
    return InvalidArgumentError(StrCat("a chain of keys has at most ", kMaxEndorsements,
                                       " endorsements, not ", chain.size()));
  }
  PublicKey reached = trusted;
  for (const KeyEndorsement& step : chain) {
    if (step.endorser != KeyIdOf(reached)) continue;
    COPPICE_RETURN_IF_ERROR(CheckStep(reached, step, now_unix_seconds));
    reached = step.key;
    if (reached == signer) return OkStatus();
  }
  return FailedPreconditionError(StrCat(
      "the offer is signed by key ", NameOf(signer), ", which the trusted key ", NameOf(trusted),
      " has not endorsed; if the curator's owner says that the key is theirs, pin it"));
}

}  // namespace coppice
