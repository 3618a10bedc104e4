#include "client/cli/models/predict.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"

namespace coppice::cli {
namespace {

constexpr size_t kMaxCallRows = 10'000;
constexpr size_t kMaxCallBytes = 2 << 20;

v1::StreamPredictionsRequest RequestFor(const std::string& name, const Table& block) {
  v1::StreamPredictionsRequest request;
  request.set_name(name);
  for (size_t row = 0; row < block.num_rows(); ++row) {
    *request.add_rows() = ToProto(RowView(block.row(row)));
  }
  return request;
}

Status CheckAnswer(const v1::StreamPredictionsResponse& response, size_t rows,
                   const Schema& schema) {
  if (static_cast<size_t>(response.predictions_size()) != rows) {
    return DataLossError(StrCat("the curator predicted ", response.predictions_size(),
                                " rows where ", rows, " were sent"));
  }
  for (const v1::Prediction& prediction : response.predictions()) {
    const bool fits =
        prediction.label() < schema.num_outputs() &&
        static_cast<uint32_t>(prediction.probabilities_size()) == schema.num_outputs();
    if (!fits) return DataLossError("the curator predicted classes that the schema does not have");
  }
  return OkStatus();
}

}  // namespace

size_t RowsPerCall(size_t features) {
  const size_t row_bytes = 8 * features + 8;
  return std::clamp<size_t>(kMaxCallBytes / row_bytes, 1, kMaxCallRows);
}

StatusOr<ReadNotes> PredictFile(const std::string& path, const ReadOptions& options,
                                const std::string& name,
                                const std::shared_ptr<const Schema>& schema,
                                const PredictBlock& call, const OnPrediction& done) {
  size_t before = 0;  // rows in earlier blocks
  return ReadTableInBlocks(
      path, schema, options, RowsPerCall(schema->num_features()),
      [&](const Table& block) -> Status {
        v1::StreamPredictionsResponse response;
        COPPICE_RETURN_IF_ERROR(call(RequestFor(name, block), response));
        COPPICE_RETURN_IF_ERROR(CheckAnswer(response, block.num_rows(), *schema));
        for (size_t row = 0; row < block.num_rows(); ++row) {
          done(before + row, block, row, response.predictions(static_cast<int>(row)));
        }
        before += block.num_rows();
        return OkStatus();
      });
}

namespace {

Json DescribeNumber(size_t row, const v1::Prediction& prediction, const Target& target) {
  return {{"row", row + 1},
          {"value", prediction.value()},
          {"low", std::max(prediction.low(), target.min)},
          {"high", std::min(prediction.high(), target.max)},
          {"standard_error", prediction.value_error()}};
}

}  // namespace

Json DescribePrediction(size_t row, const v1::Prediction& prediction, const Schema& schema,
                        double abstain_below) {
  if (schema.target()) return DescribeNumber(row, prediction, *schema.target());
  const double p = prediction.probabilities(static_cast<int>(prediction.label()));
  Json json = {{"row", row + 1},
               {"label", schema.classes()[prediction.label()]},
               {"probability", p},
               {"low", std::max(prediction.low(), 0.0)},
               {"high", std::min(prediction.high(), 1.0)},
               {"standard_error", prediction.standard_error()},
               {"confidence", prediction.confidence()}};
  if (prediction.confidence() < abstain_below) json["label"] = nullptr;
  return json;
}

void AddProbabilities(const v1::Prediction& prediction, const Schema& schema, bool json,
                      Json& row) {
  Json probabilities = Json::object();
  for (size_t k = 0; k < schema.classes().size(); ++k) {
    const std::string& name = schema.classes()[k];
    probabilities[json ? name : StrCat("p(", name, ")")] =
        prediction.probabilities(static_cast<int>(k));
  }
  if (json) {
    row["probabilities"] = std::move(probabilities);
  } else {
    row.update(probabilities);
  }
}

void EmptyMissingLabel(Json& row) {
  if (row.contains("label") && row["label"].is_null()) row["label"] = "";
}

}  // namespace coppice::cli
