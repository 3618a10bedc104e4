// Three folds of label reports: what both rules of boosting on labels share.
//
// Each report is held out once: trees are boosted on two thirds of the reports, and the last third
// weighs them.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_FOLDS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_FOLDS_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/public_random.h"

namespace coppice::curator {

// Threads    safe to share.
class LabelFolds {
 public:
  static constexpr size_t kCount = 3;

  // `seed` is any public number: equal seeds draw equal folds.
  LabelFolds(size_t reports, uint64_t seed) : fold_of_(reports) {
    PublicRandom random(seed);
    for (uint32_t& fold : fold_of_) fold = static_cast<uint32_t>(random.Below(kCount));
  }

  size_t reports() const { return fold_of_.size(); }
  // The fold that holds a report out.
  uint32_t operator[](size_t report) const { return fold_of_[report]; }

  // The reports that `fold` does not hold out, in order.
  std::vector<uint32_t> Boosting(size_t fold) const {
    std::vector<uint32_t> subset;
    for (uint32_t i = 0; i < fold_of_.size(); ++i) {
      if (fold_of_[i] != fold) subset.push_back(i);
    }
    return subset;
  }

 private:
  std::vector<uint32_t> fold_of_;
};

// The variance of the mean of the folds' scores at one row. Two folds share half of their reports,
// so their mean has four thirds of the variance seen between them.
inline double VarianceOfMean(const std::array<double, LabelFolds::kCount>& scores) {
  double sum = 0, squares = 0;
  for (const double score : scores) sum += score;
  for (const double score : scores) {
    const double off = score - sum / LabelFolds::kCount;
    squares += off * off;
  }
  return 4.0 / 3 * squares / (LabelFolds::kCount - 1);
}

// The least number of reports of a leaf: twenty, or ten reports without noise, if these are more;
// and never above a tenth of all. `noise` is a report's, in margins. Found on the development sets;
// half and double were not measured.
inline double LeastReportsOfLeaf(size_t reports, double noise) {
  constexpr double kLeast = 20;
  constexpr double kNoiseless = 10;
  const double tenth = std::floor(static_cast<double>(reports) / 10);
  return std::max(1.0, std::min(tenth, std::max(kLeast, kNoiseless * noise)));
}

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_FOLDS_H_
