// SPE, the supervised private ensemble of median trees.
//
// A median divides the rows of a node evenly, whatever they are, so no leaf is starved and all
// leaves bear the noise alike; and it is cheap, because a row moves the rank of a cut by one. It
// does not look at labels, so a single tree knows nothing of which features matter: that is left to
// the leaves and to the vote of many trees, each on features drawn at random. Lower levels get more
// of the budget, because their nodes have fewer rows and a rank error weighs more.
//
// Deviations from the paper: medians are chosen on public cuts instead of between the node's own
// extremes, every tree is grown to its public depth instead of stopping at ten rows, and groups
// have random sizes: as printed, each of these reveals rows (docs/research/mechanisms.md#spe).
//
// Source     Huang, Lei, Kaban, "Noise-efficient learning of differentially private partitioning
//            machine ensembles" (2022), Algorithms 1 and 2, geometric shares of section 4.2.
// Guarantee  epsilon-DP, add or remove one row. A level costs its share (a median of each node by
//            scores of range 2), the leaves cost theirs; the groups are drawn row by row.

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/forests/forest_trainer.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/forests/split_choosers.h"

namespace coppice::trainers {
namespace {

struct SpeConfig : ForestConfig {
  std::vector<BudgetShare> levels;
};

class SpeTrainer final : public ForestTrainer<SpeConfig> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<SpeConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const ForestConfig forest, ConfigureForest(schema, settings, options));
    SpeConfig config{forest, /*levels=*/{}};
    Releases releases(forest.ensemble);
    if (forest.depth > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares shares,
                               Divide(forest.leaves, settings.Real("structure")));
      COPPICE_ASSIGN_OR_RETURN(config.levels, GeometricShares(shares.part, forest.depth));
      config.leaves = shares.rest;
    }
    AddMedians(config.levels, forest.ensemble.selection, releases);
    releases.Add(kLeafSums, kDiscreteLaplace, config.leaves);
    config.releases = std::move(releases).Take();
    return config;
  }

  StatusOr<Model> TrainAs(const SpeConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    const auto make_chooser = [&](PrivateReleaser& of_tree) {
      return MedianChooser(config.levels, of_tree);
    };
    return TrainForest(config, make_chooser, rows, info_, options, releaser, progress);
  }

  AlgorithmInfo info_ = {
      .name = "spe",
      .summary = "forest of median trees on random features",
      .source = "Huang, Lei, Kaban 2022, Algorithms 1 and 2",
      .regression = true,
      .parameters = [] {
        std::vector<Parameter> parameters = EnsembleParameters({});
        parameters.push_back(
            DepthParameter("",
                           "levels of each tree, if not set as many as there are features and the "
                           "model has room for. Deeper trees tell "
                           "more rows apart, and have fewer rows and noisier splits in each node"));
        parameters.push_back(StructureParameter("0.5"));
        return parameters;
      }()};
};

}  // namespace

const Trainer& Spe() {
  static const SpeTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
