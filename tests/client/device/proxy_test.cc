#include "client/device/grpc/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace coppice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The environment has the variables that a test sets, and no other of a proxy.
class ProxyTest : public ::testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }

  static std::optional<Proxy> For(const std::string& server) {
    return ProxyFor(*ParseServerAddress(server));
  }
  static void Set(const char* variable, const std::string& value) {
    setenv(variable, value.c_str(), 1);
  }

 private:
  static void Clear() {
    for (const char* name :
         {"grpc_proxy", "https_proxy", "http_proxy", "no_grpc_proxy", "no_proxy"}) {
      unsetenv(name);
    }
  }
};

TEST_F(ProxyTest, TheFirstVariableThatIsSetNamesIt) {
  EXPECT_FALSE(For("host:1").has_value());
  Set("http_proxy", "http://third:3");
  EXPECT_EQ(For("host:1")->Shown(), "the proxy third:3 (http_proxy)");
  Set("https_proxy", "http://second:2/");
  EXPECT_EQ(For("host:1")->Shown(), "the proxy second:2 (https_proxy)");
  Set("grpc_proxy", "http://first:1");
  EXPECT_EQ(For("host:1")->Shown(), "the proxy first:1 (grpc_proxy)");
  Set("grpc_proxy", "");
  EXPECT_FALSE(For("host:1").has_value()) << "an empty variable means none";
}

TEST_F(ProxyTest, HostsAreExcepted) {
  Set("https_proxy", "http://proxy:3128");
  const std::pair<std::string, bool> lists[] = {{"*", true},
                                                {" * ", true},
                                                {"curator.example", true},
                                                {"other, curator.example", true},
                                                {".example", true},
                                                {"*.example", true},
                                                {"CURATOR.example", true},
                                                {"", false},
                                                {",", false},
                                                {"curator.example.org", false},
                                                {"other", false}};
  for (const auto& [list, excepted] : lists) {
    Set("no_proxy", list);
    EXPECT_EQ(For("curator.example:8443").has_value(), !excepted) << '"' << list << '"';
  }
  Set("no_proxy", "*");
  Set("no_grpc_proxy", "other");
  EXPECT_TRUE(For("curator.example:8443").has_value()) << "no_grpc_proxy comes first";
}

TEST_F(ProxyTest, ThisMachineIsReachedDirectly) {
  Set("https_proxy", "http://proxy:3128");
  for (const char* server : {"localhost:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1"}) {
    EXPECT_FALSE(For(server).has_value()) << server;
  }
  EXPECT_TRUE(For("[2001:db8::1]:1").has_value());
}

TEST_F(ProxyTest, CredentialsAreSentAndNotShown) {
  Set("https_proxy", "http://ann:p%40ss@proxy:3128");
  const std::optional<Proxy> proxy = For("host:1");
  ASSERT_TRUE(proxy.has_value());
  EXPECT_EQ(proxy->authorization, "Basic YW5uOnBAc3M=");
  EXPECT_EQ(proxy->url, "http://ann:p%40ss@proxy:3128");
  EXPECT_EQ(proxy->Shown(), "the proxy proxy:3128 (https_proxy)");
  EXPECT_THAT(ProxyAdvice(*proxy, {.host = "host", .port = 1}), Not(HasSubstr("ss")));
}

TEST_F(ProxyTest, TheSchemeAndThePortMayBeLeftOut) {
  Set("https_proxy", "proxy:3128");
  EXPECT_EQ(For("host:1")->url, "http://proxy:3128");
  Set("https_proxy", "http://proxy");
  EXPECT_EQ(For("host:1")->url, "http://proxy:80");
  Set("https_proxy", "http://[2001:db8::1]:3128");
  EXPECT_EQ(For("host:1")->address.host, "2001:db8::1");
}

TEST_F(ProxyTest, OtherKindsOfProxiesAreNotAsked) {
  for (const char* url : {"https://proxy:3128", "socks5://proxy:1080", "http://", "http://a:b:c"}) {
    Set("https_proxy", url);
    EXPECT_FALSE(For("host:1").has_value()) << url;
  }
}

}  // namespace
}  // namespace coppice
