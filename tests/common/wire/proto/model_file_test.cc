#include "common/wire/proto/model_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

TEST(ModelFileTest, IsReadBackAsItWasWritten) {
  const TempDir folder;
  const std::string path = folder.path() + "/model.json";
  v1::Model model;
  model.set_name("models/first");
  model.mutable_certificate()->set_epsilon_nanos(1'500'000'000);
  ASSERT_OK_AND_ASSIGN(const std::string text, ModelFileText(model));
  std::ofstream(path) << text;
  ASSERT_OK_AND_ASSIGN(const v1::Model read, ReadModelFile(path));
  EXPECT_EQ(read.SerializeAsString(), model.SerializeAsString());
}

TEST(ModelFileTest, AByteOrderMarkIsSkipped) {
  const TempDir folder;
  const std::string path = folder.path() + "/model.json";
  v1::Model model;
  model.set_name("models/first");
  ASSERT_OK_AND_ASSIGN(const std::string text, ModelFileText(model));
  std::ofstream(path) << "\xEF\xBB\xBF" << text;
  ASSERT_OK_AND_ASSIGN(const v1::Model read, ReadModelFile(path));
  EXPECT_EQ(read.name(), "models/first");
}

TEST(ModelFileTest, IsNamedWhereItIsNoModel) {
  const TempDir folder;
  const std::string path = folder.path() + "/model.json";
  EXPECT_THAT(ReadModelFile(path), StatusIs(StatusCode::kNotFound, HasSubstr(path)));
  EXPECT_THAT(ReadModelFile("/dev/zero", 3 << 20),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than")));
  std::ofstream(path) << "{\"certificate\":";
  EXPECT_THAT(ReadModelFile(path),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is no model")));
}

}  // namespace
}  // namespace coppice
