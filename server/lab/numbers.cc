#include "server/lab/numbers.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/randomized_rounding.h"
#include "common/terms/report_form.h"
#include "server/curator/partition/number_labels.h"
#include "server/trainers/curves/training.h"

namespace coppice::lab {
namespace {

StatusOr<Table> RoundNumbers(const Table& rows, const NumberRange& rounding, PrivateRandom& noise) {
  COPPICE_ASSIGN_OR_RETURN(Schema ends, Schema::Create(rows.schema().features(),
                                                       rows.schema().label(), {"low", "high"}));
  Table rounded(std::make_shared<const Schema>(std::move(ends)));
  rounded.Reserve(rows.num_rows());
  Row row;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    rows.CopyRow(i, row);
    COPPICE_ASSIGN_OR_RETURN(const uint32_t end,
                             RoundToAnEnd(rounding.PlaceOf(rows.target(i)), noise));
    rounded.Append(row, end);
  }
  return rounded;
}

}  // namespace

StatusOr<ReportedRows> RowsOfStudy(const LabRows& rows, const CollectOptions& options,
                                   PrivateRandom& noise) {
  ReportedRows study{
      .public_rows = rows.public_rows, .private_rows = rows.private_rows, .rounding = {}};
  const std::optional<Target>& target = rows.private_rows->schema().target();
  if (!target.has_value()) return study;
  study.rounding = options.rounding.value_or(
      curator::ChooseRounding(*rows.public_rows, options.partition.use_labels));
  COPPICE_ASSIGN_OR_RETURN(Table cut, curator::CutNumbers(*rows.public_rows, *study.rounding));
  study.public_rows = std::make_shared<const Table>(std::move(cut));
  if (options.epsilon && ReportForm::For(rows.public_rows->schema()).IsAboutLabelAlone()) {
    COPPICE_ASSIGN_OR_RETURN(Table places,
                             curator::CutNumbers(*rows.private_rows, *study.rounding));
    study.private_rows = std::make_shared<const Table>(std::move(places));
    return study;
  }
  COPPICE_ASSIGN_OR_RETURN(Table rounded, RoundNumbers(*rows.private_rows, *study.rounding, noise));
  study.private_rows = std::make_shared<const Table>(std::move(rounded));
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
