// Chains of trust from one signing key to the next: the old key signs the new one.
//
// The signed bytes are kEndorsementDomain, the new public key (32 bytes), and the time from which
// it is valid, in seconds since 1970 (8 bytes, big-endian). All of it is public.
//
// Guarantee  a chain leads from a key to another only by signatures of every key on the way, each
//            valid already. It is as strong as the weakest key between the two: a thief of one of
//            them can lead on to another key, but only those who still trust that one.

#ifndef COPPICE_COMMON_TERMS_KEY_CHAIN_H_
#define COPPICE_COMMON_TERMS_KEY_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/terms/signature.h"

namespace coppice {

// The longest chain that is sent or followed.
inline constexpr size_t kMaxEndorsements = 8;

struct KeyEndorsement {
  KeyId endorser{};  // the old key, with which to verify
  PublicKey key{};   // the new key
  int64_t not_before_unix_seconds = 0;
  Signature signature{};

  friend bool operator==(const KeyEndorsement&, const KeyEndorsement&) = default;
};
// Oldest first; each is signed by the key that the previous one endorses.
using KeyChain = std::vector<KeyEndorsement>;

StatusOr<KeyEndorsement> Endorse(const SigningKey& old_key, const PublicKey& key,
                                 int64_t not_before_unix_seconds);

// OK if `signer` is `trusted`, or if `chain` leads there at `now`; steps before `trusted` are
// skipped. FailedPrecondition otherwise, and for a step that is not valid yet; DataLoss for a
// signature that does not verify. InvalidArgument: more than kMaxEndorsements.
Status FollowChain(const PublicKey& trusted, absl::Span<const KeyEndorsement> chain,
                   const PublicKey& signer, int64_t now_unix_seconds);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_KEY_CHAIN_H_
