// Rows as points, scaled by public rows, for the methods that are not trees.

#ifndef COPPICE_SERVER_RESEARCH_FEATURES_H_
#define COPPICE_SERVER_RESEARCH_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/data/table.h"

namespace coppice::research {

// Errors     CheckTwoClasses(): InvalidArgument unless the schema has two classes.
absl::Status CheckTwoClasses(const Schema& schema);

// Points of one dimension each a feature, or a category: row by row.
struct Points {
  size_t dimension = 0;
  std::vector<double> values;

  size_t size() const { return dimension == 0 ? 0 : values.size() / dimension; }
  absl::Span<const double> of(size_t row) const {
    return absl::MakeConstSpan(values).subspan(row * dimension, dimension);
  }
};

// The `count` of `labelled` that are nearest to each of `points`, the lower index first on a tie.
struct Neighbourhoods {
  std::vector<std::vector<uint32_t>> nearest;  // per point
  size_t most_neighboured = 0;  // the most points that have one row among their nearest
};
Neighbourhoods FindNearest(const Points& labelled, const Points& points, size_t count);

// A number is scaled to [0, 1] by the least and the largest public value, clamped there, and 1/2
// where it is missing or the public rows have one value only. The bounds are the schema's where all
// public rows miss it.
class Scaling {
 public:
  explicit Scaling(const Table& public_rows);

  // One dimension per number and one per category, 0 or 1; a value outside the vocabulary and a
  // missing one have 0 in all of them.
  Points Scale(const Table& rows) const;
  // One dimension per feature: a category's is its place in the vocabulary, with "other" the last.
  Points ScaleToBox(const Table& rows) const;

 private:
  double Place(size_t feature, double value) const;

  std::vector<double> min_, max_;
};

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_FEATURES_H_
