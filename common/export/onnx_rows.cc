#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/export/model_parts.h"
#include "common/export/onnx_message.h"
#include "common/export/onnx_parts.h"

namespace coppice::formats::onnx {
namespace {

// One number per feature: constants that broadcast over rows.
template <typename ValueOf>
std::vector<double> PerFeature(const Schema& schema, ValueOf value_of) {
  std::vector<double> values;
  for (const Feature& feature : schema.features()) values.push_back(value_of(feature));
  return values;
}

bool IsCategorical(const Feature& feature) { return feature.type == FeatureType::kCategorical; }

// Replaces a value below the lower bound by `if_below`, one above the upper bound by `if_above`. It
// compares instead of using Clip, whose result for NaN depends on the runtime.
std::string AddBounds(const Schema& schema, const std::string& rows, Graph& graph) {
  const std::string lower = graph.Constant(
      "lower", PerFeature(schema, [](const Feature& f) { return IsCategorical(f) ? 0 : f.min; }));
  const std::string upper = graph.Constant("upper", PerFeature(schema, [](const Feature& f) {
                                             return IsCategorical(f) ? f.other() : f.max;
                                           }));
  const std::string if_below = graph.Constant("if_below", PerFeature(schema, [](const Feature& f) {
                                                return IsCategorical(f) ? f.other() : f.min;
                                              }));
  const std::string below = graph.Add("Less", {rows, lower}, "is_below");
  const std::string above = graph.Add("Greater", {rows, upper}, "is_above");
  const std::string raised = graph.Add("Where", {below, if_below, rows}, "raised");
  return graph.Add("Where", {above, upper, raised}, "bounded");
}

// Replaces codes outside the categories, and codes with a fraction, by that of "other".
std::string AddCodes(const Schema& schema, const std::string& rows, Graph& graph) {
  constexpr double kAny = 1e300;  // no fraction exceeds it
  const std::string other = graph.Constant("other", PerFeature(schema, [](const Feature& f) {
                                             return IsCategorical(f) ? f.other() : 0;
                                           }));
  const std::string most = graph.Constant("most_fraction", PerFeature(schema, [](const Feature& f) {
                                            return IsCategorical(f) ? 0 : kAny;
                                          }));
  const std::string floor = graph.Add("Floor", {rows}, "code_floor");
  const std::string fraction = graph.Add("Sub", {rows, floor}, "code_fraction");
  const std::string is_none = graph.Add("Greater", {fraction, most}, "is_no_code");
  return graph.Add("Where", {is_none, other, rows}, "coded");
}

// Rounds to the nearest whole number where the feature is whole, halves away from zero; ONNX's own
// Round takes the even one.
std::string AddRounding(const Schema& schema, const std::string& rows, Graph& graph) {
  const std::string half = graph.Constant("half", 0.5);
  const std::string zero = graph.Constant("zero", 0.0);
  const std::string size = graph.Add("Abs", {rows}, "size");
  const std::string floor = graph.Add("Floor", {size}, "size_floor");
  const std::string fraction = graph.Add("Sub", {size, floor}, "size_fraction");
  const std::string is_less = graph.Add("Less", {fraction, half}, "rounds_down");
  const std::string one = graph.Constant("one", 1.0);
  const std::string next = graph.Add("Add", {floor, one}, "size_ceiling");
  const std::string rounded = graph.Add("Where", {is_less, floor, next}, "rounded_size");
  const std::string minus = graph.Add("Neg", {rounded}, "minus_rounded_size");
  const std::string is_negative = graph.Add("Less", {rows, zero}, "is_negative");
  const std::string whole = graph.Add("Where", {is_negative, minus, rounded}, "whole");
  const std::string is_whole = graph.Constant(
      "whole_features", PerFeature(schema, [](const Feature& f) { return f.integer ? 1 : 0; }));
  const std::string takes_whole = graph.Add("Greater", {is_whole, zero}, "is_whole_feature");
  return graph.Add("Where", {takes_whole, whole, rows}, "rounded");
}

std::string AddDerived(const Model& model, const std::string& rows, Graph& graph) {
  const Schema& schema = model.schema();
  const std::string from = graph.Constant(
      "from", PerFeature(schema, [](const Feature& f) { return IsCategorical(f) ? 0 : f.min; }));
  const std::string width = graph.Constant("width", PerFeature(schema, [](const Feature& f) {
                                             return f.min < f.max ? f.max - f.min : 1;
                                           }));
  const std::string shifted = graph.Add("Sub", {rows, from}, "shifted");
  const std::string scaled = graph.Add("Div", {shifted, width}, "scaled");
  std::string sum;
  for (size_t i = 0; i < 3; ++i) {
    // With two terms the third is 0 times the first: it is missing only if the sum is.
    std::vector<int64_t> features;
    std::vector<double> signs;
    for (const DerivedFeature& derived : model.derived()) {
      const bool has = i < derived.size();
      features.push_back(derived[has ? i : 0].feature);
      signs.push_back(!has ? 0 : derived[i].minus ? -1 : 1);
    }
    const std::string number = std::to_string(i);
    const std::string indices = graph.Constant("features_" + number, features);
    const std::string sign = graph.Constant("signs_" + number, signs);
    const std::string part = "part_" + number;
    graph.Add(Operator("Gather", {scaled, indices}, part).Int("axis", 1), part);
    const std::string term = graph.Add("Mul", {part, sign}, "term_" + number);
    sum = sum.empty() ? term : graph.Add("Add", {sum, term}, "sum_" + number);
  }
  const std::string extended = "extended";
  return graph.Add(Operator("Concat", {rows, sum}, extended).Int("axis", 1), extended);
}

}  // namespace

std::string AddEncodedRows(const Model& model, Graph& graph) {
  const Schema& schema = model.schema();
  const std::vector<Feature>& features = schema.features();
  std::string rows = "features";
  graph.AddInput(ValueInfo(rows, Element::kDouble, static_cast<int64_t>(schema.num_features())));
  rows = AddBounds(schema, rows, graph);
  if (std::any_of(features.begin(), features.end(), IsCategorical)) {
    rows = AddCodes(schema, rows, graph);
  }
  if (std::any_of(features.begin(), features.end(), [](const Feature& f) { return f.integer; })) {
    rows = AddRounding(schema, rows, graph);
  }
  return SplitsDerived(model) ? AddDerived(model, rows, graph) : rows;
}

}  // namespace coppice::formats::onnx
