// Logistic regression on one-hot bins: the linear model that two of the papers' methods are made
// of.
//
// A row has a one in the bin of each feature and a constant one, and is scaled to length 1. Bins
// follow from the schema alone.

#ifndef COPPICE_SERVER_RESEARCH_ONE_HOT_H_
#define COPPICE_SERVER_RESEARCH_ONE_HOT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/table/table.h"
#include "server/research/method.h"

namespace coppice::research {

// Threads    immutable.
class OneHotRows {
 public:
  // Ten bins a number, as the thesis has them.
  static StatusOr<OneHotRows> Create(const Table& rows);

  size_t size() const { return columns_ == 0 ? 0 : ones_.size() / columns_; }
  size_t dimension() const { return dimension_; }
  // Where the row is not 0.
  absl::Span<const uint32_t> of(size_t row) const {
    return absl::MakeConstSpan(ones_).subspan(row * columns_, columns_);
  }
  // What it is there: rows have length 1.
  double value() const { return value_; }
  double Logit(absl::Span<const double> weights, size_t row) const;

 private:
  size_t columns_ = 0, dimension_ = 0;
  double value_ = 0;
  std::vector<uint32_t> ones_;  // row by row
};

// What a fit makes least: the mean logistic loss, penalty / 2 |w|^2, and tilt * w.
struct LogisticObjective {
  double penalty = 0;             // above 0
  std::vector<double> tilt = {};  // empty: 0
};

// Weights whose gradient is at most 10^-6 long, of the rows at `positions`; labels[row] is 0 or 1.
//
// Errors     Internal if that takes too many steps.
StatusOr<std::vector<double>> FitLogistic(const OneHotRows& rows, absl::Span<const uint32_t> labels,
                                          absl::Span<const uint32_t> positions,
                                          const LogisticObjective& objective);

// The probabilities of two classes, from the logit of the second.
StatusOr<Answers> AnswerByLogit(const Table& asked, absl::Span<const double> weights);

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_ONE_HOT_H_
