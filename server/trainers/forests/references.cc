// Forests without privacy, for comparison: random forests and extremely randomized trees.
//
// Source     Breiman, "Random forests" (2001); Geurts, Ernst, Wehenkel, "Extremely randomized
//            trees" (2006). For median trees without privacy use spe or diprime with epsilon inf.
// Guarantee  none. They take no epsilon, and the daemon does not offer them.

#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/forests/split_choosers.h"

namespace coppice::trainers {
namespace {

class ReferenceTrainer final : public Trainer {
 public:
  ReferenceTrainer(AlgorithmInfo info, bool bootstrap, bool one_split)
      : info_(std::move(info)), bootstrap_(bootstrap), one_split_(one_split) {}

  const AlgorithmInfo& info() const override { return info_; }

  StatusOr<std::vector<Release>> Plan(const Schema& schema,
                                      const TrainOptions& options) const override {
    COPPICE_RETURN_IF_ERROR(Settings(schema, options).status());
    return std::vector<Release>();
  }

  StatusOr<std::vector<std::string>> Warnings(const Schema&, const TrainOptions&) const override {
    return std::vector<std::string>();
  }

  StatusOr<Model> Train(const RowBlocks& rows, const TrainOptions& options, PrivateRandom& random,
                        const TrainProgress& progress) const override {
    COPPICE_ASSIGN_OR_RETURN(const CheckedSettings settings, Settings(rows.schema(), options));
    const EnsembleOptions ensemble{.trees = static_cast<uint32_t>(settings.Integer("trees")),
                                   .groups = false,
                                   .average = true,
                                   .cuts = static_cast<uint32_t>(settings.Integer("cuts"))};
    const auto square_root = static_cast<size_t>(
        std::lround(std::sqrt(static_cast<double>(rows.schema().num_features()))));
    const bool regression = rows.schema().target().has_value();
    const GreedyChooser::Options split{
        .features = regression && !one_split_ ? 0 : square_root,
        .one_split = one_split_,
        .score = regression ? SplitScore::kSquaredError : SplitScore::kGini,
        .share = BudgetShare::WithoutPrivacy(),
        .min_rows = regression ? size_t{5} : size_t{2}};
    const auto grow = [&](const BinnedRows& binned, const std::vector<uint32_t>& all,
                          PrivateReleaser& of_tree) -> StatusOr<GrownTree> {
      std::vector<uint32_t> drawn = all;
      if (bootstrap_) {
        for (uint32_t& row : drawn) {
          COPPICE_ASSIGN_OR_RETURN(const uint64_t place, of_tree.Below(all.size()));
          row = all[place];
        }
      }
      GreedyChooser chooser(split, of_tree);
      return GrowTree(rows.schema(), binned, std::move(drawn),
                      static_cast<uint32_t>(settings.Integer("depth")), chooser);
    };
    PrivateReleaser releaser(random);
    return TrainEnsemble(rows, ensemble, info_, options, BudgetShare::WithoutPrivacy(), {}, grow,
                         releaser, progress);
  }

 private:
  StatusOr<CheckedSettings> Settings(const Schema& schema, const TrainOptions& options) const {
    COPPICE_RETURN_IF_ERROR(CheckTakesPublicRows(info_, options));
    COPPICE_RETURN_IF_ERROR(CheckHasNoEpsilon(info_, options));
    COPPICE_RETURN_IF_ERROR(CheckTask(info_, schema));
    return CheckedSettings::Create(info_.parameters, options.settings);
  }

  AlgorithmInfo info_;
  bool bootstrap_;
  bool one_split_;
};

std::vector<Parameter> ReferenceParameters() {
  return {IntegerParameter("trees", 1, 1024, "100", "number of trees"),
          DepthParameter("16", "most levels of each tree"),
          IntegerParameter("cuts", 1, 4096, "255", "public cut points of a numeric feature")};
}

}  // namespace

const Trainer& RandomForest() {
  static const ReferenceTrainer kTrainer({.name = "random_forest",
                                          .summary = "not private: random forest",
                                          .source = "Breiman 2001",
                                          .is_private = false,
                                          .regression = true,
                                          .parameters = ReferenceParameters()},
                                         /*bootstrap=*/true, /*one_split=*/false);
  return kTrainer;
}

const Trainer& ExtraTrees() {
  static const ReferenceTrainer kTrainer({.name = "extra_trees",
                                          .summary = "not private: extremely randomized trees",
                                          .source = "Geurts, Ernst, Wehenkel 2006",
                                          .is_private = false,
                                          .regression = true,
                                          .parameters = ReferenceParameters()},
                                         /*bootstrap=*/false, /*one_split=*/true);
  return kTrainer;
}

}  // namespace coppice::trainers
