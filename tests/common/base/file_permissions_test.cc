#include "common/base/file_permissions.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

TEST(IsOpenToOthersTest, IsTrueIfOthersThanOwnerAndGroupMayReadOrWrite) {
  const testing::TempDir dir;
  const std::string file = dir.path() + "/file";
  std::ofstream(file) << "SECRET";
  const auto is_open_with = [&](unsigned mode) {
    std::filesystem::permissions(file, static_cast<std::filesystem::perms>(mode));
    return IsWorldAccessible(file);
  };
  for (const unsigned mode : {0400u, 0600u, 0440u, 0640u, 0660u, 0601u}) {
    EXPECT_FALSE(is_open_with(mode)) << std::oct << mode;
  }
  for (const unsigned mode : {0604u, 0644u, 0602u, 0666u, 0444u}) {
    EXPECT_TRUE(is_open_with(mode)) << std::oct << mode;
  }
  EXPECT_FALSE(IsWorldAccessible(dir.path() + "/none"));
}

}  // namespace
}  // namespace coppice
