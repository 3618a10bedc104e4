// Greedy trees: at each node a private choice among all splits of all (or some) features.
//
// The tree that everybody knows: at each node the split that separates the labels best, among all
// of them, chosen with a probability that grows exponentially with its score. A row moves a score
// by little, but candidates are many, so that chance finds the best of them only where a node has
// many rows.
//
// Deviations from the paper: global ranges instead of local sensitivities, whose size reveals rows;
// numeric features on public cuts; no pruning by exact counts.
//
// Source     maxtree: Liu, Li, Li, Chen, "Differentially private classification with decision tree
//            ensemble" (2018): splits by the number of rows in their side's largest class. dpdf:
//            Fletcher, Islam, "A differentially private decision forest" (2015): splits by the Gini
//            impurity.
// Guarantee  epsilon-DP, add or remove one row. A level costs its share, by scores whose range is
//            proved in split_scores.h; the leaves cost theirs.

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/forests/forest_trainer.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/forests/split_choosers.h"

namespace coppice::trainers {
namespace {

struct GreedyConfig : ForestConfig {
  GreedyChooser::Options split;
};

class GreedyTrainer final : public ForestTrainer<GreedyConfig> {
 public:
  explicit GreedyTrainer(AlgorithmInfo info) : info_(std::move(info)) {}

  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<GreedyConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                   const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const ForestConfig forest, ConfigureForest(schema, settings, options));
    COPPICE_ASSIGN_OR_RETURN(const SplitScore score, ScoreOf(settings, schema));
    GreedyConfig config{forest,
                        {.features = static_cast<size_t>(settings.Integer("features")),
                         .score = score,
                         .share = forest.leaves}};
    Releases releases(forest.ensemble);
    if (forest.depth > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares shares,
                               Divide(forest.leaves, settings.Real("structure")));
      COPPICE_ASSIGN_OR_RETURN(config.split.share, EqualShare(shares.part, forest.depth));
      config.leaves = shares.rest;
      releases.Add("a split at every node of a level", SelectionName(forest.ensemble.selection),
                   config.split.share, forest.depth);
    }
    releases.Add(kLeafSums, kDiscreteLaplace, config.leaves);
    config.releases = std::move(releases).Take();
    return config;
  }

  StatusOr<Model> TrainAs(const GreedyConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    const auto make_chooser = [&](PrivateReleaser& of_tree) {
      return GreedyChooser(config.split, of_tree);
    };
    return TrainForest(config, make_chooser, rows, info_, options, releaser, progress);
  }

  AlgorithmInfo info_;
};

std::vector<Parameter> Parameters(const EnsembleDefaults& defaults, std::string score) {
  std::vector<Parameter> parameters = EnsembleParameters(defaults);
  parameters.push_back(DepthParameter("5", "levels of each tree"));
  parameters.push_back(StructureParameter("0.5"));
  parameters.push_back(IntegerParameter("features", 0, 1'000'000, "0",
                                        "random features that a node chooses from; 0: all"));
  parameters.push_back(ScoreParameter(std::move(score)));
  return parameters;
}

}  // namespace

const Trainer& MaxTree() {
  static const GreedyTrainer kTrainer({.name = "maxtree",
                                       .summary = "greedy trees by the rows of the largest classes",
                                       .source = "Liu, Li, Li, Chen 2018",
                                       .parameters = Parameters({.cuts = "31"}, "miscount")});
  return kTrainer;
}

const Trainer& Dpdf() {
  static const GreedyTrainer kTrainer(
      {.name = "dpdf",
       .summary = "greedy trees by Gini impurity, numbers in five bins",
       .source = "Fletcher, Islam 2015",
       .parameters = Parameters({.vote = "mean", .cuts = "4"}, "gini")});
  return kTrainer;
}

}  // namespace coppice::trainers
