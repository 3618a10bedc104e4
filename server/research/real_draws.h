// Draws in floating point, as the papers have them.
//
// Guarantee  none: two neighbours need not even have the same possible results. Whatever states a
//            guarantee draws whole numbers (common/privacy/samplers.h).
// Errors     those of the PrivateRandom.

#ifndef COPPICE_SERVER_RESEARCH_REAL_DRAWS_H_
#define COPPICE_SERVER_RESEARCH_REAL_DRAWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice::research {

inline constexpr uint64_t kUnitSteps = uint64_t{1} << 53;

// Draws uniformly among the midpoints of 2^53 equal parts of (0, 1).
StatusOr<double> DrawUnit(PrivateRandom& random);

// Draws from the Laplace distribution of this scale.
StatusOr<double> DrawLaplace(double scale, PrivateRandom& random);

// Draws standard Gaussians by Box and Muller.
StatusOr<std::vector<double>> DrawGaussians(size_t count, PrivateRandom& random);

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_REAL_DRAWS_H_
