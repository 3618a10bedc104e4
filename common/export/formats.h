// Exports models in formats for programs without Coppice's code; docs/export.md says what each
// accepts and promises.
//
// Guarantee  a file holds what the model holds, including its certificate, and nothing else:
//            exporting is post-processing. A row in the file's own input form gets the model's
//            probabilities to within 1e-12 (json, c, sql), 1e-7 (onnx) or the rounding of float32
//            sums (xgboost: 1e-6 unless scores add up to hundreds), and its label unless another is
//            as close. What a format cannot express that precisely is refused, never approximated.
// Errors     InvalidArgument for an unknown format, and for a model too large for its format.
//            FailedPrecondition for a model that the format cannot express. The last two name a
//            format that can.
// Threads    plain functions.

#ifndef COPPICE_COMMON_EXPORT_FORMATS_H_
#define COPPICE_COMMON_EXPORT_FORMATS_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/model.h"

namespace coppice::formats {

// What ExportModel() takes: json, onnx, xgboost, c, sql.
std::vector<std::string> FormatNames();

// Returns the bytes of a file. `id` is the model's name in the file; it may be empty.
StatusOr<std::string> ExportModel(const Model& model, std::string_view id, std::string_view format);

// Writes docs/model.schema.json: every split and leaf by name. Works for every model.
StatusOr<std::string> ToJson(const Model& model, std::string_view id);

// Writes ONNX with ai.onnx.ml 3. The graph itself clamps, rounds and derives columns.
StatusOr<std::string> ToOnnx(const Model& model, std::string_view id);

// Writes XGBoost 1.7's JSON. Only for sums that one of its objectives turns into the prediction,
// and only for splits of the schema's own features.
StatusOr<std::string> ToXgboost(const Model& model, std::string_view id);

// Writes one C99 header without dependencies.
StatusOr<std::string> ToCHeader(const Model& model, std::string_view id);

// Writes one SELECT for PostgreSQL and DuckDB, which reads the relation coppice_input.
StatusOr<std::string> ToSql(const Model& model, std::string_view id);

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_FORMATS_H_
