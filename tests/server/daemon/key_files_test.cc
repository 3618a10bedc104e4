#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/daemon/config/flags.h"
#include "tests/support/secret_file.h"
#include "tests/support/temp_dir.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class KeyFilesTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name, unsigned mode) const {
    return ::coppice::testing::MakeSecretFile(dir_, name, mode);
  }
  static std::string Warnings(const DaemonFlags& flags) {
    ::testing::internal::CaptureStderr();
    WarnOfOpenKeyFiles(flags, Log(LogLevel::kInfo, /*json=*/false));
    return ::testing::internal::GetCapturedStderr();
  }

  TempDir dir_;
};

TEST_F(KeyFilesTest, EachOpenKeyIsWarnedOfByNameAndNothingOfItIsShown) {
  DaemonFlags flags;
  EXPECT_EQ(Warnings(flags), "") << "no keys in files";
  flags.listen.tls_cert = Make("server.crt", 0644);
  flags.listen.tls_key = Make("server.key", 0600);
  flags.signing.key = Make("signing.pem", 0640);
  EXPECT_EQ(Warnings(flags), "");
  flags.listen.tls_key = Make("server.key", 0644);
  flags.signing.next_key = Make("next.pem", 0604);
  EXPECT_THAT(Warnings(flags),
              AllOf(HasSubstr("warning"), HasSubstr("--tls-key"), HasSubstr("server.key"),
                    HasSubstr("chmod"), HasSubstr("--next-signing-key"), HasSubstr("next.pem"),
                    Not(HasSubstr("signing.pem")), Not(HasSubstr("SECRET"))));
}

}  // namespace
}  // namespace coppice::daemon
