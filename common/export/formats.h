// Models in formats that programs without Coppice's code read; docs/export.md says what each takes
// and promises.
//
// Guarantee  a file holds what the model holds, its certificate among it, and nothing else: it is
//            post-processing. A row in the file's own input form gets the model's probabilities to
//            within 1e-12 (json, c), 1e-7 (onnx) or the rounding of float32 sums (xgboost: 1e-6
//            unless scores add up to hundreds), and its label where no other is as close. What a
//            format cannot say that well is refused, never approximated.
// Errors     InvalidArgument for an unknown format, and for a model too large for its format.
//            FailedPrecondition for a model that the format cannot express. The last two say which
//            format can.
// Threads    plain functions.

#ifndef COPPICE_COMMON_EXPORT_FORMATS_H_
#define COPPICE_COMMON_EXPORT_FORMATS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tree/model.h"

namespace coppice::formats {

// What ExportModel() takes: json, onnx, xgboost, c.
std::vector<std::string> FormatNames();

// The bytes of a file. `id` is what the file calls the model; it may be empty.
absl::StatusOr<std::string> ExportModel(const Model& model, absl::string_view id,
                                        absl::string_view format);

// docs/model.schema.json: every split and leaf by name. Always possible.
absl::StatusOr<std::string> ToJson(const Model& model, absl::string_view id);

// ONNX with ai.onnx.ml 3. Clamps, rounds and derives columns itself.
absl::StatusOr<std::string> ToOnnx(const Model& model, absl::string_view id);

// XGBoost 1.7's JSON. Only sums that one of its objectives turns into the prediction, and only
// splits of the schema's own features.
absl::StatusOr<std::string> ToXgboost(const Model& model, absl::string_view id);

// One C99 header without a dependency.
absl::StatusOr<std::string> ToCHeader(const Model& model, absl::string_view id);

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_FORMATS_H_
