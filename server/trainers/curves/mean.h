// The mean of scores, and its standard error.

#ifndef COPPICE_SERVER_TRAINERS_CURVES_MEAN_H_
#define COPPICE_SERVER_TRAINERS_CURVES_MEAN_H_

#include <cmath>
#include <cstddef>
#include <vector>

namespace coppice::curves {

struct Mean {
  double value = 0;
  double deviation = 0;  // with n - 1; 0 for a single value
  size_t n = 0;

  double error() const { return n > 1 ? deviation / std::sqrt(static_cast<double>(n)) : 0; }
};

inline Mean MeanOf(const std::vector<double>& values) {
  Mean mean{.n = values.size()};
  double squares = 0;  // squared distances from the running mean (Welford)
  size_t n = 0;
  for (const double value : values) {
    const double before = value - mean.value;
    mean.value += before / static_cast<double>(++n);
    squares += before * (value - mean.value);
  }
  if (n > 1) mean.deviation = std::sqrt(squares / static_cast<double>(n - 1));
  return mean;
}

}  // namespace coppice::curves

#endif  // COPPICE_SERVER_TRAINERS_CURVES_MEAN_H_
