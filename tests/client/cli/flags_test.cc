#include "client/cli/terminal/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/cli/run_coppice.h"
#include "tests/support/secret_file.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Outcome;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OpenFilesTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name, unsigned mode) const {
    return testing::MakeSecretFile(dir_, name, mode);
  }
  // Of a verb that cannot reach its server.
  static Outcome Run(const std::vector<std::string>& flags) {
    std::vector<std::string> line = {"study",       "list",      "--server",
                                     "127.0.0.1:1", "--timeout", "0.1"};
    line.insert(line.end(), flags.begin(), flags.end());
    return testing::RunCoppice(line);
  }

  testing::TempDir dir_;
};

TEST_F(OpenFilesTest, ATokenThatEverybodyMayReadIsWarnedOfAndNotShown) {
  const std::string token = Make("token", 0644);
  const Outcome open = Run({"--token-file", token});
  EXPECT_EQ(open.code, 1);
  EXPECT_THAT(open.err, AllOf(HasSubstr("warning"), HasSubstr("--token-file"), HasSubstr(token),
                              HasSubstr("chmod"), Not(HasSubstr("SECRET"))));
  EXPECT_EQ(open.out, "");
  EXPECT_THAT(Run({"--token-file", Make("token", 0640)}).err, Not(HasSubstr("warning")));
}

TEST_F(OpenFilesTest, SoIsAPrivateKeyAndACertificateIsNot) {
  const std::string cert = Make("device.crt", 0644), key = Make("device.key", 0604);
  EXPECT_THAT(Run({"--cert", cert, "--key", key}).err,
              AllOf(HasSubstr("warning"), HasSubstr(key + " (--key)"), Not(HasSubstr("(--cert)"))));
  EXPECT_THAT(Run({"--cert", cert, "--key", Make("device.key", 0600)}).err,
              Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace coppice::cli
