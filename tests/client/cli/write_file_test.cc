#include "client/cli/terminal/write_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t FilesIn(const TempDir& dir) {
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path()))
    ++files;
  return files;
}

TEST(WriteFileTest, WritesAndLeavesNothingElse) {
  const TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.path() + "/out", "text", /*replace=*/false));
  EXPECT_EQ(ReadFile(dir.path() + "/out"), "text");
  EXPECT_EQ(FilesIn(dir), 1);
}

TEST(WriteFileTest, ReplacesOnlyWhenToldTo) {
  const TempDir dir;
  const std::string path = dir.path() + "/out";
  ASSERT_OK(WriteFileAtomically(path, "old", /*replace=*/false));
  EXPECT_THAT(WriteFileAtomically(path, "new", /*replace=*/false),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("--force")));
  EXPECT_EQ(ReadFile(path), "old");
  ASSERT_OK(WriteFileAtomically(path, "new", /*replace=*/true));
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_EQ(FilesIn(dir), 1);
}

TEST(WriteFileTest, SecretsAreForTheOwnerAloneWhateverTheMaskAllows) {
  const TempDir dir;
  const mode_t mask = umask(0);
  const absl::Status open = WriteFileAtomically(dir.path() + "/open", "text", /*replace=*/false);
  const absl::Status secret = WriteSecretAtomically(dir.path() + "/secret", "text", false);
  umask(mask);
  ASSERT_OK(open);
  ASSERT_OK(secret);
  const auto mode = [&](const char* name) {
    return std::filesystem::status(dir.path() + name).permissions();
  };
  EXPECT_EQ(mode("/open"), static_cast<std::filesystem::perms>(0666));
  EXPECT_EQ(mode("/secret"), static_cast<std::filesystem::perms>(0600));
}

TEST(WriteFileTest, FolderThatIsNotThereIsNamed) {
  const TempDir dir;
  EXPECT_THAT(WriteFileAtomically(dir.path() + "/none/out", "text", false),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("none/out")));
}

}  // namespace
}  // namespace coppice::cli
