// What public rows say before any private row is asked: the public predictor's scores, in the unit
// of a boosting task.
//
// Boosting from 0 spends most of its budget on finding what a few hundred public rows would have
// told it for nothing. So scores begin with what the public predictor answers. How far a score can
// be believed is then asked of the private rows (public_guard.h), and what is left to find is found
// by lines and trees (public_lines.h, public_boost.h).
//
// The predictor has seen the labels of the public rows, so it is too sure of them. Whatever is
// learned from how well it fits them, such as a line's curvature, uses held-out scores instead: of
// the learners that were fitted without the row.
//
// Scores are log odds: one for two classes, one per class for more. For numbers there is one, the
// number itself, in multiples of unit(): how far the held-out answers are off for nine rows in ten.
//
// Guarantee  a function of the public table alone: no private row is read. The seed is a constant.
// Errors     CheckPublicRows() and Create(): InvalidArgument for a table with another schema, fewer
//            than kLeastPublicRows labelled rows, or one class only; what `cancel` returns.
// Threads    immutable.
// Source     docs/research/mechanisms.md#boosting-from-public-rows.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_START_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_START_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/predictor/public_predictor.h"
#include "common/table/table.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/core/ensemble.h"

namespace coppice::trainers {

// Fewer say too little to be held out in fifths.
inline constexpr size_t kLeastPublicRows = 20;

// Scores of rows: scores[output][row].
using OutputScores = std::vector<std::vector<double>>;

// Says cheaply what PublicStart::Create() would refuse.
Status CheckPublicRows(const Table& public_rows, const Schema& schema);

// The most that the public predictor adds to a model.
ModelShape MostOfPublicStart(const Schema& schema);

class PublicStart {
 public:
  static StatusOr<PublicStart> Create(const Table& public_rows, const CancelCheck& cancel);

  // The labelled public rows, and their held-out scores.
  const Table& rows() const { return rows_; }
  const OutputScores& held_out() const { return held_out_; }
  // The scores that the predictor gives to other rows, each from its own features alone.
  StatusOr<OutputScores> ScoresOf(const RowBlocks& rows) const;

  size_t outputs() const { return held_out_.size(); }
  bool predicts_number() const { return predictor_.predicts_number(); }
  // Of numbers: a score of 1 in steps of the target's range (bins.h), and the public rows' mean
  // score. For classes 1 and 0.
  double unit() const { return unit_; }
  double mean() const { return mean_; }
  // The public rows' numbers, as scores.
  absl::Span<const double> numbers() const { return numbers_; }

  // The predictor's trees with scores that are linear in its own: output o gets constant[o] + sum
  // over c of factor[o * outputs() + c] times score c. Only the constant if all factors are 0.
  std::vector<TrainedTree> Trees(absl::Span<const double> factor, absl::Span<const double> constant,
                                 const BoostTask& task) const;
  // The number of trees that Trees() makes at most.
  size_t num_trees() const { return predictor_.trees().size() + 1; }

 private:
  PublicStart(Table rows, PublicPredictor predictor)
      : rows_(std::move(rows)), predictor_(std::move(predictor)) {}

  // Writes the scores of one row, of `columns` of the predictor, to `scores`. Of a tree's values
  // numbers need no origin.
  void ToScores(absl::Span<const double> columns, bool has_origin, absl::Span<double> scores) const;
  OutputScores ToOutputs(absl::Span<const double> of_rows) const;

  Table rows_;
  PublicPredictor predictor_;
  double unit_ = 1, mean_ = 0;
  OutputScores held_out_;
  std::vector<double> numbers_;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_START_H_
