#include "common/ldp/keep_rate.h"

#include "absl/numeric/int128.h"
#include "common/privacy/exp_bound.h"

namespace coppice {

// Proved: keep_rate_is_largest in tests/proofs/statements.v.
uint64_t KeepRate(const Budget& epsilon, uint32_t kept, uint32_t symbols) {
  const absl::uint128 one = absl::uint128(1) << kExpBits;
  // With kept at most 127 and symbols below 2^32, whole is below 2^95.96: e is below 2^88.86.
  const absl::uint128 gain = (ExpLowerBound(epsilon, 1) - one) * kept;
  const absl::uint128 whole = gain + one * symbols;
  // floor(2^62 gain / whole), 31 digits at a time: gain and rest are below whole, so that what is
  // shifted stays below 2^127.
  constexpr int kDigits = kKeepRateBits / 2;
  const absl::uint128 high = (gain << kDigits) / whole;
  const absl::uint128 rest = (gain << kDigits) % whole;
  return absl::Uint128Low64((high << kDigits) + (rest << kDigits) / whole);
}

}  // namespace coppice
