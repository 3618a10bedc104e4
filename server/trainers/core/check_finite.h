// Checks values before they are added to the scores that residuals are computed from.

#ifndef COPPICE_SERVER_TRAINERS_CORE_CHECK_FINITE_H_
#define COPPICE_SERVER_TRAINERS_CORE_CHECK_FINITE_H_

#include <algorithm>
#include <cmath>

#include "absl/types/span.h"
#include "common/base/status.h"

namespace coppice::trainers {

// Internal if a value is infinite or NaN: nothing would bound the residuals, and noise is made for
// a bound. The values are released, so the error reveals nothing about rows.
inline Status CheckFinite(absl::Span<const double> values) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (std::all_of(values.begin(), values.end(), is_finite)) return OkStatus();
  return InternalError("a tree's value is not a finite number: report this as a bug");
}

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_CHECK_FINITE_H_
