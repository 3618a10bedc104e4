// The parts of an ONNX graph that predicts: from rows as users have them to what the model's trees
// are asked, and on to sums.
//
// Threads    plain functions.

#ifndef COPPICE_CLIENT_EXPORT_ONNX_PARTS_H_
#define COPPICE_CLIENT_EXPORT_ONNX_PARTS_H_

#include <string>

#include "client/export/onnx_message.h"
#include "common/tree/model.h"

namespace coppice::formats::onnx {

// Adds the input "features" and what makes its rows fit the schema: numbers cut to their bounds and
// rounded where they are whole, codes that are none replaced, derived features added. A NaN stays
// one. Every operation is in double, as Schema::Encode() and ExtendRow() do it. Returns the
// tensor's name.
std::string AddEncodedRows(const Model& model, Graph& graph);

// Adds the forest. Returns the name of its sums, in float32 because the operator has no other: one
// column per output, or the mean of the trees' where leaves hold probabilities; for a number by
// scores the second output alone. Where a leaf's own label decides, the label is one column more.
std::string AddTreeSums(const Model& model, const std::string& rows, Graph& graph);

}  // namespace coppice::formats::onnx

#endif  // COPPICE_CLIENT_EXPORT_ONNX_PARTS_H_
