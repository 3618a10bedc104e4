#include "server/trainers/forests/semi_supervised.h"

#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {

Parameter LabelledParameter() {
  return RealParameter("labelled", 0, 1, "0.2",
                       "of the rows that have a label, the share whose label is used; the others "
                       "count as rows without. 1 where the table says itself which rows have none");
}

StatusOr<Sides> DrawSides(const BinnedRows& rows, double share, PrivateReleaser& releaser) {
  constexpr uint64_t kMillion = 1'000'000;
  const auto millionths = static_cast<uint64_t>(std::lround(share * kMillion));
  Sides sides;
  for (uint32_t row = 0; row < rows.num_rows(); ++row) {
    COPPICE_ASSIGN_OR_RETURN(const bool coin, releaser.coins().Bernoulli(millionths, kMillion));
    const bool labelled = rows.labels()[row] != kUnlabelled && coin;
    (labelled ? sides.labelled : sides.unlabelled).push_back(row);
  }
  return sides;
}

}  // namespace coppice::trainers
