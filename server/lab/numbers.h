// Local studies of numbers in one process: the devices' and the curator's treatment of a number.

#ifndef COPPICE_SERVER_LAB_NUMBERS_H_
#define COPPICE_SERVER_LAB_NUMBERS_H_

#include <memory>
#include <optional>

#include "common/base/status.h"
#include "common/evaluation/number_evaluation.h"
#include "common/model/model.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/lab/rows.h"
#include "server/lab/simulation/experiment.h"

namespace coppice::lab {

// The rows of one repetition as a study uses them. For numbers, the public rows are cut to a range,
// which is their schema's target. Rows with classes are unchanged, and so are private rows.
struct ReportedRows {
  std::shared_ptr<const Table> public_rows;
  std::shared_ptr<const Table> private_rows;
  std::optional<NumberRange> rounding;  // for numbers
};

StatusOr<ReportedRows> RowsOfStudy(const LabRows& rows, const CollectOptions& options);

// Scores on test rows the leaves of a forest, given as places between the ends of `rounding`.
StatusOr<NumberScores> ScoreNumbers(const NumberRange& rounding, const Forest& forest,
                                    ForestPredictions leaves, const Table& test);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_NUMBERS_H_
