// Predicts the rows of a file, block by block: memory does not grow with the file.

#ifndef COPPICE_CLIENT_CLI_MODELS_PREDICT_H_
#define COPPICE_CLIENT_CLI_MODELS_PREDICT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "client/cli/terminal/output.h"
#include "common/base/status.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/table/read_table.h"
#include "common/table/table.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {

using PredictBlock =
    std::function<Status(const v1::StreamPredictionsRequest&, v1::StreamPredictionsResponse&)>;
// `row` counts from 0 in the file, `in_block` in the block.
using OnPrediction = std::function<void(size_t row, const Table& block, size_t in_block,
                                        const v1::Prediction& prediction)>;

// Rows in one message: at most 10000, and well below four megabytes.
size_t RowsPerCall(size_t features);

// Reads the file with `schema`, calls `done` for each row in order as answers arrive, and returns
// the reader's notes. `name` is the model's. Errors: those of the reader and of `call`; DataLoss if
// an answer has another number of rows, or a class that the schema does not have.
StatusOr<ReadNotes> PredictFile(const std::string& path, const ReadOptions& options,
                                const std::string& name,
                                const std::shared_ptr<const Schema>& schema,
                                const PredictBlock& call, const OnPrediction& done);

// For regression: row (from 1), value, low and high (its 95 % interval), standard_error. Otherwise:
// row (from 1), label, probability, low and high (its 95 % interval, privacy noise included),
// standard_error, confidence; no label if the confidence is below `abstain_below`.
Json DescribePrediction(size_t row, const v1::Prediction& prediction, const Schema& schema,
                        double abstain_below);

// Adds every class's probability: for scripts as an object "probabilities", for people as columns
// "p(CLASS)".
void AddProbabilities(const v1::Prediction& prediction, const Schema& schema, bool json, Json& row);
// For people: a missing label becomes an empty field, because any word may be a class.
void EmptyMissingLabel(Json& row);

// What `model evaluate` prints, for scripts and for people: the verdict first, then the figures
// next to those of always answering the majority's class, or the mean.
Json DescribeScores(const std::string& model, const ClassScores& scores, const Schema& schema);
Json DescribeScores(const std::string& model, const NumberScores& scores);
std::string ScoresText(const ClassScores& scores, const Schema& schema);
std::string ScoresText(const NumberScores& scores);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_PREDICT_H_
