// DiPriMe: each split is the best of the private medians of K random features.
//
// Source     Consul, Williamson, "Differentially private median forests for regression and
//            classification" (2021), Algorithms 1 and 2.
// Guarantee  epsilon-DP, add or remove one row. A level costs K medians and one choice among them;
//            the leaves cost their share.
// Deviates   medians are chosen on public cuts, K medians are paid for K times, squared errors are
//            chosen by with their sharp range, and a leaf's mean is that of two noisy sums instead
//            of a mean whose noise shows the leaf's size (docs/mechanisms.md#diprime).

#include <algorithm>

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
  BestMedianChooser::Options split;
  Share leaves;
  std::vector<Release> releases;
};

class DiPriMeTrainer final : public Trainer {
 public:
  explicit DiPriMeTrainer(AlgorithmInfo info) : info_(std::move(info)) {}

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
      BestMedianChooser chooser(resolved.split, releaser);
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
    // A node has no more medians than there are features.
    const auto features = static_cast<uint32_t>(std::min<uint64_t>(
        static_cast<uint64_t>(settings.Integer("features")), schema.num_features()));
    COPPICE_ASSIGN_OR_RETURN(const Share whole, ShareOfTree(ensemble, Share::Of(options.epsilon)));
    COPPICE_ASSIGN_OR_RETURN(const SplitScore score, ScoreOf(settings, schema));
    Resolved resolved{
        .ensemble = ensemble,
        .depth = depth,
        .split = {.features = features, .score = score, .median = whole, .choice = whole},
        .leaves = whole,
        .releases = {}};
    Releases releases(ensemble);
    if (depth > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(whole, settings.Real("structure")));
      COPPICE_ASSIGN_OR_RETURN(const Share level, EqualShare(shares.part, depth));
      COPPICE_RETURN_IF_ERROR(DivideLevel(level, settings.Real("medians"), resolved.split));
      resolved.leaves = shares.rest;
      releases.Add("medians of candidate features, at every node of a level",
                   SelectionName(ensemble.selection), resolved.split.median,
                   uint64_t{depth} * features);
      if (features > 1) {
        releases.Add("the feature to split, at every node of a level",
                     SelectionName(ensemble.selection), resolved.split.choice, depth);
      }
    }
    releases.Add(kLeafSums, kDiscreteLaplace, resolved.leaves);
    resolved.releases = std::move(releases).Take();
    return resolved;
  }

  // K medians, and one choice among them if there is one to make.
  static absl::Status DivideLevel(const Share& level, double medians,
                                  BestMedianChooser::Options& split) {
    if (split.features == 1) {
      split.median = level;
      return absl::OkStatus();
    }
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(level, medians));
    COPPICE_ASSIGN_OR_RETURN(split.median, EqualShare(shares.part, split.features));
    split.choice = shares.rest;
    return absl::OkStatus();
  }

  AlgorithmInfo info_;
};

// What is set where the user sets nothing.
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
       .source = "docs/reproduction.md, Median forests",
       .regression = true,
       .parameters =
           Parameters({.trees = "5", .depth = "8", .structure = "0.6", .features = "5"})});
  return kTrainer;
}

}  // namespace coppice
