// Turns rows into points, scaled by public rows, for the methods that are not trees.

#ifndef COPPICE_SERVER_RESEARCH_FEATURES_H_
#define COPPICE_SERVER_RESEARCH_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/table/table.h"

namespace coppice::research {

// Errors     InvalidArgument unless the schema has two classes.
Status CheckTwoClasses(const Schema& schema);

// Points, row by row: one dimension per numeric feature, and one per category.
struct Points {
  size_t dimension = 0;
  std::vector<double> values;

  size_t size() const { return dimension == 0 ? 0 : values.size() / dimension; }
  absl::Span<const double> of(size_t row) const {
    return absl::MakeConstSpan(values).subspan(row * dimension, dimension);
  }
};

// For each of `points` the `count` nearest of `labelled`; ties go to the lower index.
struct Neighbourhoods {
  std::vector<std::vector<uint32_t>> nearest;  // per point
  size_t most_neighboured = 0;  // the most points that share one row among their nearest
};
Neighbourhoods FindNearest(const Points& labelled, const Points& points, size_t count);

// Scales a number to [0, 1] by the smallest and the largest public value and clamps it there; 1/2
// if it is missing or the public rows have only one value. Uses the schema's bounds if every public
// row lacks the feature.
class Scaling {
 public:
  explicit Scaling(const Table& public_rows);

  // One dimension per number and one per category, which is 0 or 1; a missing value, or one outside
  // the vocabulary, has 0 in all of its categories.
  Points Scale(const Table& rows) const;
  // One dimension per feature: a category's is its place in the vocabulary, "other" being the last.
  Points ScaleToBox(const Table& rows) const;

 private:
  double Place(size_t feature, double value) const;

  std::vector<double> min_, max_;
};

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_FEATURES_H_
