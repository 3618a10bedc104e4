// Today's program reads model files: they predict as they did when they were made, and their
// signers can still be verified. Also tests what a later format may bring.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/describe/verdict.h"
#include "common/table/read_table.h"
#include "common/terms/public_key_file.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_file.h"
#include "nlohmann/json.hpp"
#include "tests/integration/process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::SourcePath;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Kind {
  const char* file;
  LeafKind leaves;
};
constexpr Kind kKinds[] = {{"probabilities", LeafKind::kProbabilities},
                           {"additive", LeafKind::kAdditive},
                           {"weights", LeafKind::kWeights},
                           {"scores", LeafKind::kScores},
                           {"derived", LeafKind::kScores}};

std::string FixturePath(const std::string& file) { return SourcePath("tests/upgrade/" + file); }

Json ReadJson(const std::string& path) {
  std::ifstream stream(path);
  return Json::parse(stream);
}

Table ReadRows(const Model& model) {
  return ReadTable(FixturePath("1/public.csv"), std::make_shared<const Schema>(model.schema()))
      ->table;
}

// Expects `model` to predict the rows of 1/public.csv as the file of predictions says.
void ExpectPredictions(const Model& model, const std::string& path) {
  const Table rows = ReadRows(model);
  std::ifstream stream(path);
  size_t row = 0;
  for (std::string line; std::getline(stream, line); ++row) {
    const Json before = Json::parse(line);
    const Prediction now = model.Predict(rows.row(row));
    EXPECT_EQ(model.schema().classes()[now.label], before["label"]) << path << row;
    EXPECT_NEAR(now.probabilities[now.label], before["probability"], 1e-12) << path << row;
    EXPECT_NEAR(now.low, before["low"], 1e-12) << path << row;
    EXPECT_NEAR(now.high, before["high"], 1e-12) << path << row;
  }
  EXPECT_EQ(row, rows.num_rows()) << path;
}

class ModelFilesTest : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string Stem(const Kind& kind) {
    return FixturePath(std::string(GetParam()) + "/models/" + kind.file);
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, ModelFilesTest, ::testing::Values("1"));

TEST_P(ModelFilesTest, EveryKindOfLeafPredictsAsBefore) {
  for (const Kind& kind : kKinds) {
    ASSERT_OK_AND_ASSIGN(const v1::Model proto, ReadModelFile(Stem(kind) + ".json"));
    EXPECT_EQ(std::to_string(proto.version()), GetParam());
    EXPECT_LE(proto.min_reader(), proto.version());
    ASSERT_OK_AND_ASSIGN(const Model model, FromProto(proto));
    EXPECT_EQ(model.leaf_kind(), kind.leaves);
    EXPECT_EQ(model.derived().empty(), std::string("derived") != kind.file);
    ExpectPredictions(model, Stem(kind) + ".predictions.jsonl");
  }
}

TEST_P(ModelFilesTest, WhoSignedItIsSeen) {
  const PublicKey curator = *ReadPublicKey(FixturePath("1/models/curator.pem"));
  for (const Kind& kind : kKinds) {
    ASSERT_OK_AND_ASSIGN(v1::Model model, ReadModelFile(Stem(kind) + ".json"));
    const Verdict verdict = VerifyModel(model);
    EXPECT_OK(verdict.status);
    EXPECT_EQ(verdict.json["signature"], "unpinned");
    EXPECT_OK(VerifyModel(model, curator).status);
    double& number = (*model.mutable_predictions(0)->mutable_leaves(0)->mutable_probabilities())[0];
    number = number / 2;
    EXPECT_EQ(VerifyModel(model).json["signature"], "invalid") << kind.file;
  }
}

// A file of format 1, as a later program might have written it.
class LaterFormatTest : public ::testing::Test {
 protected:
  std::string Write(const Json& model) const {
    const std::string path = folder_.path() + "/model.json";
    std::ofstream(path) << model;
    return path;
  }

  const TempDir folder_;
  Json model_ = ReadJson(FixturePath("1/models/scores.json"));
};

TEST_F(LaterFormatTest, WhatIsNewIsPassedOver) {
  model_["version"] = 9;
  model_["new_field"] = {{"x", 1}};
  model_["certificate"]["releases"][0]["new_field"] = "x";
  model_["predictions"][0]["leaves"][0]["new_field"] = Json::array({1, 2});
  ASSERT_OK_AND_ASSIGN(const v1::Model proto, ReadModelFile(Write(model_)));
  ASSERT_OK_AND_ASSIGN(const Model model, FromProto(proto));
  ExpectPredictions(model, FixturePath("1/models/scores.predictions.jsonl"));
}

TEST_F(LaterFormatTest, AFileThatWouldBeMisreadIsRefused) {
  model_["version"] = model_["min_reader"] = 9;
  model_["certificate"]["code_version"] = "4.2.0";
  ASSERT_OK_AND_ASSIGN(const v1::Model proto, ReadModelFile(Write(model_)));
  EXPECT_THAT(FromProto(proto),
              StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("reader of format 9"),
                                                           HasSubstr("upgrade Coppice to 4.2.0"))));
}

TEST_F(LaterFormatTest, ASignatureOfWhatIsUnknownIsNotCalledForged) {
  model_["version"] = 9;
  model_["name"] = "models/other";  // stands for a field that this program does not know
  ASSERT_OK_AND_ASSIGN(const v1::Model proto, ReadModelFile(Write(model_)));
  const Verdict verdict = VerifyModel(proto);
  EXPECT_EQ(verdict.json["signature"], "unknown");
  EXPECT_THAT(verdict.status,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("upgrade Coppice")));
}

TEST_F(LaterFormatTest, AnUnknownNameInThisFormatIsAMistake) {
  model_["new_field"] = 1;
  EXPECT_THAT(ReadModelFile(Write(model_)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("new_field")));
}

}  // namespace
}  // namespace coppice
