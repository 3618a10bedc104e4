#include "server/lab/numbers.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/partition/number_labels.h"
#include "server/trainers/curves/training.h"

namespace coppice::lab {
StatusOr<ReportedRows> RowsOfStudy(const LabRows& rows, const CollectOptions& options) {
  ReportedRows study{
      .public_rows = rows.public_rows, .private_rows = rows.private_rows, .rounding = {}};
  const std::optional<Target>& target = rows.private_rows->schema().target();
  if (!target.has_value()) return study;
  study.rounding = options.rounding.value_or(
      curator::ChooseRounding(*rows.public_rows, options.partition.use_labels));
  COPPICE_ASSIGN_OR_RETURN(Table cut, curator::CutNumbers(*rows.public_rows, *study.rounding));
  study.public_rows = std::make_shared<const Table>(std::move(cut));
  return study;
}

StatusOr<NumberScores> ScoreNumbers(const NumberRange& rounding, const Forest& forest,
                                    ForestPredictions leaves, const Table& test) {
  curator::PlaceInBounds(rounding, *test.schema().target(), leaves);
  COPPICE_ASSIGN_OR_RETURN(
      const Model model,
      Model::Create(test.schema(), forest, std::move(leaves), {}, LeafKind::kAdditive));
  return curves::EvaluateNumbers(model, test);
}

}  // namespace coppice::lab
