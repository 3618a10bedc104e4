// What `auto` decides, from epsilon, delta, the schema, the task and values that it paid for.
//
// It first releases the number of rows, for a hundredth of epsilon. If its noise is large, a
// twentieth of the rest buys a better one. Two classes with enough rows buy their odds, and tables
// with enough rows narrower bounds where the declared ones are far too wide (narrow_bounds.h).
// These decide the trees' number and depth, whether lines come first and passes over columns last,
// what is measured of a split, and whether delta is useful. Classes visit each column of very many
// categories before their trees, whatever the number of rows.
//
// Each of these decisions compares a signal with its noise: rows times epsilon tells by how many
// deviations of the noise a split, a line or a column may rise above it. Where it would hardly
// show, its share of the budget is worth more elsewhere.
//
// Guarantee  ReleaseClassStart() spends a part of the forest's share: `left` is the rest.
//            Everything else is a function of released and public values.
//            A job without an epsilon is gradient_boosting.cc's: of all this only AutoBudgetsOf()
//            takes one.
// Errors     InvalidArgument for shares that are too small; as in private_releaser.h.
// Threads    plain values.
// Source     docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_AUTO_PLAN_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_AUTO_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "common/schema/schema.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/boosting/boost_tree.h"
#include "server/trainers/boosting/column_fit.h"
#include "server/trainers/boosting/line_fit.h"
#include "server/trainers/boosting/mean_directions.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

// The budget of a job, and its division before anything is released.
struct AutoBudgets {
  BudgetShare count = BudgetShare::WithoutPrivacy();
  BudgetShare forest = BudgetShare::WithoutPrivacy();
  uint64_t delta_atto = 0;  // of the forest
  // What the forest's epsilon and delta allow together, if anything.
  std::optional<BudgetShare> concentrated{};
  // Whether costs add up as rho and the forest must keep to the stated rho: noise is Gaussian then.
  bool states_rho = false;
  bool has_public_rows = false;
};
// What the forest may spend: a stated rho, or its epsilon.
inline const BudgetShare& WholeOf(const AutoBudgets& budgets) {
  return budgets.states_rho ? *budgets.concentrated : budgets.forest;
}
StatusOr<AutoBudgets> AutoBudgetsOf(const Schema& schema, const TrainOptions& options);

// The most levels of all trees together, and the most trees of levels without parts.
inline constexpr uint32_t kMostLevels = 200;
inline constexpr uint32_t kMostTreesOfAuto = kMostLevels / 4;
// Says whether trees can be grown with this share, however many the number of rows will ask for.
Status CheckTreeShares(const BudgetShare& trees);
// Says whether everything that `auto` does with its forest's share can be paid from it.
Status CheckShares(const Schema& schema, const BudgetShare& forest);
// The same, whatever is spent before the trees.
Status CheckForest(const Schema& schema, const BudgetShare& forest);
// Returns what `forest` allows with delta, if that can be divided whatever is spent before.
std::optional<BudgetShare> ConcentratedForest(const Schema& schema, const BudgetShare& forest,
                                              uint64_t delta_atto);

// Returns how many levels pay, in all trees together: of rows, and of what is spent on them.
double RoundsInEpsilon(double rows, double epsilon);
double RoundsInRho(double rows, const BudgetShare& forest);

// Returns what a selection gets from a share, as the epsilon of a level that is divided as usual.
double EpsilonInEffect(const BudgetShare& share);

// Averages released numbers of rows, weighted by their precision.
class RowEstimate {
 public:
  void Add(double rows, double variance) {
    weighted_ += rows / variance;
    weight_ += 1 / variance;
  }
  double rows() const { return weight_ > 0 ? weighted_ / weight_ : 0; }

 private:
  double weighted_ = 0, weight_ = 0;
};

// What is known of classes before the first tree.
struct ClassStart {
  double rows = 0;
  BudgetShare left = BudgetShare::WithoutPrivacy();
  std::vector<double> odds{};  // the classes' shares of the rows; empty if not bought
  // The scores that all rows begin with, one per output, and their noise; empty: 0.
  std::vector<double> scores{};
  std::vector<OutputNoise> noise{};
  bool is_all = false;  // nothing is left for trees: the scores are the model
};
// `counted` is the released number of rows; `labels` may contain kUnlabelled.
StatusOr<ClassStart> ReleaseClassStart(absl::Span<const uint32_t> labels, uint32_t num_classes,
                                       const RowEstimate& counted, const AutoBudgets& budgets,
                                       PrivateReleaser& releaser);

// Straight lines through the numeric columns, and the share that they leave for trees.
struct LinePlan {
  LineShares shares;
  BudgetShare trees = BudgetShare::WithoutPrivacy();
};
// Passes over all columns, and the share that they leave for trees.
struct PassPlan {
  ColumnPasses passes;
  BudgetShare trees = BudgetShare::WithoutPrivacy();
};

// A visit to each column of too many categories to be split into all of them, and the share that
// they leave for all else.
struct VisitPlan {
  std::vector<uint32_t> columns;
  BudgetShare visit = BudgetShare::WithoutPrivacy();
  BudgetShare rest = BudgetShare::WithoutPrivacy();
};

struct AutoChoice {
  double rows = 0;
  BudgetShare forest = BudgetShare::WithoutPrivacy();
  double rounds = 1;  // the levels of all trees together
  ChildDetail detail{};
  std::optional<VisitPlan> visits{};
  std::optional<LinePlan> lines{};
  std::optional<DirectionPlan> directions{};
  std::optional<PassPlan> passes{};
  bool found_directions = false;
  bool constant = false;  // one number for all rows, if there are very few

  // Of lines, directions, trees and passes.
  const BudgetShare& after_visits() const { return visits ? visits->rest : forest; }
  uint32_t depth() const;
  uint32_t trees() const;
  std::string InWords() const;
};

// For numbers, from their number of rows.
AutoChoice ChooseForNumbers(double rows, const AutoBudgets& budgets);
// `left` is the rest of the forest's share.
AutoChoice ChooseForNumbers(double rows, const AutoBudgets& budgets, const BudgetShare& left);
// Returns the lines of numbers that are not few, whose budget `choice` has: none in tables that are
// not mostly numeric, or where noise would hide the moments. Follows from what `choice` does.
StatusOr<std::optional<LinePlan>> ChooseLinesForNumbers(const AutoChoice& choice,
                                                        const BoostColumns& columns,
                                                        absl::Span<const Line> lines);
// For classes.
StatusOr<AutoChoice> ChooseForClasses(const ClassStart& start, const AutoBudgets& budgets,
                                      const Schema& schema, const BoostColumns& columns,
                                      absl::Span<const Line> lines);

// The most that the trees of any AutoChoice have, on columns of these bins: one tree for each level
// of each round, and those of lines and of passes over the columns.
ModelShape MostOfChoices(absl::Span<const FeatureBins> bins, uint64_t outputs);

// Plans the visits of `choice`, which has a forest and rounds, if any column of classes needs one.
std::optional<VisitPlan> ChooseVisits(const AutoChoice& choice, const Schema& schema,
                                      const BoostColumns& columns);

StatusOr<std::vector<LevelShares>> SharesOfLevels(const BudgetShare& forest,
                                                  const AutoChoice& choice);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_AUTO_PLAN_H_
