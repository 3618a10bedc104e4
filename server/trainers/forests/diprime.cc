// DiPriMe: each split is the best of the private medians of K random features.
//
// SPE's medians with a choice: of K medians of random features, the one whose halves differ most in
// their labels is taken, privately. Splits at medians keep the candidates few and their halves
// large, so that the choice among them is not drowned in noise, and it is a choice that knows the
// labels, which SPE's splits do not.
//
// Deviations from the paper: medians are chosen on public cuts; K medians are paid for K times;
// squared errors are compared with their sharp range; and a leaf's mean comes from two noisy sums
// instead of a mean whose noise reveals the leaf's size (docs/research/mechanisms.md#diprime).
//
// Source     Consul, Williamson, "Differentially private median forests for regression and
//            classification" (2021), Algorithms 1 and 2.
// Guarantee  epsilon-DP, add or remove one row. A level costs K medians and one choice among them;
//            the leaves cost their share.

#include <algorithm>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/forests/forest_trainer.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/forests/split_choosers.h"

namespace coppice::trainers {
namespace {

struct DiPriMeConfig : ForestConfig {
  BestMedianChooser::Options split;
};

class DiPriMeTrainer final : public ForestTrainer<DiPriMeConfig> {
 public:
  explicit DiPriMeTrainer(AlgorithmInfo info) : info_(std::move(info)) {}

  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<DiPriMeConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                    const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const ForestConfig forest, ConfigureForest(schema, settings, options));
    // A node has no more medians than there are features.
    const auto features = static_cast<uint32_t>(std::min<uint64_t>(
        static_cast<uint64_t>(settings.Integer("features")), schema.num_features()));
    COPPICE_ASSIGN_OR_RETURN(const SplitScore score, ScoreOf(settings, schema));
    DiPriMeConfig config{
        forest,
        {.features = features, .score = score, .median = forest.leaves, .choice = forest.leaves}};
    Releases releases(forest.ensemble);
    if (forest.depth > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares shares,
                               Divide(forest.leaves, settings.Real("structure")));
      COPPICE_ASSIGN_OR_RETURN(const BudgetShare level, EqualShare(shares.part, forest.depth));
      COPPICE_RETURN_IF_ERROR(DivideLevel(level, settings.Real("medians"), config.split));
      config.leaves = shares.rest;
      releases.Add("medians of candidate features, at every node of a level",
                   SelectionName(forest.ensemble.selection), config.split.median,
                   uint64_t{forest.depth} * features);
      if (features > 1) {
        releases.Add("the feature to split, at every node of a level",
                     SelectionName(forest.ensemble.selection), config.split.choice, forest.depth);
      }
    }
    releases.Add(kLeafSums, kDiscreteLaplace, config.leaves);
    config.releases = std::move(releases).Take();
    return config;
  }

  StatusOr<Model> TrainAs(const DiPriMeConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    const auto make_chooser = [&](PrivateReleaser& of_tree) {
      return BestMedianChooser(config.split, of_tree);
    };
    return TrainForest(config, make_chooser, rows, info_, options, releaser, progress);
  }

  // Pays for K medians, and for one choice among them if there is one to make.
  static Status DivideLevel(const BudgetShare& level, double medians,
                            BestMedianChooser::Options& split) {
    if (split.features == 1) {
      split.median = level;
      return OkStatus();
    }
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(level, medians));
    COPPICE_ASSIGN_OR_RETURN(split.median, EqualShare(shares.part, split.features));
    split.choice = shares.rest;
    return OkStatus();
  }

  AlgorithmInfo info_;
};

// The defaults of unset parameters.
struct Defaults {
  const char* trees;
  const char* depth;
  const char* structure;
  const char* features;
};

std::vector<Parameter> Parameters(const Defaults& defaults) {
  std::vector<Parameter> parameters = EnsembleParameters({.trees = defaults.trees, .vote = "mean"});
  parameters.push_back(DepthParameter(defaults.depth, "levels of each tree"));
  parameters.push_back(StructureParameter(defaults.structure));
  parameters.push_back(IntegerParameter(
      "features", 1, 1024, defaults.features,
      "K: how many random features a split is chosen from. Each median is paid for"));
  parameters.push_back(RealParameter(
      "medians", 0.01, 0.99, "0.5",
      "part of a level's share that goes to its medians; the rest chooses among them"));
  parameters.push_back(ScoreParameter("gini"));
  return parameters;
}

}  // namespace

const Trainer& DiPriMe() {
  static const DiPriMeTrainer kTrainer(
      {.name = "diprime",
       .summary = "forest of median trees, each split the best of several features' medians",
       .source = "Consul, Williamson 2021, Algorithms 1 and 2",
       .regression = true,
       .parameters =
           Parameters({.trees = "10", .depth = "5", .structure = "0.5", .features = "5"})});
  return kTrainer;
}

const Trainer& MedianForest() {
  static const DiPriMeTrainer kTrainer(
      {.name = "median_forest",
       .summary = "diprime with fewer, deeper trees: the best median forest here",
       .source = "docs/research/reproduction.md, Median forests",
       .regression = true,
       .parameters =
           Parameters({.trees = "5", .depth = "8", .structure = "0.6", .features = "5"})});
  return kTrainer;
}

}  // namespace coppice::trainers
