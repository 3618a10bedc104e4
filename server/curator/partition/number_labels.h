// Public labels as numbers, whatever the schema predicts: what growers and estimators read.
//
// A row has a share of each of the schema's outputs (Schema::num_outputs()): of classes all of its
// own; of the two ends of a range, by how near it is to each. Devices round their numbers to an end
// within a range of the study's, which need not be the target's bounds; public rows are cut to that
// range before anything is learned from them.
//
// All of it is public.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_NUMBER_LABELS_H_
#define COPPICE_SERVER_CURATOR_PARTITION_NUMBER_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/table.h"
#include "common/schema/schema.h"
#include "common/tree/model.h"

namespace coppice::curator {

// The standard deviations of public numbers that a range has unless somebody says another.
inline constexpr double kRangeDeviations = 4;

// The mean of the rows' places, 1/2 without rows, and their standard deviation, 0 if they are all
// the same but for rounding.
double MeanPlace(const Table& rows);
double PlaceDeviation(const Table& rows);

// The range to round numbers within: half of kRangeDeviations on either side of the public numbers'
// mean; the target's bounds if labels are not to be used or do not differ.
NumberRange ChooseRounding(const Table& public_rows, bool use_labels);

// The rows with their numbers cut to `range`, which is the target of their schema then. Rows with
// classes are returned as they are.
absl::StatusOr<Table> CutNumbers(const Table& public_rows, const NumberRange& range);

// Where the row's number is between the ends of the schema's target, from 0 to 1.
double PlaceOf(const Table& rows, size_t row);

// The row's share of an output, from 0 to 1; a row's add up to 1.
double OutputShare(const Table& rows, size_t row, uint32_t output);

// Leaves of the two ends of `range`, as those of the ends of `target`: terms of a mean, whose
// numbers and standard errors stay what they are.
void PlaceInBounds(const NumberRange& range, const Target& target,
                   std::vector<std::vector<LeafPrediction>>& leaves);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_NUMBER_LABELS_H_
