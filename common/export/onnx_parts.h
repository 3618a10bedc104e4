// The parts of an ONNX graph that predicts: from rows as users have them to what the model's trees
// are asked, and on to sums.
//
// Threads    plain functions.

#ifndef COPPICE_COMMON_EXPORT_ONNX_PARTS_H_
#define COPPICE_COMMON_EXPORT_ONNX_PARTS_H_

#include <string>

#include "common/export/onnx_message.h"
#include "common/tree/model.h"

namespace coppice::formats::onnx {

// Adds the input "features" and what makes its rows fit the schema: numbers cut to their bounds and
// rounded where they are whole, codes that are none replaced, derived features added. A NaN stays
// one. Every operation is in double, as Schema::Encode() and ExtendRow() do it. Returns the
// tensor's name.
std::string AddEncodedRows(const Model& model, Graph& graph);

// Tensors with a row per row.
struct ForestSums {
  std::string sums;   // in double, a column per output: the second alone for a number by scores
  std::string label;  // the leaf's own, where that decides; else empty
};

// Adds the forest. Where leaves hold probabilities or terms of them, sums are means.
//
// The operator's sums are float32, whatever its terms are. So each term is a coarse part, a
// multiple of a power of two that keeps all sums exact in float32, and a fine rest, whose sum is so
// small that its rounding does not matter.
ForestSums AddForest(const Model& model, const std::string& rows, Graph& graph);

}  // namespace coppice::formats::onnx

#endif  // COPPICE_COMMON_EXPORT_ONNX_PARTS_H_
