// SSPE, first setting: trees are grown on rows without labels, leaves are filled from rows with
// labels; the features and the labels of both are private.
//
// Median splits need no labels, so rows without one can grow the trees, and the labelled rows are
// kept for the leaves. No row does both, so each side may spend the whole epsilon that SPE divides
// between them.
//
// Deviations from the paper: those of SPE (spe.cc); groups and sides are drawn row by row.
//
// Source     Huang, Lei, Kaban 2022, Algorithm 3, setting (I).
// Guarantee  epsilon-DP, add or remove one row, labelled or not: a row is in one group and either
//            grows a tree or fills its leaves, never both. Which of them depends only on the row
//            itself (whether it has a label) or its own coin, so each side may spend all of
//            epsilon.

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/forests/forest_trainer.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/forests/semi_supervised.h"
#include "server/trainers/forests/split_choosers.h"

namespace coppice::trainers {
namespace {

struct Sspe1Config : ForestConfig {
  double labelled;
  std::vector<BudgetShare> levels;
};

class Sspe1Trainer final : public ForestTrainer<Sspe1Config> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<Sspe1Config> Configure(const Schema& schema, const CheckedSettings& settings,
                                  const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const ForestConfig forest, ConfigureForest(schema, settings, options));
    Sspe1Config config{forest, settings.Real("labelled"), /*levels=*/{}};
    COPPICE_ASSIGN_OR_RETURN(config.levels, GeometricShares(forest.leaves, forest.depth));
    Releases growing(forest.ensemble, "rows that grow trees");
    Releases filling(forest.ensemble, "rows that fill leaves");
    AddMedians(config.levels, forest.ensemble.selection, growing);
    filling.Add(kLeafSums, kDiscreteLaplace, config.leaves);
    config.releases = std::move(growing).Take();
    for (Release& release : std::move(filling).Take()) {
      config.releases.push_back(std::move(release));
    }
    return config;
  }

  StatusOr<Model> TrainAs(const Sspe1Config& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    const EnsembleOptions& ensemble = config.ensemble;
    COPPICE_ASSIGN_OR_RETURN(std::vector<FeatureBins> bins,
                             PublicBins(rows.schema(), ensemble.cuts));
    COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned, BinnedRows::Create(rows, std::move(bins)));
    releaser.UseRule(ensemble.selection);
    COPPICE_ASSIGN_OR_RETURN(const Sides sides, DrawSides(binned, config.labelled, releaser));
    COPPICE_ASSIGN_OR_RETURN(const auto growing, DrawGroups(sides.unlabelled, ensemble, releaser));
    COPPICE_ASSIGN_OR_RETURN(const auto filling, DrawGroups(sides.labelled, ensemble, releaser));
    std::vector<TrainedTree> trees;
    for (uint32_t t = 0; t < ensemble.trees; ++t) {
      COPPICE_RETURN_IF_ERROR(progress(t / static_cast<double>(ensemble.trees)));
      MedianChooser chooser(config.levels, releaser);
      COPPICE_ASSIGN_OR_RETURN(const GrownTree grown,
                               GrowTree(rows.schema(), binned, growing[t], config.depth, chooser));
      COPPICE_ASSIGN_OR_RETURN(const GrownTree filled,
                               FillTree(rows.schema(), grown.tree, binned, filling[t]));
      COPPICE_ASSIGN_OR_RETURN(trees.emplace_back(), TrainLeaves(binned, filled, info_.neighbours,
                                                                 config.leaves, releaser));
    }
    return MakeModel(rows.schema(), std::move(trees), ensemble.average, info_, options,
                     config.releases);
  }

  AlgorithmInfo info_ = {
      .name = "sspe1",
      .summary = "median trees grown on rows without labels, filled from rows with labels",
      .source = "Huang, Lei, Kaban 2022, Algorithm 3, setting (I)",
      .regression = false,
      .parameters = [] {
        std::vector<Parameter> parameters = EnsembleParameters({});
        parameters.push_back(DepthParameter("",
                                            "levels of each tree, if not set as many as there are "
                                            "features and the model has room for"));
        parameters.push_back(LabelledParameter());
        return parameters;
      }()};
};

}  // namespace

const Trainer& Sspe1() {
  static const Sspe1Trainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
