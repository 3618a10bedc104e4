// Local studies of numbers, in one process: what devices and the curator make of them.

#ifndef COPPICE_SERVER_LAB_NUMBERS_H_
#define COPPICE_SERVER_LAB_NUMBERS_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "common/data/table.h"
#include "common/evaluation/number_evaluation.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/tree/model.h"
#include "server/lab/rows.h"
#include "server/lab/simulation/experiment.h"

namespace coppice::lab {

// The rows of one repetition as a study has them. Of numbers, the public ones are cut to a range,
// which is their schema's target, and each private one is one of two classes: the end of the range
// that its device rounded it to. Classes are what they were.
struct ReportedRows {
  std::shared_ptr<const Table> public_rows;
  std::shared_ptr<const Table> private_rows;
  std::optional<NumberRange> rounding;  // of numbers
};

absl::StatusOr<ReportedRows> RowsOfStudy(const LabRows& rows, const CollectOptions& options,
                                         PrivateRandom& noise);

// What the leaves of a forest, places between the ends of `rounding`, say of test rows.
absl::StatusOr<NumberScores> ScoreNumbers(const NumberRange& rounding, const Forest& forest,
                                          ForestPredictions leaves, const Table& test);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_NUMBERS_H_
