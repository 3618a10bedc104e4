#include "server/curator/partition/number_labels.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/partition/find_leaves.h"

namespace coppice::curator {

double MeanPlace(const Table& rows) {
  double sum = 0;
  for (size_t i = 0; i < rows.num_rows(); ++i) sum += PlaceOf(rows, i);
  return rows.num_rows() > 0 ? sum / static_cast<double>(rows.num_rows()) : 0.5;
}

double PlaceDeviation(const Table& rows) {
  constexpr double kRounding = 1e-9;
  const double mean = MeanPlace(rows);
  double squares = 0;
  for (size_t i = 0; i < rows.num_rows(); ++i) squares += std::pow(PlaceOf(rows, i) - mean, 2);
  const double deviation = std::sqrt(squares / static_cast<double>(rows.num_rows()));
  return deviation > kRounding ? deviation : 0;
}

NumberRange ChooseRounding(const Table& public_rows, bool use_labels) {
  const Target& target = *public_rows.schema().target();
  const double reach = kRangeDeviations / 2 * PlaceDeviation(public_rows);
  if (!use_labels || reach == 0) return {.low = target.min, .high = target.max};
  const double mean = MeanPlace(public_rows);
  return {.low = target.min + target.span() * (mean - reach),
          .high = target.min + target.span() * (mean + reach)};
}

StatusOr<Table> CutNumbers(const Table& public_rows, const NumberRange& range) {
  const Schema& schema = public_rows.schema();
  if (!schema.target().has_value()) return public_rows;
  COPPICE_ASSIGN_OR_RETURN(
      Schema cut_schema, Schema::CreateRegression(
                             schema.features(), schema.label(),
                             {.min = range.low, .max = range.high, .unit = schema.target()->unit}));
  Table cut(std::make_shared<const Schema>(std::move(cut_schema)));
  cut.Reserve(public_rows.num_rows());
  Row row;
  for (size_t i = 0; i < public_rows.num_rows(); ++i) {
    public_rows.CopyRow(i, row);
    cut.AppendTarget(row, std::clamp(public_rows.target(i), range.low, range.high));
  }
  return cut;
}

namespace {

// The mean number of the rows in each leaf's bag, with one more row at the mean of all.
std::vector<double> MeansOfBag(const Tree& tree, const Table& rows,
                               absl::Span<const uint32_t> leaf_of, absl::Span<const uint32_t> drawn,
                               double mean) {
  std::vector<double> sum(tree.num_leaves(), mean), count(tree.num_leaves(), 1);
  for (size_t i = 0; i < leaf_of.size(); ++i) {
    sum[leaf_of[i]] += drawn[i] * rows.target(i);
    count[leaf_of[i]] += drawn[i];
  }
  for (size_t leaf = 0; leaf < sum.size(); ++leaf) sum[leaf] /= count[leaf];
  return sum;
}

}  // namespace

bool CanHaveCentres(const Schema& schema, const PartitionOptions& partition) {
  return schema.target().has_value() && schema.all_public() && partition.use_labels &&
         !partition.from_schema && partition.by_feature.empty() &&
         (partition.rule == SplitRule::kHybrid || partition.rule == SplitRule::kRandomCut);
}

Forest CentreOnNumbers(const Forest& forest, const Table& public_rows,
                       const PartitionOptions& options) {
  // A range is not much narrower than what the target's bounds could tell.
  constexpr double kNarrowest = 1.0 / 1024;
  const Target& target = *public_rows.schema().target();
  const double mean = target.min + target.span() * MeanPlace(public_rows);
  std::vector<std::vector<double>> centres;
  double squares = 0, held_out = 0;
  for (uint32_t t = 0; t < forest.size(); ++t) {
    const std::vector<uint32_t> leaf_of = FindLeaves(forest[t], public_rows);
    const std::vector<uint32_t> drawn = BagOf(public_rows.num_rows(), options, t);
    const std::vector<double>& means =
        centres.emplace_back(MeansOfBag(forest[t], public_rows, leaf_of, drawn, mean));
    for (size_t i = 0; i < leaf_of.size(); ++i) {
      if (drawn[i] > 0) continue;
      squares += std::pow(public_rows.target(i) - means[leaf_of[i]], 2);
      held_out += 1;
    }
  }
  if (held_out == 0) return forest;
  const double reach = kRangeDeviations / 2 * std::sqrt(squares / held_out);
  Forest centred;
  for (size_t t = 0; t < forest.size(); ++t) {
    centred.push_back(
        *forest[t].WithCentres({.of_leaf = std::move(centres[t]),
                                .half_range = std::max(reach, kNarrowest * target.span())}));
  }
  return centred;
}

double PlaceOf(const Table& rows, size_t row) {
  const Target& target = *rows.schema().target();
  return NumberRange{.low = target.min, .high = target.max}.PlaceOf(rows.target(row));
}

double OutputShare(const Table& rows, size_t row, uint32_t output) {
  if (!rows.schema().target().has_value()) return rows.label(row) == output ? 1 : 0;
  const double place = PlaceOf(rows, row);
  return output == 1 ? place : 1 - place;
}

void PlaceInBounds(const NumberRange& range, const Target& target,
                   std::vector<std::vector<LeafPrediction>>& leaves) {
  for (std::vector<LeafPrediction>& of_tree : leaves) {
    for (LeafPrediction& leaf : of_tree) {
      const double number = range.low + range.width() * leaf.probabilities[1];
      const double place = (number - target.min) / target.span();
      leaf.probabilities = {1 - place, place};
      leaf.label = place > 0.5 ? 1 : 0;
      leaf.standard_error *= range.width() / target.span();
    }
  }
}

}  // namespace coppice::curator
