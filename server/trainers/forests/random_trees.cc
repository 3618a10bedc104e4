// Random decision trees: their splits do not look at rows, so leaves may spend all of epsilon.
//
// A split that looks at no row costs nothing, so leaves get all of epsilon. One random tree is a
// poor model, but each leaf's shares are right about its rows, and the mean over many trees
// averages out where the cuts happened to fall.
//
// Deviations from the papers: cuts are drawn from public grids; numbers to predict are released as
// two sums.
//
// Source     rdt: Jagannathan, Pillaipakkamnatt, Wright, "A practical differentially private random
//            decision tree classifier" (2009). dpert: Bojarski et al., "Differentially- and
//            non-differentially-private random decision trees" (2014), for regression as in Consul,
//            Williamson 2021, section 4.1.
// Guarantee  epsilon-DP, add or remove one row: only the sums of the leaves are released.

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/forests/forest_trainer.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/forests/split_choosers.h"

namespace coppice::trainers {
namespace {

class RandomTreeTrainer final : public ForestTrainer<ForestConfig> {
 public:
  explicit RandomTreeTrainer(AlgorithmInfo info) : info_(std::move(info)) {}

  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<ForestConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                   const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(ForestConfig forest, ConfigureForest(schema, settings, options));
    Releases releases(forest.ensemble);
    releases.Add(kLeafSums, kDiscreteLaplace, forest.leaves);
    forest.releases = std::move(releases).Take();
    return forest;
  }

  StatusOr<Model> TrainAs(const ForestConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    const auto make_chooser = [](PrivateReleaser& of_tree) { return RandomChooser(of_tree); };
    return TrainForest(config, make_chooser, rows, info_, options, releaser, progress);
  }

  AlgorithmInfo info_;
};

}  // namespace

const Trainer& Rdt() {
  static const RandomTreeTrainer kTrainer = [] {
    AlgorithmInfo info{.name = "rdt",
                       .summary = "random trees, all rows in each, noisy class counts",
                       .source = "Jagannathan, Pillaipakkamnatt, Wright 2009",
                       .parameters = EnsembleParameters({.rows = "all", .selects = false})};
    info.parameters.push_back(DepthParameter("", "levels, as many as features if not set"));
    return RandomTreeTrainer(std::move(info));
  }();
  return kTrainer;
}

const Trainer& Dpert() {
  static const RandomTreeTrainer kTrainer = [] {
    AlgorithmInfo info{.name = "dpert",
                       .summary = "extremely randomized trees: random splits, noisy leaves",
                       .source = "Bojarski et al. 2014; Consul, Williamson 2021",
                       .regression = true,
                       .parameters = EnsembleParameters({.vote = "mean", .selects = false})};
    info.parameters.push_back(DepthParameter("5", "levels of each tree"));
    return RandomTreeTrainer(std::move(info));
  }();
  return kTrainer;
}

}  // namespace coppice::trainers
