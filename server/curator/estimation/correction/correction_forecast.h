// Foresees what reports would correct (correction.h), from public rows alone.
//
// The truth is drawn from the correction's own prior: it lies as far from the public predictor as
// n public labels leave it. Reports are drawn as what they would say of such a truth, with the
// noise of their mechanism and number, and their estimate is scored against the truth at the public
// rows: by how likely the answered class is right or, of numbers, by the squared error. All draws
// are made once, so that forecasts differ by epsilon and devices and not by chance.
//
// Guarantee  everything it reads is public. No privacy rests on its noise, which `seed` fixes.
// Errors     InvalidArgument where shapes do not match; also what `cancel` returns.
// Threads    immutable after Create(); safe to share.
// Source     docs/research/mechanisms.md#plan.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_FORECAST_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_FORECAST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "server/curator/estimation/correction/correction.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {

class CorrectionForecast {
 public:
  // `offset` as in FitCorrection(); it must have scores.
  static StatusOr<CorrectionForecast> Create(CorrectionBasis basis, CorrectionOffset offset,
                                             uint64_t seed, const CancelCheck& cancel = {});
  ~CorrectionForecast();
  CorrectionForecast(CorrectionForecast&&) noexcept;
  CorrectionForecast& operator=(CorrectionForecast&&) noexcept;

  // By draw, then public row: how much likelier the answer is right with reports than without; of
  // numbers, how much less its squared error is, in the unit of the correction.
  // `expected` has the shape of FitCorrection()'s counts; of it only the numbers of reports and
  // their noise are used.
  StatusOr<std::vector<std::vector<double>>> GainsOf(absl::Span<const PrivateCounts> expected,
                                                     const CancelCheck& cancel = {}) const;
  // The most that one report can move the probability of a class at one public row, or the place of
  // a number in the range of its answer, if it moves each count of its leaves by `most`.
  StatusOr<double> InfluenceOf(absl::Span<const PrivateCounts> expected, double most) const;

 private:
  struct Parts;
  explicit CorrectionForecast(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_FORECAST_H_
