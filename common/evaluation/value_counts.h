// Counts how often each number occurs, in two groups, in memory that does not grow with the rows.

#ifndef COPPICE_COMMON_EVALUATION_VALUE_COUNTS_H_
#define COPPICE_COMMON_EVALUATION_VALUE_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace coppice {

// A 95 % confidence interval.
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// Guarantee  exact up to `max_distinct` distinct values. With more, every value is rounded to the
//            nearest of `max_distinct` points spread evenly from `min` to `max`.
// Threads    not thread-safe.
class ValueCounts {
 public:
  using Groups = std::array<uint64_t, 2>;

  // `max_distinct` must be at least 2.
  ValueCounts(double min, double max, size_t max_distinct);

  void Add(double value, size_t group);

  bool is_exact() const { return is_exact_; }
  // In ascending order of values.
  const std::map<double, Groups>& counts() const { return counts_; }

 private:
  double Round(double value) const;
  void Coarsen();

  const double min_, max_;
  const size_t max_distinct_;
  bool is_exact_ = true;
  std::map<double, Groups> counts_;
};

// Area under the ROC curve: the probability that a random member of group 1 has a larger value than
// one of group 0, where ties count half. Unset if a group is empty.
std::optional<double> RocArea(const ValueCounts& values);

}  // namespace coppice

#endif  // COPPICE_COMMON_EVALUATION_VALUE_COUNTS_H_
