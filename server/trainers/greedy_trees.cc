// Greedy trees: at each node a private choice among all splits of all (or some) features.
//
// Source     maxtree: Liu, Li, Li, Chen, "Differentially private classification with decision tree
//            ensemble" (2018): splits by the number of rows in their side's largest class. dpdf:
//            Fletcher, Islam, "A differentially private decision forest" (2015): splits by the Gini
//            impurity.
// Guarantee  epsilon-DP, add or remove one row. A level costs its share, by scores whose range is
//            proved in split_scores.h, and the leaves theirs.
// Deviates   global ranges instead of local sensitivities, whose size shows rows; numeric features
//            on public cuts; no pruning by exact counts.

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
  GreedyChooser::Options split;
  Share leaves;
  std::vector<Release> releases;
};

class GreedyTrainer final : public Trainer {
 public:
  explicit GreedyTrainer(AlgorithmInfo info) : info_(std::move(info)) {}

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
      GreedyChooser chooser(resolved.split, releaser);
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
    const auto depth = static_cast<uint32_t>(settings.Integer("depth"));
    COPPICE_RETURN_IF_ERROR(CheckSize(ensemble, depth));
    COPPICE_ASSIGN_OR_RETURN(const Share whole, ShareOfTree(ensemble, Share::Of(options.epsilon)));
    COPPICE_ASSIGN_OR_RETURN(const SplitScore score, ScoreOf(settings, schema));
    Resolved resolved{.ensemble = ensemble,
                      .depth = depth,
                      .split = {.features = static_cast<size_t>(settings.Integer("features")),
                                .score = score,
                                .share = whole},
                      .leaves = whole,
                      .releases = {}};
    Releases releases(ensemble);
    if (depth > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(whole, settings.Real("structure")));
      COPPICE_ASSIGN_OR_RETURN(resolved.split.share, EqualShare(shares.part, depth));
      resolved.leaves = shares.rest;
      releases.Add("a split at every node of a level", SelectionName(ensemble.selection),
                   resolved.split.share, depth);
    }
    releases.Add(kLeafSums, kDiscreteLaplace, resolved.leaves);
    resolved.releases = std::move(releases).Take();
    return resolved;
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

}  // namespace coppice
