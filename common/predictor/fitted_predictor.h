// Fits the public predictor: seven tree learners, each calibrated, stacked by held-out scores.
//
// No single learner is best everywhere. With 200 rows a forest of random cuts leads on one table,
// boosting on the next, and which it will be cannot be seen in the schema. So all seven are fitted,
// and the rows themselves say what each is worth: every learner is fitted five more times, each
// time without a fifth of the rows, and scores the rows that it has not seen. On these held-out
// scores one temperature and one level per class make each learner's probabilities honest, and
// weights of at least 0 combine the learners. A learner that only repeats the labels it was given
// gains nothing here, because no score it is judged by knows its row's label.
//
// The held-out scores of the public rows stay available. Whoever asks later how well the predictor
// knows a public row must use them: the served predictor has seen every row's label.
//
// A served model that is larger than it may be loses the trees and leaves that help least by
// held-out loss (size_bound.h).
//
// Guarantee  equal rows, seed and size bound give equal predictors, whatever the threads. Nothing
//            here sees a private row, and it costs no privacy.
// Errors     FitPredictor(): InvalidArgument for no rows, an unlabelled row, or more than
//            kMaxHeldOutScores rows times classes; what `cancel` returns.
// Threads    plain functions and immutable values; fits run on as many threads as asked for.
// Source     Wolpert, "Stacked generalization" (1992); Breiman, "Stacked regressions" (1996), for
//            weights of at least 0; docs/research/mechanisms.md#public-predictor.

#ifndef COPPICE_COMMON_PREDICTOR_FITTED_PREDICTOR_H_
#define COPPICE_COMMON_PREDICTOR_FITTED_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/predictor/public_predictor.h"
#include "common/table/table.h"

namespace coppice {

inline constexpr size_t kDefaultMaxModelBytes = 1'000'000;
// Public rows times classes. Each learner's held-out scores take eight bytes for each.
inline constexpr size_t kMaxHeldOutScores = size_t{1} << 22;

struct PredictorOptions {
  uint64_t seed = 1;  // public
  uint32_t threads = 1;
  size_t max_model_bytes = kDefaultMaxModelBytes;  // of the served model: model_bytes()
};

// What became of one learner.
struct LearnerReport {
  std::string_view name{};
  double weight = 0;         // in the stack; 0: left out
  double temperature = 1;    // by which its scores are multiplied before they are weighed
  double held_out_loss = 0;  // by itself, once calibrated
  uint32_t trees = 0;        // served
  uint32_t leaves = 0;       // served, of all trees together
};

struct FittedPredictor {
  PublicPredictor predictor;
  // The scores of each public row by learners that have not seen it, in the unit of
  // PublicPredictor::Score(), one row after another.
  std::vector<double> held_out;
  std::vector<uint32_t> fold_of_row;
  // The mean log loss of the held-out scores, in nats; for numbers their mean squared error, in the
  // target's unit squared. Weights were fitted to these scores, so it flatters a little.
  double held_out_loss = 0;
  // The same before trees and leaves were dropped to keep the model small.
  double unbounded_held_out_loss = 0;
  std::vector<LearnerReport> learners;
};

StatusOr<FittedPredictor> FitPredictor(const Table& public_rows, const PredictorOptions& options,
                                       const CancelCheck& cancel = {});

}  // namespace coppice

#endif  // COPPICE_COMMON_PREDICTOR_FITTED_PREDICTOR_H_
