// Public labels as numbers, whatever the schema predicts: the input of growers and estimators.
//
// A row has a share of each of the schema's outputs (Schema::num_outputs()). For classes, its own
// class has all; for the two ends of a range, each has a share by how near the row is. Devices
// round their numbers to an end of the study's range, which may differ from the target's bounds;
// public rows are clamped to that range before anything is learned from them.
//
// All of it is public.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_NUMBER_LABELS_H_
#define COPPICE_SERVER_CURATOR_PARTITION_NUMBER_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// The default width of a range, in standard deviations of the public numbers.
inline constexpr double kRangeDeviations = 4;

// The mean of the rows' places (1/2 without rows) and their standard deviation (0 if they differ by
// rounding only).
double MeanPlace(const Table& rows);
double PlaceDeviation(const Table& rows);

// The range to round numbers within: half of kRangeDeviations on either side of the public numbers'
// mean, or the target's bounds if labels are not used or do not differ.
NumberRange ChooseRounding(const Table& public_rows, bool use_labels);

// The rows with their numbers clamped to `range`, which becomes the target of their schema. Rows
// with classes are returned unchanged.
StatusOr<Table> CutNumbers(const Table& public_rows, const NumberRange& range);

// Whether leaves of a study of numbers can have centres. They need public numbers; a device must
// look at all features; and the curator must know whose range a report had, which it does where it
// keeps them one by one. Of the copies of trees behind a feature's values many leaves have no
// public row, and so no centre.
bool CanHaveCentres(const Schema& schema, const PartitionOptions& partition);

// The forest with the public numbers' means for its leaves' centres. Devices then answer with how
// far their number is from those of public rows like theirs, which is less than how far it is from
// the mean of all; and noise counts in the width of the range.
//
// A centre is the mean over its tree's bag, drawn towards the mean of all as by one more row. Half
// of the range is two deviations from it of the rows that are in no bag of the tree: cuts were
// chosen to fit the others, which are nearer than devices will be. Without such rows there are no
// centres.
//
// `options` must be those that the forest was grown with, by a rule that draws bags (BagOf()).
Forest CentreOnNumbers(const Forest& forest, const Table& public_rows,
                       const PartitionOptions& options);

// The place of the row's number between the ends of the schema's target, from 0 to 1.
double PlaceOf(const Table& rows, size_t row);

// The row's share of an output, from 0 to 1; a row's shares add up to 1.
double OutputShare(const Table& rows, size_t row, uint32_t output);

// Converts leaves from the two ends of `range` to the ends of `target`. Their numbers and standard
// errors stay the same; only the terms of the mean change.
void PlaceInBounds(const NumberRange& range, const Target& target,
                   std::vector<std::vector<LeafPrediction>>& leaves);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_NUMBER_LABELS_H_
