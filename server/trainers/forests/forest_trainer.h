// What trainers of forests with noisy leaf sums share: their configuration, and the training of
// trees that differ only in how their splits are chosen.
//
// Threads    plain values.

#ifndef COPPICE_SERVER_TRAINERS_FORESTS_FOREST_TRAINER_H_
#define COPPICE_SERVER_TRAINERS_FORESTS_FOREST_TRAINER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/core/trainer_frame.h"

namespace coppice::trainers {

struct ForestConfig {
  EnsembleOptions ensemble;
  uint32_t depth;
  BudgetShare leaves;
  std::vector<Release> releases;
  uint32_t more_trees = 0;  // besides the ensemble's, of the same depth
};

// The state before splits are configured: the leaves have all that a tree may spend, and nothing is
// released.
StatusOr<ForestConfig> ConfigureForest(const Schema& schema, const CheckedSettings& settings,
                                       const TrainOptions& options);

// `Config` must be a ForestConfig, with what else the algorithm needs.
template <typename Config>
class ForestTrainer : public TrainerFrame<Config> {
 private:
  std::vector<Release> PlanOf(const Config& config) const final { return config.releases; }
  StatusOr<std::vector<std::string>> WarningsOf(const Config& config) const final {
    return WarnOfNoise(config.ensemble, config.depth, config.leaves);
  }
  // All rows' bins, and a group's once more. A row's number is in the list of all, in that of its
  // group, which may have grown to twice its size, and up to five times in what grows a tree.
  StatusOr<uint64_t> BytesOfRow(const Config& config, const Schema& schema) const final {
    constexpr uint64_t kNumbers = 8 * sizeof(uint32_t);
    const std::vector<FeatureBins> bins = MostPublicBins(schema, config.ensemble.cuts);
    const bool has_groups = config.ensemble.groups && config.ensemble.trees > 1;
    return BytesOfBinnedRow(bins) * (has_groups ? 2 : 1) + kNumbers;
  }
  ModelShape ShapeOf(const Config& config, const Schema& /*schema*/) const final {
    const uint64_t trees = uint64_t{config.ensemble.trees} + config.more_trees;
    return {.trees = trees,
            .leaves = trees << config.depth,
            .advice = "use fewer trees or a smaller depth"};
  }
};

// `make_chooser` makes a tree's SplitChooser from a PrivateReleaser.
template <typename MakeChooser>
StatusOr<Model> TrainForest(const ForestConfig& forest, const MakeChooser& make_chooser,
                            const RowBlocks& rows, const AlgorithmInfo& info,
                            const TrainOptions& options, PrivateReleaser& releaser,
                            const TrainProgress& progress) {
  const auto grow = [&](const BinnedRows& binned, const std::vector<uint32_t>& group,
                        PrivateReleaser& of_tree) {
    auto chooser = make_chooser(of_tree);
    return GrowTree(rows.schema(), binned, group, forest.depth, chooser);
  };
  return TrainEnsemble(rows, forest.ensemble, info, options, forest.leaves, forest.releases, grow,
                       releaser, progress);
}

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_FORESTS_FOREST_TRAINER_H_
