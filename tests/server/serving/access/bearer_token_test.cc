#include "server/serving/access/bearer_token.h"

#include <set>

#include "common/base/text.h"
#include "tests/support/status_matchers.h"

namespace coppice::access {
namespace {

using ::testing::MatchesRegex;

TEST(BearerTokenTest, IsAPrefixAnd256BitsInBase64Url) {
  ASSERT_OK_AND_ASSIGN(const std::string token, MakeBearerToken());
  EXPECT_THAT(token, MatchesRegex("coppice_[A-Za-z0-9_-]{43}"));
  std::string secret;
  ASSERT_TRUE(WebSafeBase64Unescape(token.substr(kTokenPrefix.size()), &secret));
  EXPECT_EQ(secret.size(), 32u);
}

TEST(BearerTokenTest, IsAnotherEachTime) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(*MakeBearerToken());
  EXPECT_EQ(tokens.size(), 100u);
}

TEST(BearerTokenTest, HashIsSha256OfTheText) {
  const Sha256Digest hash = HashOfToken("abc");
  EXPECT_EQ(BytesToHexString({reinterpret_cast<const char*>(hash.data()), hash.size()}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace coppice::access
