// Parts of an ONNX graph that predicts: from users' rows to the values that the model's trees test,
// and on to sums.
//
// Threads    plain functions.

#ifndef COPPICE_COMMON_EXPORT_ONNX_PARTS_H_
#define COPPICE_COMMON_EXPORT_ONNX_PARTS_H_

#include <string>

#include "common/export/onnx_message.h"
#include "common/model/model.h"

namespace coppice::formats::onnx {

// Adds the input "features" and the operators that fit its rows to the schema: numbers are cut to
// their bounds and rounded where they must be whole, invalid codes replaced, derived features
// added. A NaN stays NaN. Every operation is in double, as in Schema::Encode() and ExtendRow().
// Returns the tensor's name.
std::string AddEncodedRows(const Model& model, Graph& graph);

// Tensors with one row per row of the input.
struct ForestSums {
  std::string sums;   // double, one column per output; for a number by scores the second only
  std::string label;  // the leaf's own label, if it decides; otherwise empty
};

// Adds the forest. If leaves hold probabilities or terms of them, sums are means.
//
// The operator sums in float32, whatever its terms are. So each term is split into a coarse part, a
// multiple of a power of two that keeps all sums exact in float32, and a fine rest, whose sum is so
// small that its rounding does not matter.
ForestSums AddForest(const Model& model, const std::string& rows, Graph& graph);

}  // namespace coppice::formats::onnx

#endif  // COPPICE_COMMON_EXPORT_ONNX_PARTS_H_
