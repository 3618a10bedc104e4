#include "common/base/write_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
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

TEST(WriteFileTest, WritesTheFileAndLeavesNoOther) {
  const TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.path() + "/out", "text", {.replace = false}));
  EXPECT_EQ(ReadFile(dir.path() + "/out"), "text");
  EXPECT_EQ(FilesIn(dir), 1);
}

TEST(WriteFileTest, ReplacesOnlyWhenToldTo) {
  const TempDir dir;
  const std::string path = dir.path() + "/out";
  ASSERT_OK(WriteFileAtomically(path, "old", {.replace = false}));
  EXPECT_THAT(WriteFileAtomically(path, "new", {.replace = false}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr(path)));
  EXPECT_EQ(ReadFile(path), "old");
  ASSERT_OK(WriteFileAtomically(path, "new", {.replace = true}));
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_EQ(FilesIn(dir), 1);
}

TEST(WriteFileTest, SecretsAreForTheOwnerAloneWhateverTheMaskAllows) {
  const TempDir dir;
  const mode_t mask = umask(0);
  const Status open = WriteFileAtomically(dir.path() + "/open", "text", {.replace = false});
  const Status secret =
      WriteFileAtomically(dir.path() + "/secret", "text", {.mode = kSecretFileMode});
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
  EXPECT_THAT(WriteFileAtomically(dir.path() + "/none/out", "text"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("none/out")));
}

TEST(WriteFileTest, TheModeIsTheOneAskedForWhateverTheMask) {
  const TempDir dir;
  const mode_t mask = umask(0077);
  const Status shared = WriteFileAtomically(dir.path() + "/shared", "text", {.mode = 0644});
  const Status masked = WriteFileAtomically(dir.path() + "/masked", "text");
  umask(mask);
  ASSERT_OK(shared);
  ASSERT_OK(masked);
  const auto mode = [&](const char* name) {
    return std::filesystem::status(dir.path() + name).permissions();
  };
  EXPECT_EQ(mode("/shared"), static_cast<std::filesystem::perms>(0644));
  EXPECT_EQ(mode("/masked"), static_cast<std::filesystem::perms>(0600));
}

TEST(WriteFileTest, AFileInTheWorkingDirectoryNeedsNoFolder) {
  const TempDir dir;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const Status written = WriteFileAtomically("out", "text");
  std::filesystem::current_path(before);
  ASSERT_OK(written);
  EXPECT_EQ(ReadFile(dir.path() + "/out"), "text");
}

TEST(WriteFileTest, AFolderIsNotReplaced) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path() + "/out");
  EXPECT_THAT(WriteFileAtomically(dir.path() + "/out", "text", {.replace = true}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("/out")));
  EXPECT_EQ(FilesIn(dir), 1);
}

}  // namespace
}  // namespace coppice
