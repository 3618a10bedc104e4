// Writes a graph with the input "features" and the outputs "label" and "probabilities", or "value".
// docs/export.md#onnx says how to feed it.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/export/formats.h"
#include "common/export/model_parts.h"
#include "common/export/onnx_message.h"
#include "common/export/onnx_parts.h"
#include "common/model/certificate_text.h"

namespace coppice::formats {
namespace {

using onnx::Element;
using onnx::Graph;
using onnx::Message;
using onnx::Operator;

// The oldest versions with the needed operators; docs/export.md lists the runtimes that read them.
constexpr int64_t kIrVersion = 8;
constexpr int64_t kOpset = 15;
constexpr int64_t kMlOpset = 3;

// Protocol buffers cannot be larger.
constexpr size_t kMaxBytes = std::numeric_limits<int32_t>::max();

std::string AddGather(const std::string& from, const std::string& indices, int64_t axis,
                      const std::string& output, Graph& graph) {
  return graph.Add(Operator("Gather", {from, indices}, output).Int("axis", axis), output);
}

// Divides parts by their total; if that is 0, nothing is known.
std::string AddShares(const Model& model, const std::string& parts, const std::string& output,
                      Graph& graph) {
  const std::string columns = graph.Constant("columns", std::vector<int64_t>{1});
  const std::string none = graph.Constant("none", 0.0);
  const std::string any = graph.Constant("any", 1.0);
  const std::string equal =
      graph.Constant("equal", 1 / static_cast<double>(model.schema().num_outputs()));
  const std::string total = graph.Add("ReduceSum", {parts, columns}, "total");
  const std::string has_total = graph.Add("Greater", {total, none}, "has_total");
  const std::string divisor = graph.Add("Where", {has_total, total, any}, "divisor");
  const std::string shares = graph.Add("Div", {parts, divisor}, "shares");
  return graph.Add("Where", {has_total, shares, equal}, output);
}

// Turns sums into probabilities, or into the place of a number in its range.
std::string AddProbabilities(const Model& model, const std::string& sums, const std::string& output,
                             Graph& graph) {
  const std::string low = "least", high = "most";
  switch (model.leaf_kind()) {
    case LeafKind::kProbabilities:
      return graph.Add("Identity", {sums}, output);
    case LeafKind::kWeights:
      return AddShares(model, graph.Add("Relu", {sums}, "cut"), output, graph);
    case LeafKind::kAdditive:
      graph.Constant(low, 0.0);
      graph.Constant(high, 1.0);
      return AddShares(model, graph.Add("Clip", {sums, low, high}, "cut"), output, graph);
    case LeafKind::kScores:
      break;
  }
  if (!model.schema().target()) {
    return graph.Add(Operator("Softmax", {sums}, output).Int("axis", 1), output);
  }
  graph.Constant(low, 0.0);
  graph.Constant(high, 1.0);
  return graph.Add("Clip", {sums, low, high}, output);
}

void AddValue(const Model& model, const std::string& sums, Graph& graph) {
  const Target& target = *model.schema().target();
  std::string place = AddProbabilities(model, sums, "place", graph);
  if (model.leaf_kind() != LeafKind::kScores) {
    const std::string second = graph.Constant("second", std::vector<int64_t>{1});
    place = AddGather(place, second, 1, "upper_end", graph);
  }
  const std::string width = graph.Constant("target_width", target.span());
  const std::string from = graph.Constant("target_from", target.min);
  graph.Add("Add", {graph.Add("Mul", {place, width}, "height"), from}, "value");
  graph.AddOutput(onnx::ValueInfo("value", Element::kDouble, 1));
}

// The leaf's label, or the class with the largest sum, the lower one on a tie.
std::string AddLabelNumber(const onnx::ForestSums& forest, Graph& graph) {
  const std::string number = "label_number";
  if (forest.label.empty()) {
    return graph.Add(Operator("ArgMax", {forest.sums}, number).Int("axis", 1).Int("keepdims", 0),
                     number);
  }
  const std::string all = graph.Constant("all_rows", std::vector<int64_t>{-1});
  const std::string flat = graph.Add("Reshape", {forest.label, all}, "flat_label");
  return onnx::AddCast(flat, Element::kInt64, number, graph);
}

void AddClasses(const Model& model, const onnx::ForestSums& forest, Graph& graph) {
  const std::string names = graph.Constant("class_names", model.schema().classes());
  AddGather(names, AddLabelNumber(forest, graph), 0, "label", graph);
  const std::string precise = AddProbabilities(model, forest.sums, "precise", graph);
  onnx::AddCast(precise, Element::kFloat, "probabilities", graph);
  graph.AddOutput(onnx::ValueInfo("label", Element::kString, 0));
  graph.AddOutput(onnx::ValueInfo("probabilities", Element::kFloat, model.schema().num_outputs()));
}

Message OpsetOf(std::string_view domain, int64_t version) {
  Message opset;
  opset.AddBytes(1, domain);
  opset.AddInt(2, version);
  return opset;
}

Message Property(std::string_view key, std::string_view value) {
  Message property;
  property.AddBytes(1, key);
  property.AddBytes(2, value);
  return property;
}

}  // namespace

StatusOr<std::string> ToOnnx(const Model& model, std::string_view id) {
  Graph graph;
  const onnx::ForestSums forest = onnx::AddForest(model, onnx::AddEncodedRows(model, graph), graph);
  if (model.schema().target()) {
    AddValue(model, forest.sums, graph);
  } else {
    AddClasses(model, forest, graph);
  }
  Message file;
  file.AddInt(1, kIrVersion);
  file.AddBytes(2, "coppice");
  file.AddBytes(3, COPPICE_VERSION);
  file.AddBytes(6, PrivacyInALine(model.certificate()));
  file.AddMessage(7, graph.Finish("coppice"));
  file.AddMessage(8, OpsetOf("", kOpset));
  file.AddMessage(8, OpsetOf("ai.onnx.ml", kMlOpset));
  if (!id.empty()) file.AddMessage(14, Property("coppice.model", id));
  file.AddMessage(14, Property("coppice.schema", ToLine(SchemaJson(model.schema()))));
  file.AddMessage(14,
                  Property("coppice.certificate", ToLine(CertificateJson(model.certificate()))));
  if (file.bytes().size() <= kMaxBytes) return file.bytes();
  return InvalidArgumentError(StrCat("the model has ", file.bytes().size(),
                                     " bytes as ONNX, which holds at most ", kMaxBytes,
                                     ": json and c have no such limit"));
}

}  // namespace coppice::formats
