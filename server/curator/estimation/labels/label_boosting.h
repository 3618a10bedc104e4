// Boosting of class scores on randomized labels, as far as labels that were not boosted on agree.
//
// Where all features are public, a report is the randomized label of a known row, and z is an
// unbiased estimate of its one-hot vector. The loss -sum z ln p of scores with softmax p is then an
// unbiased estimate of the log loss on the true labels, and z - p of its gradient, so trees can be
// boosted on z as on labels. The scores start at the public predictor's: what the public rows
// know need not be learned again from noise.
//
// How far to go is what the noise makes hard. Labels are held out in three folds: trees are boosted
// on two of them, and after every tenth round the third says what has been gained,
//
//     gain = |z - p(start)|^2 - |z - p(start + share * boosted)|^2
//
// for four shares. Its mean is the true gain in squares, which are bounded; a log loss would hang
// on a few false labels of rows that the scores are sure about. The round and share with the
// largest sum of gains less two standard errors are taken, and none if all of these are below 0.
// Two, because the best of 80 pairs is looked for: with one standard error, six small sets lost .29
// points at epsilon = .5. Boosting ends early where nothing is gained any more, and where a model
// could not have more trees. The answer is the start plus the share of the folds' mean.
//
// Numbers have one score, the number itself in margins (label_only.h), and squares for their loss:
// the gradient is z - score, and the noise v that leaves are guarded against counts in units of the
// error that the start has on public rows. Everything else is as above.
//
// Guarantee  post-processing of randomized labels, of features in the clear and of public rows:
//            costs no privacy, may be repeated. Equal input gives equal trees.
// Errors     InvalidArgument when shapes do not match; also what `cancel` returns.
// Threads    safe to share.
// Source     Friedman, "Greedy function approximation: a gradient boosting machine" (2001);
//            docs/research/mechanisms.md#label-only.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_BOOSTING_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_BOOSTING_H_

#include <cstdint>
#include <vector>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/predictor/public_predictor.h"
#include "server/curator/estimation/labels/boosted_trees.h"
#include "server/curator/estimation/labels/label_only.h"

namespace coppice::curator {

struct LabelStart {
  const PublicPredictor& predictor;
  // Of numbers: the root mean squared error that it has on rows like the reports'; 0 if unknown.
  double error = 0;
};

struct LabelBoost {
  std::vector<ScoreTree> trees;  // to be added to the start's; none: the start is the answer
  double share = 0;
  uint32_t rounds = 0;  // of each fold
  // By column of LabelReports::margins, then report: the score by trees that were not boosted on
  // it. The single column of two classes is that of the second, whose negative is the first's.
  RowColumns held_out;
  // By row of each class's score: its variance by the draw of the folds.
  RowColumns variance;
};

// The start's predictor is for the schema of the reports' rows.
StatusOr<LabelBoost> BoostOnLabels(const LabelStart& start, const LabelReports& reports,
                                   const CancelCheck& cancel = {});

// By report: |z - p|^2 of the probabilities p, or of numbers' margins. Of two classes only the
// second counts.
std::vector<double> SquaredErrors(const LabelReports& reports, const RowColumns& probabilities);
// What SquaredErrors() takes, by column, of scores as in LabelBoost::held_out.
RowColumns AnswersOfScores(const LabelReports& reports, const RowColumns& scores);

// The sum of a - b over all rows, in standard errors of that sum; 0 if they do not differ.
double GainInErrors(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_BOOSTING_H_
