// `auto` with public rows: the public predictor's scores, lines with public curvature, and trees
// whose values are shrunk, all of them as far as private rows bear them out.
//
// In this order: a number of rows, as without public rows, and a better one where that is mostly
// noise; which part of the public scores to begin with (public_guard.h), where there is enough to
// see it by; two gradients of lines and the length of each (public_lines.h); visits to columns of
// many categories, for classes; then trees. What is left to find after public rows is the less the
// better these are, so the plan counts only as many rows as their held-out residuals amount to. The
// more rounds private rows pay for, the less of the public scores is taken at the start: the
// predictor's own errors stay in the model otherwise.
//
// If no part of the public scores is borne out, classes begin at 0. Numbers begin where they would
// without public rows, with what is left.
//
// Guarantee  Run() costs at most AutoBudgets::forest, or what it allows with delta. Where noise is
//            Gaussian but costs do not add up as rho, every selection that is not of a split is
//            paid for in epsilon before rho is set. Prepare() reads of the private rows nothing but
//            their own features, and makes every check that could fail for fewer rows or another
//            choice.
// Errors     Prepare() and CheckPublicBudgets(): InvalidArgument for budgets that are too small to
//            be divided. Run(): as in private_releaser.h; what `progress` returns.
// Threads    not safe to share.
// Source     docs/research/mechanisms.md#boosting-from-public-rows.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_BOOST_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_BOOST_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/schema/derived.h"
#include "common/table/table.h"
#include "server/trainers/boosting/auto_plan.h"
#include "server/trainers/boosting/public/public_guard.h"
#include "server/trainers/boosting/public/public_lines.h"
#include "server/trainers/boosting/public/public_start.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

// Says whether budgets can be divided whatever numbers of rows are released, without fitting
// anything.
Status CheckPublicBudgets(const AutoBudgets& budgets, const Schema& schema);

struct PublicBoosted {
  std::vector<TrainedTree> trees{};
  std::vector<DerivedFeature> derived{};
  std::string in_words{};
  // Set for numbers whose public rows were not borne out: nothing is trained yet, and this is left.
  std::optional<AutoBudgets> left{};
  RowEstimate rows{};
};

class PublicBoost {
 public:
  // Fits the public predictor, which takes most of the time. The tables must outlive it.
  static StatusOr<std::unique_ptr<PublicBoost>> Prepare(const RowBlocks& rows,
                                                        const Table& public_rows,
                                                        const AutoBudgets& budgets,
                                                        const TrainProgress& progress);

  // `counted` is the released number of rows.
  StatusOr<PublicBoosted> Run(const RowEstimate& counted, PrivateReleaser& releaser,
                              const TrainProgress& progress);

 private:
  // How the rest of the budget is spent, once it is known which part of the scores is believed.
  struct Plan {
    AutoChoice choice{};  // its forest is what lines leave
    std::optional<PublicLineShares> lines{};
  };

  PublicBoost(const RowBlocks& rows, const AutoBudgets& budgets, PublicStart start);

  double count() const { return std::max(estimate_.rows(), 1.0); }
  double Information() const { return count() * EpsilonInEffect(left_); }
  Status CountAgain(PrivateReleaser& releaser);
  Status Guard(PrivateReleaser& releaser);
  StatusOr<Plan> MakePlan(const BoostColumns& columns);
  StatusOr<Plan> PlanWith(const BudgetShare& rest, std::optional<BudgetShare> length,
                          const BoostColumns& columns) const;
  StatusOr<PublicBoosted> Train(PrivateReleaser& releaser, const TrainProgress& progress);
  Status AddLines(const PublicLineShares& shares, double part, BoostTask& task,
                  PrivateReleaser& releaser, std::vector<TrainedTree>& trees);
  Status AddVisits(const VisitPlan& visits, const BinnedRows& binned, BoostTask& task,
                   PrivateReleaser& releaser, std::vector<TrainedTree>& trees) const;
  OutputScores PartOf(const OutputScores& scores, double part) const;
  double HeldOutResiduals() const;
  double EffectiveRows() const;
  AutoBudgets LeftBudgets() const;
  std::unique_ptr<BoostTask> MakeTask() const;

  const RowBlocks& rows_;
  const AutoBudgets budgets_;
  const PublicStart start_;
  std::optional<PublicTerms> terms_{};
  BinnedRows term_rows_{};      // in the terms' bins, or with labels alone
  OutputScores public_scores_;  // of the private rows
  RowEstimate estimate_{};
  BudgetShare left_ = BudgetShare::WithoutPrivacy();
  double trusted_ = 1;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_BOOST_H_
