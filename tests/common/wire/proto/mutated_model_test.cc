// Hostile model files: thousands of mutations of valid ones. Each is refused with InvalidArgument,
// or is a model that predicts, explains and renders without fault, and survives a round trip.

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/explain.h"
#include "common/model/render.h"
#include "common/model/summary.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_signature.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::MakeModel;
using ::coppice::testing::MakeTree;

// A model of scores, with derived features, and a number to predict.
Model MakeNumberModel() {
  Feature a, b;
  a.name = "a";
  b.name = "b";
  a.max = b.max = 10;
  const Schema schema = *Schema::CreateRegression({a, b}, "y", {.min = -1, .max = 1});
  const std::vector<DerivedFeature> derived = {{{.feature = 0}, {.feature = 1, .minus = true}}};
  const Tree tree = *Tree::Create(
      {{.kind = SplitKind::kNumeric, .feature = 2, .threshold = 0.25, .left = 1, .right = 2},
       {},
       {}},
      *ExtendSchema(schema, derived));
  const std::vector<LeafPrediction> leaves = {{.probabilities = {0, 0.25}, .source_node = 1},
                                              {.probabilities = {0, 0.75}, .source_node = 0}};
  return *Model::Create(schema, {tree, tree}, {leaves, leaves}, Certificate(), LeafKind::kScores,
                        derived);
}

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  // Flips, changes, inserts, removes, repeats and cuts off bytes.
  std::string Mutate(std::string bytes) {
    for (size_t changes = 1 + Below(4); changes > 0; --changes) {
      const size_t at = Below(bytes.size() + 1);
      switch (Below(6)) {
        case 0:
          if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
          break;
        case 1:
          if (at < bytes.size()) bytes[at] = static_cast<char>(Below(256));
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(Below(256)));
          break;
        case 3:
          bytes.erase(at, 1 + Below(8));
          break;
        case 4:
          bytes.insert(at, bytes.substr(Below(bytes.size() + 1), Below(64)));
          break;
        default:
          // Writes an eight-byte number that is extreme or not a number.
          if (at + 8 <= bytes.size()) {
            static const double kExtremes[] = {NAN, INFINITY, -INFINITY, 1e308, -1e9, 5e-324, 0.5};
            const double number = kExtremes[Below(7)];
            bytes.replace(at, 8, reinterpret_cast<const char*>(&number), 8);
          }
      }
    }
    return bytes;
  }

  Row RandomRow(const Schema& schema) {
    Row row;
    for (const Feature& f : schema.features()) {
      const size_t kind = Below(4);
      if (kind == 0) {
        row.push_back(kMissingValue);
      } else if (f.type == FeatureType::kCategorical) {
        row.push_back(static_cast<double>(Below(f.values.size() + 1)));
      } else {
        row.push_back(kind == 1 ? f.min : kind == 2 ? f.max : f.min + (f.max - f.min) / 2);
      }
    }
    return row;
  }

  size_t Below(size_t n) { return random_() % n; }

 private:
  std::mt19937 random_;
};

void CheckPredicts(const Model& model, Mutator& mutator) {
  for (int i = 0; i < 4; ++i) {
    const Row row = mutator.RandomRow(model.schema());
    ASSERT_OK(model.schema().Validate(row));
    const Prediction prediction = model.Predict(row);
    ASSERT_LT(prediction.label, model.schema().num_outputs());
    double sum = 0;
    for (const double p : prediction.probabilities) {
      ASSERT_TRUE(p >= 0 && p <= 1) << p;
      sum += p;
    }
    ASSERT_NEAR(sum, 1, 1e-6);
    ASSERT_TRUE(prediction.standard_error >= 0) << prediction.standard_error;
    ASSERT_TRUE(std::isfinite(prediction.value));
    const double confidence = Confidence(prediction);
    ASSERT_TRUE(confidence >= 0.5 && confidence <= 1) << confidence;
    ASSERT_EQ(Explain(model, row).trees.size(), model.forest().size());
  }
  ASSERT_OK(Render(model, 0, RenderFormat::kText).status());
  ASSERT_FALSE(RenderSummary(model).empty());
  for (const Importance& one : Summarize(model).importances) {
    ASSERT_TRUE(one.importance >= 0 && one.importance <= 1 + 1e-9) << one.importance;
    ASSERT_TRUE(!one.standard_error || *one.standard_error >= 0) << *one.standard_error;
  }
  ASSERT_OK(ParseModel(ToProto(model)).status());
}

TEST(MutatedModelTest, IsRefusedOrPredictsWithoutFault) {
  const google::protobuf::LogSilencer quiet;  // silences warnings on strings that are not UTF-8
  Mutator mutator(20'240'601);
  size_t accepted = 0, refused = 0, no_message = 0;
  for (const Model& model : {MakeModel(), MakeNumberModel()}) {
    const std::string valid = ToProto(model).SerializeAsString();
    for (int i = 0; i < 10'000; ++i) {
      v1::Model proto;
      if (!proto.ParseFromString(mutator.Mutate(valid))) {
        ++no_message;
        continue;
      }
      const StatusOr<Model> read = ParseModel(proto);
      if (read.ok()) {
        ++accepted;
        CheckPredicts(*read, mutator);
        if (::testing::Test::HasFatalFailure()) FAIL() << "mutation " << i;
      } else {
        ++refused;
        ASSERT_EQ(read.status().code(), StatusCode::kInvalidArgument) << read.status();
        ASSERT_FALSE(read.status().message().empty());
      }
    }
  }
  // The mutations reach everything: the parser, the checks, and predictions.
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(refused, 500u);
  EXPECT_GT(no_message, 500u);
}

// If a signature checks, the model is the one that was signed, whatever happened to its bytes.
TEST(MutatedModelTest, WhatChecksIsWhatWasSigned) {
  const google::protobuf::LogSilencer quiet;
  const SigningKey key = *SigningKey::FromSeed({7});
  Mutator mutator(20'240'602);
  size_t checked = 0, changed = 0;
  for (const Model& model : {MakeModel(), MakeNumberModel()}) {
    v1::Model original = ToProto(model);
    original.set_name("models/m");
    original.set_study("studies/s");
    *original.mutable_signature() =
        ToProto(ModelSignature{.signature = *key.Sign(kModelDomain, *SignedModelBytes(original)),
                               .key = key.public_key()});
    const std::string valid = original.SerializeAsString();
    for (int i = 0; i < 5'000; ++i) {
      v1::Model proto;
      if (!proto.ParseFromString(mutator.Mutate(valid))) continue;
      if (!CheckModelSignature(proto, key.public_key(), 0).ok()) {
        ++changed;
        continue;
      }
      ++checked;
      if (!CheckReadable(proto).ok()) continue;  // so it is not signed
      ASSERT_OK_AND_ASSIGN(const Model read, ParseModel(proto));
      ASSERT_EQ(read, model) << i;
      ASSERT_EQ(proto.name() + proto.study() + proto.job(), "models/mstudies/s") << i;
    }
  }
  EXPECT_GT(checked, 10u);
  EXPECT_GT(changed, 1000u);
}

}  // namespace
}  // namespace coppice
