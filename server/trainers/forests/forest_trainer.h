// What trainers of forests have in common whose leaves are noisy sums: what they resolve to, and
// how trees are trained that differ in who chooses their splits.
//
// Threads    plain values.

#ifndef COPPICE_SERVER_TRAINERS_FORESTS_FOREST_TRAINER_H_
#define COPPICE_SERVER_TRAINERS_FORESTS_FOREST_TRAINER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/resolving_trainer.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {

struct ResolvedForest {
  EnsembleOptions ensemble;
  uint32_t depth;
  BudgetShare leaves;
  std::vector<Release> releases;
};

// Before its splits are resolved: the leaves have all that a tree may spend, and nothing is
// released.
absl::StatusOr<ResolvedForest> ResolveForest(const Schema& schema, const CheckedSettings& settings,
                                             const TrainOptions& options);

// `Resolved` is a ResolvedForest, with what the algorithm needs besides.
template <typename Resolved>
class ForestTrainer : public ResolvingTrainer<Resolved> {
 private:
  std::vector<Release> PlanOf(const Resolved& resolved) const final { return resolved.releases; }
  absl::StatusOr<std::vector<std::string>> WarningsOf(const Resolved& resolved) const final {
    return WarnOfNoise(resolved.ensemble, resolved.depth, resolved.leaves);
  }
};

// `make_chooser` makes the one who chooses the splits of a tree, from a PrivateReleaser.
template <typename MakeChooser>
absl::StatusOr<Model> TrainForest(const ResolvedForest& forest, const MakeChooser& make_chooser,
                                  const Table& rows, const AlgorithmInfo& info,
                                  const TrainOptions& options, PrivateRandom& random,
                                  const TrainProgress& progress) {
  const auto grow = [&](const BinnedRows& binned, const std::vector<uint32_t>& group,
                        PrivateReleaser& releaser) {
    auto chooser = make_chooser(releaser);
    return GrowTree(rows.schema(), binned, group, forest.depth, chooser);
  };
  return TrainEnsemble(rows, forest.ensemble, info, options, forest.leaves, forest.releases, grow,
                       random, progress);
}

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_FORESTS_FOREST_TRAINER_H_
