// tests/runtimes tests the graph in runtimes.

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "common/export/formats.h"
#include "common/export/onnx_message.h"
#include "tests/common/export/sample_models.h"

namespace coppice::formats {
namespace {

using ::coppice::testing::ExportedRegression;
using ::coppice::testing::ExportedSchema;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::OneSplit;
using ::google::protobuf::UnknownField;
using ::google::protobuf::UnknownFieldSet;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

// Returns the values of a message's field, each as text.
std::vector<std::string> ValuesOf(const std::string& message, int number) {
  UnknownFieldSet fields;
  EXPECT_TRUE(fields.ParseFromString(message));
  std::vector<std::string> values;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() != number) continue;
    values.push_back(field.type() == UnknownField::TYPE_VARINT ? std::to_string(field.varint())
                                                               : field.length_delimited());
  }
  return values;
}

// Returns the field of each message in a list, such as the operators' types.
std::vector<std::string> Each(const std::vector<std::string>& messages, int number) {
  std::vector<std::string> values;
  for (const std::string& message : messages) values.push_back(ValuesOf(message, number)[0]);
  return values;
}

std::string GraphOf(const Model& model) { return ValuesOf(*ToOnnx(model, "m1"), 7)[0]; }

// Returns the weights of the leaves, coarse and fine.
std::vector<double> WeightsOf(const Model& model) {
  std::vector<double> weights;
  for (const std::string& op : ValuesOf(GraphOf(model), 1)) {
    for (const std::string& attribute : ValuesOf(op, 5)) {
      if (ValuesOf(attribute, 1)[0] != "target_weights_as_tensor") continue;
      const std::string raw = ValuesOf(ValuesOf(attribute, 5)[0], 9)[0];
      weights.resize(raw.size() / sizeof(double));
      std::memcpy(weights.data(), raw.data(), raw.size());
    }
  }
  return weights;
}

TEST(OnnxMessageTest, IsAProtocolBuffer) {
  onnx::Message inner, message;
  inner.AddInt(1, -1);
  message.AddInt(1, 300);
  message.AddInt(20, 0);
  message.AddMessage(3, inner);
  EXPECT_EQ(message.bytes(), std::string("\x08\xac\x02\xa0\x01\x00\x1a\x0b\x08", 9) +
                                 std::string(9, '\xff') + "\x01");
}

TEST(OnnxTest, SaysItsVersionsAndWhatItCost) {
  const std::string file =
      *ToOnnx(OneSplit(ExportedSchema(), NumericSplit(0, 0.5), {1, -1}, {-1, 1}), "m1");
  EXPECT_THAT(ValuesOf(file, 1), ElementsAre("8"));
  EXPECT_THAT(Each(ValuesOf(file, 8), 2), ElementsAre("15", "3"));
  EXPECT_THAT(Each(ValuesOf(file, 14), 1),
              ElementsAre("coppice.model", "coppice.schema", "coppice.certificate"));
  EXPECT_THAT(Each(ValuesOf(file, 14), 2), Contains("m1"));
}

TEST(OnnxTest, HasOneInputAndClassesOrANumber) {
  const std::string classes =
      GraphOf(OneSplit(ExportedSchema(), NumericSplit(0, 0.5), {1, -1}, {-1, 1}));
  EXPECT_THAT(Each(ValuesOf(classes, 11), 1), ElementsAre("features"));
  EXPECT_THAT(Each(ValuesOf(classes, 12), 1), ElementsAre("label", "probabilities"));
  EXPECT_THAT(Each(ValuesOf(classes, 1), 4), Contains("Softmax"));
  const std::string number =
      GraphOf(OneSplit(ExportedRegression(), NumericSplit(0, 0.5), {0, 1}, {0, 0.5}));
  EXPECT_THAT(Each(ValuesOf(number, 12), 1), ElementsAre("value"));
  EXPECT_THAT(Each(ValuesOf(number, 1), 4), Not(Contains("Softmax")));
}

// A step of float32 is 64 at 1e9, and does not exist at 1e-320.
TEST(OnnxTest, TakesTermsOfAnySize) {
  for (const double size : {1e9, 1.0, 1e-310, 0.0}) {
    const std::vector<double> weights = WeightsOf(
        OneSplit(ExportedSchema(), NumericSplit(0, 0.5), {size / 3, -1}, {-size, 0.1 * size}));
    ASSERT_FALSE(weights.empty());
    EXPECT_THAT(weights,
                ::testing::Each(::testing::Truly([](double x) { return std::isfinite(x); })));
  }
}

TEST(OnnxTest, AsksTheLeafOfASingleTreeForItsLabel) {
  const auto operators = [](LeafKind kind) {
    return Each(
        ValuesOf(GraphOf(OneSplit(ExportedSchema(), NumericSplit(0, 0.5), {1, 0}, {0, 1}, kind)),
                 1),
        4);
  };
  EXPECT_THAT(operators(LeafKind::kProbabilities), Not(Contains("ArgMax")));
  EXPECT_THAT(operators(LeafKind::kWeights), Contains("ArgMax"));
}

}  // namespace
}  // namespace coppice::formats
