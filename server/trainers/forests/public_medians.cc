// SSPE, second setting, and PTE: only labels are private.
//
// If features are public, medians of them are exact and free, and all of epsilon goes to the labels
// in the leaves. PTE goes a step further: what the first forest answers for public rows without
// labels is public as well, so a second forest may be fitted to these answers without noise.
//
// Deviations from the paper: the paper's noise covers one count, and would cost twice the epsilon;
// its PTE claims private features, for which its trees, which share all rows, would cost epsilon
// each (docs/research/mechanisms.md#sspe).
//
// Source     Huang, Lei, Kaban 2022, Algorithm 3, setting (II), and Algorithm 4.
// Guarantee  epsilon-DP for a change of one row's label. Features, and which rows have a label, are
//            public: trees are grown on the features of all rows with exact medians, and may stop
//            at small nodes. A labelled row fills the leaves of one tree; changing its label moves
//            two counts by 1, which the noise covers (with two classes only one count is released).
//            PTE's second ensemble is fitted to the first one's predictions for the public features
//            of the unlabelled rows: post-processing, which costs nothing.

#include <algorithm>
#include <cmath>
#include <optional>

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

struct PublicMedianConfig : ForestConfig {
  std::optional<size_t> min_leaf{};  // unset: chosen from public values
  double labelled = 0;               // more_trees are those of PTE's second ensemble
};

class PublicMedianTrainer final : public ForestTrainer<PublicMedianConfig> {
 public:
  explicit PublicMedianTrainer(AlgorithmInfo info) : info_(std::move(info)) {}

  const AlgorithmInfo& info() const override { return info_; }

 private:
  // Returns enough rows for a tree's share of their labels to be three deviations of the noise in
  // one class' lead. The number of labelled rows is public here.
  static size_t MinLeaf(const PublicMedianConfig& config, const Sides& sides) {
    constexpr size_t kLeast = 10;  // the paper's
    if (config.min_leaf) return *config.min_leaf;
    const auto labelled = static_cast<double>(sides.labelled.size());
    if (!config.leaves.is_private() || labelled == 0) return kLeast;
    const double rows = labelled + static_cast<double>(sides.unlabelled.size());
    const double lead = 3 * 2 * std::sqrt(2.0) / config.leaves.budget().epsilon();
    const double share = labelled / rows / config.ensemble.trees;
    return std::max(kLeast, static_cast<size_t>(std::min(lead / share, rows)));
  }

  // Grows a tree on the features of all rows, and fills it from the labels of `group`.
  StatusOr<TrainedTree> GrowAndFill(const Schema& schema, const BinnedRows& binned,
                                    const std::vector<uint32_t>& group,
                                    const PublicMedianConfig& config, size_t min_leaf,
                                    const BudgetShare& share, PrivateReleaser& releaser) const {
    PublicMedianChooser chooser(min_leaf, releaser);
    COPPICE_ASSIGN_OR_RETURN(
        const GrownTree grown,
        GrowTree(schema, binned, AllRows(binned.num_rows()), config.depth, chooser));
    COPPICE_ASSIGN_OR_RETURN(const GrownTree filled, FillTree(schema, grown.tree, binned, group));
    return TrainLeaves(binned, filled, info_.neighbours, share, releaser);
  }

  // Gives the unlabelled rows the labels that the released trees predict, and removes those of the
  // labelled rows, so that nothing after this sees a private label.
  static Status Relabel(const RowBlocks& rows, const Sides& sides,
                        const std::vector<TrainedTree>& trees, BinnedRows& binned) {
    Forest forest;
    std::vector<std::vector<LeafPrediction>> leaves;
    for (const TrainedTree& tree : trees) {
      forest.push_back(tree.tree);
      leaves.push_back(tree.leaves);
    }
    COPPICE_ASSIGN_OR_RETURN(
        const Model model,
        Model::Create(rows.schema(), std::move(forest), std::move(leaves), {}, LeafKind::kWeights));
    std::vector<uint32_t> labels(binned.num_rows(), kUnlabelled);
    auto next = sides.unlabelled.begin();  // they rise
    size_t first = 0;
    Row row;
    COPPICE_RETURN_IF_ERROR(rows.ForEach([&](const Table& block) {
      for (; next != sides.unlabelled.end() && *next < first + block.num_rows(); ++next) {
        block.CopyRow(*next - first, row);
        labels[*next] = model.Predict(row).label;
      }
      first += block.num_rows();
      return OkStatus();
    }));
    binned.Relabel(std::move(labels));
    return OkStatus();
  }

  StatusOr<PublicMedianConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                         const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(ForestConfig forest, ConfigureForest(schema, settings, options));
    Releases releases(forest.ensemble, "labelled rows");
    releases.Add(kLeafSums, kDiscreteLaplace, forest.leaves);
    forest.releases = std::move(releases).Take();
    PublicMedianConfig config{std::move(forest)};
    config.labelled = settings.Real("labelled");
    if (settings.Has("min_leaf")) {
      config.min_leaf = static_cast<size_t>(settings.Integer("min_leaf"));
    }
    if (settings.HasParameter("second_trees")) {
      config.more_trees = static_cast<uint32_t>(settings.Integer("second_trees"));
    }
    return config;
  }

  StatusOr<Model> TrainAs(const PublicMedianConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    COPPICE_ASSIGN_OR_RETURN(std::vector<FeatureBins> bins,
                             PublicBins(rows.schema(), config.ensemble.cuts));
    COPPICE_ASSIGN_OR_RETURN(BinnedRows binned, BinnedRows::Create(rows, std::move(bins)));
    releaser.UseRule(config.ensemble.selection);
    COPPICE_ASSIGN_OR_RETURN(const Sides sides, DrawSides(binned, config.labelled, releaser));
    COPPICE_ASSIGN_OR_RETURN(const auto groups,
                             DrawGroups(sides.labelled, config.ensemble, releaser));
    const size_t min_leaf = MinLeaf(config, sides);
    const double all = config.ensemble.trees + config.more_trees;
    std::vector<TrainedTree> trees;
    for (const std::vector<uint32_t>& group : groups) {
      COPPICE_RETURN_IF_ERROR(progress(static_cast<double>(trees.size()) / all));
      COPPICE_ASSIGN_OR_RETURN(
          trees.emplace_back(),
          GrowAndFill(rows.schema(), binned, group, config, min_leaf, config.leaves, releaser));
    }
    if (config.more_trees > 0) {
      COPPICE_RETURN_IF_ERROR(Relabel(rows, sides, trees, binned));
      for (uint32_t t = 0; t < config.more_trees; ++t) {
        COPPICE_RETURN_IF_ERROR(progress(static_cast<double>(trees.size()) / all));
        COPPICE_ASSIGN_OR_RETURN(trees.emplace_back(),
                                 GrowAndFill(rows.schema(), binned, sides.unlabelled, config,
                                             min_leaf, BudgetShare::WithoutPrivacy(), releaser));
      }
    }
    return MakeModel(rows.schema(), std::move(trees), config.ensemble.average, info_, options,
                     config.releases);
  }

  AlgorithmInfo info_;
};

std::vector<Parameter> MedianParameters() {
  std::vector<Parameter> parameters = EnsembleParameters({.selects = false});
  parameters.push_back(DepthParameter("",
                                      "most levels of each tree, if not set as many as there are "
                                      "features and the model has room for"));
  parameters.push_back(
      IntegerParameter("min_leaf", 0, 1'000'000'000, "",
                       "nodes of at most so many rows are leaves, which is public. If not set, as "
                       "many as it takes for "
                       "the labels of a leaf to stand out of the noise, and 10 at least"));
  parameters.push_back(LabelledParameter());
  return parameters;
}

}  // namespace

const Trainer& Sspe2() {
  static const PublicMedianTrainer kTrainer(
      {.name = "sspe2",
       .summary = "median trees on public features, filled from private labels",
       .source = "Huang, Lei, Kaban 2022, Algorithm 3, setting (II)",
       .neighbours = Neighbours::kChangeLabel,
       .parameters = MedianParameters()});
  return kTrainer;
}

const Trainer& Pte() {
  static const PublicMedianTrainer kTrainer = [] {
    AlgorithmInfo info{.name = "pte",
                       .summary = "as sspe2, then a second forest on what the first predicts",
                       .source = "Huang, Lei, Kaban 2022, Algorithm 4",
                       .neighbours = Neighbours::kChangeLabel,
                       .parameters = MedianParameters()};
    info.parameters.push_back(IntegerParameter(
        "second_trees", 0, 1024, "20",
        "trees of the second forest, which costs nothing: it sees predictions alone"));
    return PublicMedianTrainer(std::move(info));
  }();
  return kTrainer;
}

}  // namespace coppice::trainers
