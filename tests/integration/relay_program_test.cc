// A real coppice-relay between a curator in this process and devices that the test plays: what it
// refuses to start with, what it reloads, how it stops, and what it leaves behind.

#include "tests/integration/relay_program.h"

#include <gmock/gmock.h>
#include <grpcpp/impl/client_unary_call.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "common/base/text.h"
#include "common/wire/calls.h"
#include "coppice/v1/relay.grpc.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "tests/integration/http_page.h"
#include "tests/integration/own_addresses.h"
#include "tests/server/relay/dealing/relay_fixture.h"
#include "tests/support/http_client.h"

namespace coppice::relay::testing {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::GetPage;
using ::coppice::testing::HttpClient;
using ::coppice::testing::HttpResponse;
using ::coppice::testing::HttpTls;
using ::coppice::testing::Outcome;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::RelayProgram;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SourcePath;
using ::coppice::testing::ValueOf;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kPlantedToken[] = "planted-relay-token-6f1d2c9a";
constexpr char kPlantedSubject[] = "Coppice test client";  // deploy/make-certs.sh

std::string HashLine(const std::string& name, const std::string& token) {
  const Sha256Digest digest = Sha256({token});
  return StrCat(name, " ",
                BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()}),
                " 20\n");
}

void WritePrivately(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::trunc) << text;
  std::filesystem::permissions(file, static_cast<std::filesystem::perms>(0600));
}

class RelayProgramTest : public ::testing::Test {
 protected:
  RelayProgramTest() { WritePrivately(Devices(), HashLine("d", kPlantedToken)); }

  std::string Devices() const { return folder_.path() + "/devices"; }
  std::vector<std::string> Flags() const {
    return {"--curator",
            curator_.address(),
            "--curator-insecure",
            "--curator-key",
            ToPin(KeyOf(1).public_key()),
            "--study",
            "wells",
            "--tickets",
            "12",
            "--admission",
            Devices()};
  }
  // Starts, and waits until a deal is open.
  void Serve() {
    ASSERT_TRUE(relay_.Start());
    Connect();
    ASSERT_TRUE(coppice::testing::Eventually([this] { return Terms().ok(); })) << relay_.log();
  }
  void Connect(const std::string& ca = "", bool with_certificate = false) {
    ConnectOptions options = relay_.connection();
    if (!ca.empty()) options.ca_file = ca;
    if (with_certificate) {
      options.cert_file = relay_.certs_dir() + "/client.crt";
      options.key_file = relay_.certs_dir() + "/client.key";
    }
    ASSERT_OK_AND_ASSIGN(channel_, coppice::Connect(options));
    stub_ = v1::RelayService::NewStub(channel_);
  }

  grpc::Status Terms() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    v1::GetRelayTermsRequest request;
    request.set_study("studies/wells");
    v1::GetRelayTermsResponse response;
    const grpc::Status status = stub_->GetRelayTerms(&context, request, &response);
    if (status.ok()) {
      const EpochId epoch = ReadRelayTerms(response.relay_terms())->epoch;
      epoch_ = {epoch.begin(), epoch.end()};
    }
    return status;
  }
  grpc::Status TakeOffer(v1::RelayedOffer& offer, const std::string& token = kPlantedToken) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token);
    v1::TakeOfferRequest request;
    request.set_study("studies/wells");
    request.set_epoch(epoch_);
    v1::TakeOfferResponse response;
    const grpc::Status status = stub_->TakeOffer(&context, request, &response);
    if (status.ok()) offer = OpenEnvelope(response.envelope());
    return status;
  }
  HttpResponse TakeOfferOver(HttpClient& client, const std::string& token) {
    v1::TakeOfferRequest request;
    request.set_study("studies/wells");
    request.set_epoch(epoch_);
    return client.Send(
        "POST", "/coppice.v1.RelayService/TakeOffer",
        {{"Content-Type", "application/proto"}, {"Authorization", "Bearer " + token}},
        request.SerializeAsString());
  }
  std::vector<v1::RelayedOffer> TakeOffers(int number) {
    std::vector<v1::RelayedOffer> offers(number);
    for (v1::RelayedOffer& offer : offers) {
      const grpc::Status status = TakeOffer(offer);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
    return offers;
  }
  v1::SubmitOutcome Submit(const v1::RelayedOffer& offer) {
    const SealedReport report = ReportFor(offer);
    v1::SubmitSealedReportRequest request;
    request.set_epoch(epoch_);
    request.set_ticket(report.ticket);
    request.set_claim(report.claim);
    request.set_encapsulated(report.encapsulated);
    request.set_ciphertext(report.ciphertext);
    grpc::ClientContext context;
    v1::SubmitSealedReportResponse response;
    const grpc::Status status = stub_->SubmitSealedReport(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.outcome();
  }
  // Waits until the curator has a batch; returns its tickets.
  std::vector<std::string> Delivered() {
    EXPECT_TRUE(coppice::testing::Eventually([this] { return IsDelivered(); })) << relay_.log();
    std::vector<std::string> tickets;
    for (const auto& [header, reports] : curator_.batches.batches) {
      for (const std::string& report : reports) tickets.push_back(report.substr(0, 32));
    }
    return tickets;
  }
  bool IsDelivered() const {
    return ValueOf(GetPage(relay_.metrics_port(), "/metrics"),
                   R"(coppice_relay_batches_total{study="wells",state="delivered"})") > 0;
  }
  size_t Times(const std::string& text) const {
    const std::string log = relay_.log();
    size_t times = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++times;
    return times;
  }

  coppice::testing::TempDir folder_;
  FakeCurator curator_;
  RelayProgram relay_{folder_.path(), Flags()};
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::RelayService::Stub> stub_;
  std::string epoch_;
};

TEST_F(RelayProgramTest, WrongFilesStopItAndSaySo) {
  const auto refused = [this](const std::vector<std::string>& flags) {
    std::vector<std::string> line = relay_.CommandLine();
    line.insert(line.end(), flags.begin(), flags.end());
    return RunProgram(line);
  };
  const std::string other = folder_.path() + "/other-certs";
  ASSERT_EQ(RunProgram({SourcePath("deploy/make-certs.sh"), other}).exit_code, 0);

  // `--check` finds what a start would find.
  EXPECT_EQ(refused({"--check"}).exit_code, 0);
  EXPECT_EQ(refused({"--self-test"}).exit_code, 0);

  WritePrivately(Devices(), "d nonsense\n");
  for (const std::string& flag : {std::string("--check"), std::string("--json")}) {
    const Outcome outcome = refused({flag});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("line 1: needs NAME"));
  }
  WritePrivately(Devices(), HashLine("d", kPlantedToken));

  std::filesystem::copy_file(other + "/server.key", relay_.certs_dir() + "/server.key",
                             std::filesystem::copy_options::overwrite_existing);
  const Outcome other_key = refused({});
  EXPECT_EQ(other_key.exit_code, 1);
  EXPECT_THAT(other_key.err, HasSubstr("does not belong to the certificate"));
  std::filesystem::copy_file(other + "/server.crt", relay_.certs_dir() + "/server.crt",
                             std::filesystem::copy_options::overwrite_existing);

  std::filesystem::permissions(relay_.data_dir() + "/relay.key",
                               static_cast<std::filesystem::perms>(0644));
  const Outcome open_key = refused({});
  EXPECT_EQ(open_key.exit_code, 1);
  EXPECT_THAT(open_key.err, HasSubstr("chmod 600"));
  std::filesystem::remove(relay_.data_dir() + "/relay.key");
  const Outcome no_key = refused({});
  EXPECT_EQ(no_key.exit_code, 1);
  EXPECT_THAT(no_key.err, AllOf(HasSubstr("relay.key"), HasSubstr("coppice-relay keygen")));

  const Outcome usage = refused({"--tickets", "many"});
  EXPECT_EQ(usage.exit_code, 2);
  EXPECT_THAT(usage.err, HasSubstr("--tickets"));
}

TEST_F(RelayProgramTest, OnlyOneRelayUsesAFolder) {
  ASSERT_TRUE(relay_.Start());
  const Outcome second = RunProgram(relay_.CommandLine());
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("another process"));
}

TEST_F(RelayProgramTest, ReadsItsDevicesAndItsCertificateAgain) {
  Serve();
  v1::RelayedOffer offer;
  EXPECT_EQ(TakeOffer(offer, "token-e").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  // The relay reloads the file by itself once it changes.
  WritePrivately(Devices(), HashLine("e", "token-e"));
  ASSERT_TRUE(coppice::testing::Eventually([&] { return TakeOffer(offer, "token-e").ok(); }));
  EXPECT_EQ(TakeOffer(offer).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Times("reloaded part=admission"), 1u);

  const std::string other = folder_.path() + "/other-certs";
  ASSERT_EQ(RunProgram({SourcePath("deploy/make-certs.sh"), other}).exit_code, 0);
  for (const char* file : {"/server.crt", "/server.key"}) {
    std::filesystem::copy_file(other + file, relay_.certs_dir() + file,
                               std::filesystem::copy_options::overwrite_existing);
  }
  relay_.Signal(SIGHUP);
  ASSERT_TRUE(
      coppice::testing::Eventually([&] { return Times("reloaded part=certificates") == 1; }));
  Connect(other + "/ca.crt");
  EXPECT_TRUE(Terms().ok());
}

TEST_F(RelayProgramTest, HealthFollowsTheDeals) {
  Serve();
  const auto ready = [this] {
    v1::GetRelayTermsRequest unused;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service("ready");
    grpc::health::v1::HealthCheckResponse response;
    grpc::ClientContext context;
    const grpc::internal::RpcMethod check("/grpc.health.v1.Health/Check",
                                          grpc::internal::RpcMethod::NORMAL_RPC);
    return grpc::internal::BlockingUnaryCall(channel_.get(), check, &context, request, &response)
               .ok() &&
           response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  };
  EXPECT_TRUE(coppice::testing::Eventually(ready));
}

TEST_F(RelayProgramTest, ADealOutlivesAStop) {
  relay_.AddFlags({"--metrics-listen", "127.0.0.1:0", "--deal", "1h", "--collect", "2h"});
  Serve();
  const std::string epoch = epoch_;
  const std::vector<v1::RelayedOffer> offers = TakeOffers(12);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Submit(offers[i]), v1::SUBMIT_OUTCOME_STORED);
  EXPECT_EQ(relay_.Stop(), 0);
  EXPECT_THAT(relay_.log(), HasSubstr("stopped"));

  Serve();
  EXPECT_EQ(epoch_, epoch);
  for (const v1::RelayedOffer& offer : offers) EXPECT_EQ(Submit(offer), v1::SUBMIT_OUTCOME_STORED);
  EXPECT_EQ(Delivered().size(), 12u);
}

TEST_F(RelayProgramTest, WhatWasStoredOutlivesAKill) {
  relay_.AddFlags({"--metrics-listen", "127.0.0.1:0", "--deal", "4s", "--collect", "8s"});
  Serve();
  const std::vector<v1::RelayedOffer> offers = TakeOffers(6);
  std::set<std::string> expected;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Submit(offers[i]), v1::SUBMIT_OUTCOME_STORED);
    expected.insert(offers[i].ticket());
  }
  relay_.Kill();
  Serve();
  EXPECT_EQ(Submit(offers[4]), v1::SUBMIT_OUTCOME_STORED);
  expected.insert(offers[4].ticket());
  const std::vector<std::string> tickets = Delivered();
  EXPECT_EQ(tickets, std::vector<std::string>(expected.begin(), expected.end()));  // sorted
}

TEST_F(RelayProgramTest, WhatDevicesSendIsNotFoundWhereOperatorsLook) {
  setenv("GRPC_VERBOSITY", "DEBUG", 1);  // for the relay too
  relay_.AddFlags({"--metrics-listen", "127.0.0.1:0", "--log-level", "debug", "--client-ca",
                   relay_.ca(), "--collect", "13h", "--http-listen", "127.0.0.1:0"});
  ASSERT_TRUE(relay_.Start());
  Connect("", /*with_certificate=*/true);
  ASSERT_TRUE(coppice::testing::Eventually([this] { return Terms().ok(); }));
  std::vector<v1::RelayedOffer> offers = TakeOffers(8);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Submit(offers[i]), v1::SUBMIT_OUTCOME_STORED);
  v1::RelayedOffer refused;
  EXPECT_FALSE(TakeOffer(refused, "planted-refused-token").ok());
  std::set<std::string> addresses = coppice::testing::OwnAddresses(relay_.port());
  ASSERT_FALSE(addresses.empty());
  // The same over HTTP, on a connection that shows the certificate too.
  const HttpTls tls{ReadWhole(relay_.certs_dir() + "/client.crt"),
                    ReadWhole(relay_.certs_dir() + "/client.key")};
  HttpClient client(relay_.http_port(), &tls);
  EXPECT_EQ(TakeOfferOver(client, "planted-refused-token").status, 401);
  const HttpResponse taken = TakeOfferOver(client, kPlantedToken);
  ASSERT_EQ(taken.status, 200) << taken.body;
  v1::TakeOfferResponse response;
  ASSERT_TRUE(response.ParseFromString(taken.body));
  offers.push_back(OpenEnvelope(response.envelope()));
  EXPECT_EQ(Submit(offers.back()), v1::SUBMIT_OUTCOME_STORED);
  const std::set<std::string> over_http = coppice::testing::OwnAddresses(relay_.http_port());
  ASSERT_FALSE(over_http.empty());
  addresses.insert(over_http.begin(), over_http.end());
  const std::string metrics = GetPage(relay_.metrics_port(), "/metrics");
  ASSERT_EQ(relay_.Stop(), 0);

  std::vector<std::pair<std::string, std::string>> places = {{"log", relay_.log()},
                                                             {"metrics", metrics}};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(relay_.data_dir())) {
    if (entry.is_regular_file()) places.emplace_back(entry.path(), ReadWhole(entry.path()));
  }
  // The places that hold `secret` in one of its forms.
  const auto found_in = [&](const std::string& secret) {
    std::set<std::string> where;
    for (const auto& [place, bytes] : places) {
      for (const std::string& form : {secret, BytesToHexString(secret), Base64Escape(secret)}) {
        if (bytes.find(form) != std::string::npos) {
          where.insert(std::filesystem::path(place).filename());
        }
      }
    }
    return where;
  };
  // The search finds what is there, so what it does not find is absent.
  EXPECT_FALSE(found_in("wells").empty());
  EXPECT_EQ(found_in("coppice_relay_tickets_dealt_total"), std::set<std::string>{"metrics"});

  for (const char* secret : {kPlantedToken, "planted-refused-token", kPlantedSubject}) {
    EXPECT_EQ(found_in(secret), std::set<std::string>{}) << secret;
  }
  for (const std::string& address : addresses) {
    EXPECT_EQ(found_in(address), std::set<std::string>{}) << address;
  }
  for (const v1::RelayedOffer& offer : offers) {
    EXPECT_EQ(found_in(offer.ticket()), std::set<std::string>{"tickets"});
    EXPECT_EQ(found_in(offer.claim()), std::set<std::string>{});
  }
  // The tickets lie there in their own order, which no device chose.
  for (const auto& [place, bytes] : places) {
    if (std::filesystem::path(place).filename() != "tickets") continue;
    std::vector<size_t> at;
    std::set<std::string> sorted;
    for (const v1::RelayedOffer& offer : offers) sorted.insert(offer.ticket());
    for (const std::string& ticket : sorted) at.push_back(bytes.find(ticket));
    EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
  }
}

}  // namespace
}  // namespace coppice::relay::testing
