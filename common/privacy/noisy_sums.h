// Releases counts and sums with noise.
//
// All arithmetic is on whole numbers; a sum that does not fit into 64 bits is held at its bound,
// which is post-processing.
//
// Guarantee  epsilon-DP if one step between neighbours moves all values together by at most
//            `sensitivity` in L1, the sum of the absolute changes: independent discrete Laplace
//            noise of scale sensitivity / epsilon on each (CKS 2020; Dwork, McSherry, Nissim, Smith
//            2006). Class counts of the leaves of a partition: 1 if a row is added or removed, 2 if
//            a row or a label is replaced.
//            rho-zCDP if that step moves them by an L2 norm whose square is at most `l2_squared`:
//            independent discrete Gaussian noise (CKS 2020, Theorem 14).
// Errors     InvalidArgument for a sensitivity of 0 or a scale of 2^48 (Laplace), 2^40 (Gaussian)
//            and more; otherwise that of the PrivateRandom, and then nothing may be released.

#ifndef COPPICE_COMMON_PRIVACY_NOISY_SUMS_H_
#define COPPICE_COMMON_PRIVACY_NOISY_SUMS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/concentrated.h"
#include "common/privacy/private_random.h"

namespace coppice {

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t sensitivity,
                                           const Budget& epsilon, PrivateRandom& random);

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t l2_squared,
                                           const Rho& rho, PrivateRandom& random);

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_NOISY_SUMS_H_
