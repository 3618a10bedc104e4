// The relay's calls over a real connection.

#include "server/relay/dealing/curator_calls.h"

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/client/device/certificates.h"
#include "tests/server/relay/dealing/relay_fixture.h"

namespace coppice::relay::testing {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// Remembers the token of the last call.
class TokenOffers final : public v1::StudyService::Service {
 public:
  grpc::Status GetOffer(grpc::ServerContext* context, const v1::GetOfferRequest*,
                        v1::GetOfferResponse*) override {
    const auto found = context->client_metadata().find("authorization");
    token = found == context->client_metadata().end()
                ? ""
                : std::string(found->second.data(), found->second.size());
    return grpc::Status::OK;
  }
  std::string token;
};

class CuratorCallsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = dir_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  TempDir dir_;
};

TEST_F(CuratorCallsTest, ATokenIsReplacedWithoutARestart) {
  const coppice::testing::Certificate certificate = coppice::testing::MakeCertificate();
  TokenOffers offers;
  int port = 0;
  grpc::ServerBuilder builder;
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs = {{certificate.key_pem, certificate.certificate_pem}};
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port);
  builder.RegisterService(&offers);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::string token = Write("token", "first\n");
  ASSERT_OK_AND_ASSIGN(const auto calls,
                       MakeCuratorCalls({.server = StrCat("127.0.0.1:", port),
                                         .ca_file = Write("ca.pem", certificate.certificate_pem),
                                         .token_file = token},
                                        absl::Seconds(20)));
  ASSERT_OK(calls->GetOffer({}));
  EXPECT_EQ(offers.token, "Bearer first");
  Write("token", "second\n");
  ASSERT_OK(calls->GetOffer({}));
  EXPECT_EQ(offers.token, "Bearer second");
  Write("token", "");
  EXPECT_THAT(calls->GetOffer({}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("token")));
}

TEST_F(CuratorCallsTest, InvalidFilesAreErrorsAtOnce) {
  EXPECT_THAT(MakeCuratorCalls({.server = "localhost:1", .token_file = dir_.path() + "/none"},
                               absl::Seconds(1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("none")));
  EXPECT_THAT(MakeCuratorCalls({.server = "example.com:1", .insecure = true}, absl::Seconds(1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("loopback")));
}

TEST_F(CuratorCallsTest, ACuratorThatComesBackIsFound) {
  auto curator = std::make_unique<FakeCurator>();
  const std::string address = curator->address();
  ASSERT_OK_AND_ASSIGN(const auto calls,
                       MakeCuratorCalls({.server = address, .insecure = true}, absl::Seconds(20)));
  v1::GetOfferRequest request;
  request.set_tickets(1);
  ASSERT_OK(calls->GetOffer(request));
  curator->server->Shutdown();
  EXPECT_THAT(calls->GetOffer(request), StatusIs(StatusCode::kUnavailable, HasSubstr("")));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  FakeOffers offers;
  builder.RegisterService(&offers);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  Status asked = calls->GetOffer(request).status();
  for (int i = 0; i < 5 && !asked.ok(); ++i) asked = calls->GetOffer(request).status();
  EXPECT_OK(asked);
}

TEST_F(CuratorCallsTest, EachCallIsTriedOnceAndThePushbackIsKept) {
  FakeCurator curator;
  curator.offers.failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "busy"};
  curator.offers.pushback = "1500";
  ASSERT_OK_AND_ASSIGN(
      const auto calls,
      MakeCuratorCalls({.server = curator.address(), .insecure = true}, absl::Seconds(20)));
  const Status busy = calls->GetOffer({}).status();
  EXPECT_EQ(curator.offers.calls, 1);
  EXPECT_EQ(AskedToWait(busy), absl::Milliseconds(1500));
}

TEST_F(CuratorCallsTest, CancelEndsACallAndAllLaterOnes) {
  FakeCurator curator;
  std::promise<void> asked, go_on;
  curator.offers.tamper = [&, waits = go_on.get_future().share()](v1::GetOfferResponse&) {
    asked.set_value();
    waits.wait();
  };
  ASSERT_OK_AND_ASSIGN(
      const auto calls,
      MakeCuratorCalls({.server = curator.address(), .insecure = true}, absl::Hours(1)));
  std::thread canceller([&] {
    asked.get_future().wait();
    calls->Cancel();
  });
  EXPECT_FALSE(calls->GetOffer({}).ok()) << "the curator has not answered";
  canceller.join();
  go_on.set_value();
  EXPECT_FALSE(calls->GetOffer({}).ok());
}

}  // namespace
}  // namespace coppice::relay::testing
