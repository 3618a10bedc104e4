// Random decision trees: their splits do not look at rows, so that leaves may spend all of epsilon.
//
// Source     rdt: Jagannathan, Pillaipakkamnatt, Wright, "A practical differentially private random
//            decision tree classifier" (2009). dpert: Bojarski et al., "Differentially- and
//            non-differentially-private random decision trees" (2014), for regression as Consul,
//            Williamson 2021, section 4.1.
// Guarantee  epsilon-DP, add or remove one row: the sums of the leaves are all that is released.
// Deviates   cuts are drawn from public grids; numbers to predict are released as two sums.

#include "common/base/status_macros.h"
#include "server/trainers/algorithms.h"
#include "server/trainers/ensemble.h"
#include "server/trainers/split_choosers.h"

namespace coppice {
namespace {

struct Resolved {
  EnsembleOptions ensemble;
  uint32_t depth;
  Share leaves;
  std::vector<Release> releases;
};

class RandomTreeTrainer final : public Trainer {
 public:
  explicit RandomTreeTrainer(AlgorithmInfo info) : info_(std::move(info)) {}

  const AlgorithmInfo& info() const override { return info_; }

  absl::StatusOr<std::vector<Release>> Plan(const Schema& schema,
                                            const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(Resolved resolved, Resolve(schema, options));
    return std::move(resolved.releases);
  }

  absl::StatusOr<std::vector<std::string>> Warnings(const Schema& schema,
                                                    const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const Resolved resolved, Resolve(schema, options));
    return WarnOfNoise(resolved.ensemble, resolved.depth, resolved.leaves);
  }

  absl::StatusOr<Model> Train(const Table& rows, const TrainOptions& options, PrivateRandom& random,
                              const TrainProgress& progress) const override {
    COPPICE_ASSIGN_OR_RETURN(Resolved resolved, Resolve(rows.schema(), options));
    const auto grow = [&](const BinnedRows& binned, const std::vector<uint32_t>& group,
                          Releaser& releaser) {
      RandomChooser chooser(releaser);
      return GrowTree(rows.schema(), binned, group, resolved.depth, chooser);
    };
    return TrainEnsemble(rows, resolved.ensemble, info_, options, resolved.leaves,
                         std::move(resolved.releases), grow, random, progress);
  }

 private:
  absl::StatusOr<Resolved> Resolve(const Schema& schema, const TrainOptions& options) const {
    COPPICE_RETURN_IF_ERROR(CheckTask(info_, schema));
    COPPICE_ASSIGN_OR_RETURN(const CheckedSettings settings,
                             CheckedSettings::Create(info_.parameters, options.settings));
    const EnsembleOptions ensemble = ReadEnsemble(settings);
    COPPICE_RETURN_IF_ERROR(CheckSize(ensemble, DepthOf(settings, schema)));
    COPPICE_ASSIGN_OR_RETURN(const Share leaves, ShareOfTree(ensemble, Share::Of(options.epsilon)));
    Releases releases(ensemble);
    releases.Add(kLeafSums, kDiscreteLaplace, leaves);
    return Resolved{.ensemble = ensemble,
                    .depth = DepthOf(settings, schema),
                    .leaves = leaves,
                    .releases = std::move(releases).Take()};
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

}  // namespace coppice
