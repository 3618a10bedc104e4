#include "server/curator/partition/impurity.h"

#include <cmath>
#include <numeric>

namespace coppice::curator {
namespace {

// rows * impurity of `rows` rows whose class k has count(k) rows: what both functions below add up.
template <typename Count>
double WeightedImpurity(Criterion criterion, size_t classes, uint64_t rows, const Count& count) {
  if (rows == 0) return 0;
  const double n = static_cast<double>(rows);
  double sum = 0;
  if (criterion == Criterion::kGini) {
    for (size_t k = 0; k < classes; ++k) {
      const double c = static_cast<double>(count(k));
      sum += c * c;
    }
    return n - sum / n;
  }
  for (size_t k = 0; k < classes; ++k) {
    const double c = static_cast<double>(count(k));
    if (c > 0) sum -= c * std::log2(c / n);
  }
  return sum;
}

double WeightedImpurity(Criterion criterion, absl::Span<const uint64_t> counts) {
  return WeightedImpurity(criterion, counts.size(), TotalCount(counts),
                          [counts](size_t k) { return counts[k]; });
}

}  // namespace

uint64_t TotalCount(absl::Span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

double Impurity(Criterion criterion, absl::Span<const uint64_t> counts) {
  const uint64_t rows = TotalCount(counts);
  return rows == 0 ? 0 : WeightedImpurity(criterion, counts) / static_cast<double>(rows);
}

double ImpurityDecrease(Criterion criterion, absl::Span<const uint64_t> all,
                        absl::Span<const uint64_t> left) {
  const uint64_t rows = TotalCount(all);
  const double right = WeightedImpurity(criterion, all.size(), rows - TotalCount(left),
                                        [all, left](size_t k) { return all[k] - left[k]; });
  return (WeightedImpurity(criterion, all) - WeightedImpurity(criterion, left) - right) /
         static_cast<double>(rows);
}

}  // namespace coppice::curator
