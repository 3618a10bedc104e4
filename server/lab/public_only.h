// What public rows alone predict: the simplest thing that a method with public rows has to beat.

#ifndef COPPICE_SERVER_LAB_PUBLIC_ONLY_H_
#define COPPICE_SERVER_LAB_PUBLIC_ONLY_H_

#include <vector>

#include <nlohmann/json.hpp>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/predictor/public_predictor.h"
#include "common/table/table.h"
#include "server/lab/rows.h"
#include "server/trainers/curves/training.h"

namespace coppice::lab {

// The predictor's probabilities, row by row, or its numbers.
std::vector<double> PredictionsOf(const PublicPredictor& predictor, const Table& rows);

// Scores such predictions.
ClassScores ScoresOfClasses(const Table& rows, absl::Span<const double> probabilities);
NumberScores ScoresOfNumbers(const Table& rows, absl::Span<const double> numbers);

// Fits the public predictor to each repetition's public rows, and scores it on the same test rows
// as a trainer's models with the same runs. {"accuracy": ..., "log_loss": ...}, or {"rmse": ...}.
StatusOr<nlohmann::ordered_json> ScorePublicOnly(const RowSource& rows, const curves::Runs& runs);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_PUBLIC_ONLY_H_
