// How good a model is on private rows, released with noise.
//
// Classes: half of epsilon buys how many rows of each true class got each predicted class, the
// other half how many rows of each class have their score in each of 16 bins; for more than two
// classes, how many answers of each certainty are right and wrong. (One table of all of these would
// cost epsilon once, and the accuracy would be a sum over all of its cells' noise.) Numbers: half
// buys the absolute error, half its square, each cut at a public reach and scaled to [0, 1], as the
// sum of v and the sum of 1 - v. Everything else follows from these sums.
//
// A row is in one cell of each table, and adds v and 1 - v to a measure's two sums: so each table
// and each measure has sensitivity 1, whatever the model, and 2 where a label changes. Groups
// multiply cells and cost nothing. Rows without a label are in no cell.
//
// Guarantee  the plan follows from the schema and the options alone. Release() is epsilon-DP for
// the
//            options' neighbours, where epsilon is the cost of the plan's releases. Nothing about a
//            row makes anything fail: an answer that is no number counts as wrong, or as the reach.
// Errors     InvalidArgument for options that do not suit the schema, with what to change; what the
//            rows or the PrivateRandom return, and then nothing was released.
// Threads    plain values.
// Source     docs/research/mechanisms.md#private-evaluation.

#ifndef COPPICE_SERVER_TRAINERS_EVALUATION_PRIVATE_EVALUATION_H_
#define COPPICE_SERVER_TRAINERS_EVALUATION_PRIVATE_EVALUATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/certificate.h"
#include "common/model/model.h"
#include "common/privacy/budget.h"
#include "common/privacy/neighbours.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/evaluation/share_interval.h"

namespace coppice::trainers {

// Half as many hide twice as much of the area under the curve; twice as many add 1.4 times the
// noise to it.
inline constexpr size_t kScoreBins = 16;
// Of all tables together, groups included: a noisy sum is kept and shown for each.
inline constexpr size_t kMaxEvaluationCells = size_t{1} << 14;

struct EvaluationOptions {
  uint64_t epsilon_nanos = 0;
  Neighbours neighbours = Neighbours::kAddOrRemoveRow;
  std::string by{};  // a categorical feature, for figures of each of its values; empty: none
  // Numbers: errors count as at most this, in the target's unit; 0: the span of the target.
  double reach = 0;

  friend bool operator==(const EvaluationOptions&, const EvaluationOptions&) = default;
};

struct EvaluationPlan {
  EvaluationOptions options;
  uint64_t half_nanos = 0;            // epsilon of each table or measure
  std::optional<size_t> by{};         // place of the feature
  std::vector<std::string> groups{};  // their names; one without a name if there are none
  uint32_t classes = 0;               // 0: numbers
  double reach = 0;
  std::vector<Release> releases{};

  size_t first_cells() const;   // of a group, in the first table or measure
  size_t second_cells() const;  // the same in the second
};

// The noisy sums, group after group. Classes: `first` has predicted classes of each true class,
// `second` the classes (two: of the row; more: wrong and right) of each bin. Numbers: the sum of v
// and the sum of 1 - v, in units of 2^-20; `first` of absolute errors, `second` of squared ones.
struct EvaluationSums {
  std::vector<int64_t> first;
  std::vector<int64_t> second;

  friend bool operator==(const EvaluationSums&, const EvaluationSums&) = default;
};

struct GroupScores {
  std::string group;             // empty: all rows
  double rows = 0;               // as released; it may be negative
  Estimate accuracy;             // classes
  std::vector<Estimate> recall;  // of each class
  std::optional<Estimate> auc;   // two classes
  Estimate rmse, mae;            // numbers
};

struct PrivateScores {
  GroupScores all;
  std::vector<GroupScores> groups{};  // with `by` alone
  // As released, added up over the groups: predicted classes of each true class.
  std::vector<std::vector<int64_t>> confusion{};
};

StatusOr<EvaluationPlan> PlanEvaluation(const Schema& schema, const EvaluationOptions& options);

// OK if the model answers rows of this schema.
Status CheckAnswers(const Model& model, const Schema& schema);

// Called after each block with the number of rows so far; an error ends it.
using EvaluationProgress = std::function<Status(size_t rows)>;

// The exact sums. Private: only ReleaseOf() may see them.
struct ExactSums {
  std::vector<int64_t> first;
  std::vector<int64_t> second;
};

// `model` must answer the rows' schema, which must be the plan's. Draws nothing.
StatusOr<ExactSums> CountFor(const RowBlocks& rows, const Model& model, const EvaluationPlan& plan,
                             const EvaluationProgress& progress = {});

StatusOr<EvaluationSums> ReleaseOf(const ExactSums& exact, const EvaluationPlan& plan,
                                   PrivateReleaser& releaser);

// Both.
StatusOr<EvaluationSums> EvaluatePrivately(const RowBlocks& rows, const Model& model,
                                           const EvaluationPlan& plan, PrivateReleaser& releaser,
                                           const EvaluationProgress& progress = {});

// Post-processing.
PrivateScores ScoresOf(const EvaluationPlan& plan, const EvaluationSums& sums);

// How wide intervals are to be expected on so many rows. Classes: the accuracy's, if it is .8 and
// classes are equally frequent. Numbers: that of the mean absolute error, if it is a tenth of the
// reach. Half their width.
double ExpectedHalfWidth(const EvaluationPlan& plan, double rows);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_EVALUATION_PRIVATE_EVALUATION_H_
