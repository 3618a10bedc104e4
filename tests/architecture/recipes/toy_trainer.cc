// The trainer that the recipe's test adds: trees split at random, and sums in their leaves.
//
// Source     none: a toy.
// Guarantee  epsilon-DP, add or remove one row: the sums of the leaves are all that is released.
//
// COPPICE_BROKEN_TOY makes it spend more than it plans, which the suites must find.

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/forests/forest_trainer.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/forests/split_choosers.h"

namespace coppice::trainers {
namespace {

class ToyTrainer final : public ForestTrainer<ForestConfig> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<ForestConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                   const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(ForestConfig forest, ConfigureForest(schema, settings, options));
    Releases releases(forest.ensemble);
    releases.Add(kLeafSums, kDiscreteLaplace, forest.leaves);
    forest.releases = std::move(releases).Take();
#ifdef COPPICE_BROKEN_TOY
    if (forest.leaves.is_private()) {
      COPPICE_ASSIGN_OR_RETURN(forest.leaves, forest.leaves.WithAmount(forest.leaves.amount() * 2));
    }
#endif
    return forest;
  }

  StatusOr<Model> TrainAs(const ForestConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    const auto make_chooser = [](PrivateReleaser& of_tree) { return RandomChooser(of_tree); };
    return TrainForest(config, make_chooser, rows, info_, options, releaser, progress);
  }

  AlgorithmInfo info_ = {.name = "toy",
                         .summary = "random trees with noisy leaves",
                         .source = "none",
                         .regression = true,
                         .parameters = [] {
                           std::vector<Parameter> parameters =
                               EnsembleParameters({.selects = false});
                           parameters.push_back(DepthParameter("3", "levels of each tree"));
                           return parameters;
                         }()};
};

}  // namespace

const Trainer& Toy() {
  static const ToyTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
