#include <gmock/gmock.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "coppice/v1/admin.grpc.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "tests/client/cli/run_coppice.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Outcome;
using ::coppice::testing::RunCoppice;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

TEST(HealthProtocolTest, TheRequestIsTheOneOfTheProtocol) {
  HealthCheckRequest request;
  EXPECT_EQ(request.SerializeAsString(), "");
  request.set_service("ready");
  EXPECT_EQ(request.SerializeAsString(), "\x0a\x05ready");
}

TEST(HealthProtocolTest, OnlyServingIsServing) {
  HealthCheckResponse response;
  EXPECT_TRUE(response.ParseFromString("\x08\x01"));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_TRUE(response.ParseFromString("\x08\x02"));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(response.ParseFromString(""));
  EXPECT_EQ(response.status(), HealthCheckResponse::UNKNOWN);
  for (const char* odd : {"\x08", "\x08\x01\x01", "\x0a\x01", "SERVING"}) {
    EXPECT_FALSE(response.ParseFromString(odd)) << odd;
  }
}

// A server with gRPC's own health service.
class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    grpc::EnableDefaultHealthCheckService(true);
    server_ = grpc::ServerBuilder()
                  .AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_)
                  .RegisterService(&any_)  // gRPC requires a service in addition to health
                  .BuildAndStart();
  }
  ~HealthTest() override { grpc::EnableDefaultHealthCheckService(false); }

  grpc::HealthCheckServiceInterface& health() { return *server_->GetHealthCheckService(); }
  Outcome Run(const std::vector<std::string>& flags) const {
    std::vector<std::string> line = {"health", "--insecure", "--json", "--server",
                                     StrCat("127.0.0.1:", port_)};
    line.insert(line.end(), flags.begin(), flags.end());
    return RunCoppice(line);
  }

  int port_ = 0;
  v1::AdminService::Service any_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(HealthTest, SucceedsIfTheDaemonIsReady) {
  health().SetServingStatus("ready", true);
  const Outcome ready = Run({});
  EXPECT_EQ(ready.code, 0) << ready.err;
  EXPECT_EQ(ready.out, "{\"service\":\"ready\",\"serving\":true}\n");
}

TEST_F(HealthTest, FailsUnlessTheDaemonIsReady) {
  const Outcome unknown = Run({});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.out,
            "{\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"service name unknown\"}}\n");
  health().SetServingStatus("ready", false);
  const Outcome not_ready = Run({});
  EXPECT_EQ(not_ready.code, 1);
  EXPECT_EQ(not_ready.out, "{\"service\":\"ready\",\"serving\":false}\n");
  EXPECT_THAT(not_ready.err, HasSubstr("is not ready"));
}

TEST_F(HealthTest, AliveAsksForTheServerAsAWhole) {
  health().SetServingStatus("ready", false);
  const Outcome alive = Run({"--alive"});
  EXPECT_EQ(alive.code, 0) << alive.err;
  EXPECT_EQ(alive.out, "{\"service\":\"\",\"serving\":true}\n");
}

}  // namespace
}  // namespace coppice::cli
