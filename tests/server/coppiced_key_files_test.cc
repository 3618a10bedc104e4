#include "server/coppiced_key_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class KeyFilesTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name, unsigned mode) const {
    const std::string path = dir_.path() + "/" + name;
    std::ofstream(path) << "SECRET";
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    return path;
  }
  static std::string Warnings(const DaemonFlags& flags) {
    ::testing::internal::CaptureStderr();
    WarnOfOpenKeyFiles(flags, Log(LogLevel::kInfo, /*json=*/false));
    return ::testing::internal::GetCapturedStderr();
  }

  TempDir dir_;
};

TEST_F(KeyFilesTest, AFileIsOpenIfOthersThanItsOwnerAndGroupMayReadOrWriteIt) {
  for (const unsigned mode : {0400u, 0600u, 0440u, 0640u, 0660u, 0601u}) {
    EXPECT_FALSE(IsOpenToOthers(Make("file", mode))) << std::oct << mode;
  }
  for (const unsigned mode : {0604u, 0644u, 0602u, 0666u, 0444u}) {
    EXPECT_TRUE(IsOpenToOthers(Make("file", mode))) << std::oct << mode;
  }
  EXPECT_FALSE(IsOpenToOthers(dir_.path() + "/none")) << "whoever opens it says so";
}

TEST_F(KeyFilesTest, EachOpenKeyIsWarnedOfByNameAndNothingOfItIsShown) {
  DaemonFlags flags;
  EXPECT_EQ(Warnings(flags), "") << "no keys in files";
  flags.tls_cert = Make("server.crt", 0644);
  flags.tls_key = Make("server.key", 0600);
  flags.signing_key = Make("signing.pem", 0640);
  EXPECT_EQ(Warnings(flags), "");
  flags.tls_key = Make("server.key", 0644);
  flags.next_signing_key = Make("next.pem", 0604);
  EXPECT_THAT(Warnings(flags),
              AllOf(HasSubstr("warning"), HasSubstr("--tls-key"), HasSubstr("server.key"),
                    HasSubstr("chmod"), HasSubstr("--next-signing-key"), HasSubstr("next.pem"),
                    Not(HasSubstr("signing.pem")), Not(HasSubstr("SECRET"))));
}

}  // namespace
}  // namespace coppice
