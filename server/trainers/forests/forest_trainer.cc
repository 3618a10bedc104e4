#include "server/trainers/forests/forest_trainer.h"

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {

StatusOr<ForestConfig> ConfigureForest(const Schema& schema, const CheckedSettings& settings,
                                       const TrainOptions& options) {
  const EnsembleOptions ensemble = ReadEnsemble(settings);
  uint32_t trees = ensemble.trees;
  if (settings.HasParameter("second_trees")) {
    trees += static_cast<uint32_t>(settings.Integer("second_trees"));
  }
  const uint32_t depth = DepthOf(settings, schema, trees);
  COPPICE_RETURN_IF_ERROR(CheckSize(ensemble, depth));
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare tree,
                           ShareOfTree(ensemble, BudgetShare::Of(options.epsilon)));
  return ForestConfig{.ensemble = ensemble, .depth = depth, .leaves = tree, .releases = {}};
}

}  // namespace coppice::trainers
