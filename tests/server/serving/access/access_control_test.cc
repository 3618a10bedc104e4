#include "server/serving/access/access_control.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/serving/access/bearer_token.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::access {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

constexpr char kCreate[] = "/coppice.v1.StudyService/CreateStudy";

std::string Entry(const std::string& token) {
  const Sha256Digest hash = HashOfToken(token);
  return StrCat(R"({"name":"n","role":"admin","sha256":")",
                BytesToHexString({reinterpret_cast<const char*>(hash.data()), hash.size()}), "\"}");
}

class AccessControlTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) const { std::ofstream(path_) << text; }
  void WriteToken(const std::string& token) const {
    Write(StrCat("{\"tokens\":[", Entry(token), "]}"));
  }
  static bool Allows(const AccessControl& access, const std::string& token) {
    return access.policy()
        ->Check(kCreate, {.authorization = "Bearer " + token}, absl::UnixEpoch())
        .ok();
  }

  const TempDir folder_;
  const std::string path_ = folder_.path() + "/policy.json";
};

TEST_F(AccessControlTest, ReloadingPutsTheNewPolicyInPlaceOfTheOld) {
  WriteToken("old");
  ASSERT_OK_AND_ASSIGN(const auto access, AccessControl::Open(path_, true));
  EXPECT_TRUE(Allows(*access, "old"));
  WriteToken("new");
  EXPECT_FALSE(Allows(*access, "new"));
  ASSERT_OK(access->ReloadPolicy());
  EXPECT_TRUE(Allows(*access, "new"));
  EXPECT_FALSE(Allows(*access, "old"));
}

TEST_F(AccessControlTest, ABrokenFileLeavesTheOldPolicy) {
  WriteToken("old");
  ASSERT_OK_AND_ASSIGN(const auto access, AccessControl::Open(path_, true));
  Write("{");
  EXPECT_THAT(access->ReloadPolicy(), StatusIs(StatusCode::kInvalidArgument, HasSubstr(path_)));
  EXPECT_TRUE(Allows(*access, "old"));
}

TEST_F(AccessControlTest, CertificatesNeedThatTheyAreAskedFor) {
  Write(StrCat("{\"certificates\":[", Entry("c"), "]}"));
  EXPECT_OK(AccessControl::Open(path_, true));
  EXPECT_THAT(AccessControl::Open(path_, false),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--client-ca")));
}

TEST_F(AccessControlTest, CallsGoOnWhileItIsReloaded) {
  WriteToken("always");
  ASSERT_OK_AND_ASSIGN(const auto access, AccessControl::Open(path_, true));
  std::atomic<bool> stop = false;
  std::atomic<int> refused = 0;
  std::thread caller([&] {
    while (!stop) refused += Allows(*access, "always") ? 0 : 1;
  });
  for (int i = 0; i < 200; ++i) EXPECT_OK(access->ReloadPolicy());
  stop = true;
  caller.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace coppice::access
