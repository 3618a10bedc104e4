// SPE, the supervised private ensemble of median trees.
//
// Source     Huang, Lei, Kaban, "Noise-efficient learning of differentially private partitioning
//            machine ensembles" (2022), Algorithms 1 and 2, geometric shares of section 4.2.
// Guarantee  epsilon-DP, add or remove one row. A level costs its share (a median of each node by
//            scores of range 2), the leaves theirs; the groups are drawn row by row.
// Deviates   medians are chosen on public cuts instead of between the node's own extremes, every
//            tree is grown to its public depth instead of stopping at ten rows, and groups have
//            random sizes: as printed, each of these shows rows (docs/mechanisms.md#spe).

#include "common/base/status_macros.h"
#include "server/trainers/algorithms.h"
#include "server/trainers/ensemble.h"
#include "server/trainers/shares.h"
#include "server/trainers/split_choosers.h"

namespace coppice {
namespace {

struct Resolved {
  EnsembleOptions ensemble;
  uint32_t depth;
  std::vector<Share> levels;
  Share leaves;
  std::vector<Release> releases;
};

class SpeTrainer final : public Trainer {
 public:
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
      MedianChooser chooser(resolved.levels, releaser);
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
    const uint32_t depth = DepthOf(settings, schema);
    COPPICE_RETURN_IF_ERROR(CheckSize(ensemble, depth));
    COPPICE_ASSIGN_OR_RETURN(const Share whole, ShareOfTree(ensemble, Share::Of(options.epsilon)));
    Resolved resolved{
        .ensemble = ensemble, .depth = depth, .levels = {}, .leaves = whole, .releases = {}};
    Releases releases(ensemble);
    if (depth > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(whole, settings.Real("structure")));
      COPPICE_ASSIGN_OR_RETURN(resolved.levels, GeometricShares(shares.part, depth));
      resolved.leaves = shares.rest;
    }
    AddMedians(resolved.levels, ensemble.selection, releases);
    releases.Add(kLeafSums, kDiscreteLaplace, resolved.leaves);
    resolved.releases = std::move(releases).Take();
    return resolved;
  }

  AlgorithmInfo info_ = {
      .name = "spe",
      .summary = "forest of median trees on random features",
      .source = "Huang, Lei, Kaban 2022, Algorithms 1 and 2",
      .regression = true,
      .parameters = [] {
        std::vector<Parameter> parameters = EnsembleParameters({});
        parameters.push_back(DepthParameter(
            "",
            "levels of each tree, as many as there are features if not set. Deeper trees tell "
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

}  // namespace coppice
