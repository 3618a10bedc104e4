// `coppice model export` of a file, in each format.

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/wire/model.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Outcome;
using ::coppice::testing::RunCoppice;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    v1::Model model = ToProto(testing::MakeModel());
    model.set_name("models/m1");
    std::string text;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(model, &text).ok());
    std::ofstream(Path("model")) << text;
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  Outcome Export(const std::vector<std::string>& flags) {
    std::vector<std::string> line = {"model", "export", "--file", Path("model")};
    line.insert(line.end(), flags.begin(), flags.end());
    return RunCoppice(line);
  }

  std::string Written(const std::string& name) {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir folder_;
};

TEST_F(ExportTest, WritesEachFormat) {
  for (const std::string format : {"json", "onnx", "c"}) {
    const Outcome outcome = Export({"--format", format, "--output", Path(format), "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json said = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(said["model"], "m1");
    EXPECT_EQ(said["format"], format);
    EXPECT_EQ(said["bytes"], Written(format).size());
  }
  EXPECT_EQ(nlohmann::json::parse(Written("json"))["format"], "coppice.model");
  EXPECT_THAT(Written("c"), StartsWith("/* Model m1, as coppice "));
}

TEST_F(ExportTest, WritesTheMessageThatADeviceReads) {
  const Outcome outcome = Export({"--format", "message", "--output", Path("model.pb")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  v1::Model model;
  ASSERT_TRUE(model.ParseFromString(Written("model.pb")));
  EXPECT_EQ(model.name(), "models/m1");
  EXPECT_EQ(ReadModel(Written("model.pb")).value(), testing::MakeModel());
}

TEST_F(ExportTest, WithoutAFormatWritesTheFileThatEveryCommandReads) {
  const Outcome outcome = Export({"--output", Path("copy")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(Written("copy"), HasSubstr("\"name\": \"models/m1\""));
  EXPECT_EQ(RunCoppice({"model", "show", "--file", Path("copy")}).code, 0);
}

TEST_F(ExportTest, ReplacesAFileOnlyWhenToldTo) {
  EXPECT_EQ(Export({"--format", "c", "--output", Path("m.h")}).code, 0);
  EXPECT_NE(Export({"--format", "json", "--output", Path("m.h")}).code, 0);
  EXPECT_THAT(Written("m.h"), StartsWith("/* Model"));
  EXPECT_EQ(Export({"--format", "json", "--output", Path("m.h"), "--force"}).code, 0);
  EXPECT_THAT(Written("m.h"), StartsWith("{"));
}

TEST_F(ExportTest, SaysWhyAFormatIsRefusedAndWritesNothing) {
  v1::Model model;
  const std::string text = Written("model");
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &model).ok());
  model.set_leaf_kind(v1::LEAF_KIND_WEIGHTS);
  std::string weights;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(model, &weights).ok());
  std::ofstream(Path("model")) << weights;
  const Outcome outcome = Export({"--format", "xgboost", "--output", Path("m.json")});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("export it as onnx, c or json"));
  EXPECT_EQ(Written("m.json"), "");
}

TEST_F(ExportTest, RefusesOtherFormats) {
  const Outcome outcome = Export({"--format", "pmml", "--output", Path("m")});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("--format"));
}

}  // namespace
}  // namespace coppice::cli
