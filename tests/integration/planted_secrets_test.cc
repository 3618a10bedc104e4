// What clients send must not be found where operators look. The test plants an unmistakable token,
// payloads, tickets, rows and a certificate's subject, and knows the client's address; then it
// searches the log at its most verbose, the metrics and every byte of the store for them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "client/device/grpc/server_call.h"
#include "common/base/text.h"
#include "coppice/v1/model.grpc.pb.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "tests/integration/daemon.h"
#include "tests/integration/http_page.h"
#include "tests/integration/own_addresses.h"
#include "tests/support/http_client.h"
#include "tests/support/sealed_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::GetPage;
using ::coppice::testing::OwnAddresses;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;

constexpr char kToken[] = "planted-token-6f1d2c9a";
constexpr char kPayload[] = "planted-payload-0b7e55d1";
constexpr char kTicket[] = "planted-ticket-7c3a-0123456789ab";  // 32 bytes, as a ticket's are
constexpr char kSubject[] = "Coppice test client";              // deploy/make-certs.sh
constexpr double kRow = 0.31830988618379067;

class PlantedSecretsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("GRPC_VERBOSITY", "DEBUG", 1);  // for the daemon too
    daemon_.AddFlags({"--log-level", "debug", "--json", "--metrics-listen", "127.0.0.1:0",
                      "--http-listen", "127.0.0.1:0", "--client-ca",
                      folder_.path() + "/certs/ca.crt"});
    ASSERT_TRUE(daemon_.Start());
    Synthesize(rows_, "private=60,public=60,test=10");
    Coppice({"study", "create", "--study", "watched", "--public", rows_ + "/public.csv", "--schema",
             rows_ + "/schema.json", "--epsilon", "2", "--mechanism", "optimized_unary", "--depth",
             "3"});
    Coppice({"collect", "simulate", "--study", "watched", "--data", rows_ + "/private.csv"});
    Coppice({"model", "build", "--study", "watched", "--model", "watched-model"});
    Coppice({"dataset", "create", "--dataset", "table", "--data", rows_ + "/private.csv",
             "--schema", rows_ + "/schema.json", "--epsilon-total", "1"});
    ConnectOptions connect = daemon_.connection();
    connect.cert_file = folder_.path() + "/certs/client.crt";
    connect.key_file = folder_.path() + "/certs/client.key";
    ASSERT_OK_AND_ASSIGN(channel_, Connect(connect));
  }
  void Coppice(std::vector<std::string> arguments) {
    for (const std::string& more : {std::string("--cert"), folder_.path() + "/certs/client.crt",
                                    std::string("--key"), folder_.path() + "/certs/client.key"}) {
      arguments.push_back(more);
    }
    const auto outcome = daemon_.Coppice(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  static void Sign(grpc::ClientContext& context) {
    context.AddMetadata("authorization", StrCat("Bearer ", kToken));
  }
  void SubmitPlantedReports() {
    const auto stub = v1::ReportService::NewStub(channel_);
    v1::SealedReports reports;
    reports.set_study("studies/watched");
    reports.set_fingerprint(Fingerprint());
    v1::Report& report = *reports.add_reports();
    report.set_ticket(kTicket);
    report.set_payload(kPayload);
    // The payload is looked at only if the ticket is good.
    v1::Report& ticketed = *reports.add_reports();
    ticketed.set_ticket(offer_.tickets(0));
    ticketed.set_payload(kPayload);
    grpc::ClientContext context;
    Sign(context);
    v1::SubmitReportsResponse response;
    const DirectKey key = DirectKeyNow();
    const testing::SealedReportsCall call(key, reports,
                                          testing::ReportBytesOf(offer_.manifest().manifest()));
    ASSERT_TRUE(stub->SubmitReports(&context, call.request(), &response).ok());
    EXPECT_THAT(call.Outcomes(response),
                ::testing::Optional(::testing::ElementsAre(v1::REPORT_OUTCOME_BAD_TICKET,
                                                           v1::REPORT_OUTCOME_BAD_PAYLOAD)));
    // Errors might repeat names, so the secrets are also sent as a name.
    reports.set_study(StrCat("studies/", kPayload, "/", kToken));
    grpc::ClientContext wrong;
    Sign(wrong);
    stub->SubmitReports(&wrong, testing::SealedReportsCall(key, reports).request(), &response);
    // Nothing is taken that is not sealed, and a refusal repeats none of it.
    v1::SubmitReportsRequest plain;
    plain.set_ciphertext(reports.SerializeAsString());
    grpc::ClientContext unsealed;
    Sign(unsealed);
    EXPECT_FALSE(stub->SubmitReports(&unsealed, plain, &response).ok());
  }
  DirectKey DirectKeyNow() {
    grpc::ClientContext context;
    Sign(context);
    v1::GetCuratorKeysResponse response;
    EXPECT_TRUE(v1::StudyService::NewStub(channel_)->GetCuratorKeys(&context, {}, &response).ok());
    return testing::DirectKeyOf(response);
  }
  std::string Fingerprint() {
    const auto stub = v1::StudyService::NewStub(channel_);
    grpc::ClientContext context;
    v1::GetOfferRequest request;
    request.set_name("studies/watched");
    EXPECT_TRUE(stub->GetOffer(&context, request, &offer_).ok());
    return offer_.fingerprint();
  }
  void PredictPlantedRow() {
    const auto stub = v1::ModelService::NewStub(channel_);
    v1::PredictRequest request;
    request.set_name("models/watched-model");
    for (const size_t values : {2, 3}) {  // as many as the model wants, and one too many
      request.clear_rows();
      v1::Row& row = *request.add_rows();
      for (size_t i = 0; i < values; ++i) row.add_values(kRow);
      grpc::ClientContext context;
      Sign(context);
      v1::PredictResponse response;
      EXPECT_EQ(stub->Predict(&context, request, &response).ok(), values == 2);
    }
  }

  // Sends them over HTTP, also where they do not parse: no answer may repeat them.
  void SendPlantedJson() {
    const testing::HttpTls tls{ReadWhole(folder_.path() + "/certs/client.crt"),
                               ReadWhole(folder_.path() + "/certs/client.key")};
    testing::HttpClient client(PortOf("http"), &tls);
    const std::string row = R"("rows":[{"values":[0.3183098,0.3183098]}])";
    for (const std::string& body :
         {StrCat("{\"name\":\"models/watched-model\",", row, "}"),
          StrCat("{\"name\":\"models/watched-model\",", row, ",\"x\":\"", kPayload, "\"}"),
          StrCat("{\"name\":[\"", kPayload, "\"],", row, "}"),
          StrCat("{\"rows\":\"0.3183098 ", kPayload, "\"}"),
          StrCat("{\"rows\":[{\"", kPayload, "\":0.3183098}]}"), StrCat("0.3183098 ", kPayload)}) {
      const testing::HttpResponse response = client.Send(
          "POST", "/coppice.v1.ModelService/Predict",
          {{"Content-Type", "application/json"}, {"Authorization", StrCat("Bearer ", kToken)}},
          body);
      EXPECT_EQ(response.status,
                body.ends_with("]}]}") && body.starts_with("{\"name\":\"") ? 200 : 400)
          << body;
      EXPECT_EQ(response.body.find("0.3183098"), std::string::npos) << response.body;
      if (body.find(StrCat("{\"", kPayload)) == std::string::npos) {  // not as a field name
        EXPECT_EQ(response.body.find(kPayload), std::string::npos) << response.body;
      }
      EXPECT_EQ(response.body.find(kToken), std::string::npos) << response.body;
    }
  }

  // Everything that an operator, or a thief, finds.
  std::vector<std::pair<std::string, std::string>> Places() const {
    std::vector<std::pair<std::string, std::string>> places = {{"log", daemon_.log()},
                                                               {"metrics", metrics_}};
    for (const auto& entry : std::filesystem::recursive_directory_iterator(daemon_.data_dir())) {
      if (entry.is_regular_file()) places.emplace_back(entry.path(), ReadWhole(entry.path()));
    }
    return places;
  }
  bool IsFound(const std::string& secret) const {
    bool found = false;
    for (const auto& [place, bytes] : Places()) {
      for (const std::string& form : {secret, BytesToHexString(secret), Base64Escape(secret)}) {
        if (bytes.find(form) == std::string::npos) continue;
        found = true;
        std::cout << absl::CHexEscape(secret) << " is in " << place << "\n";
      }
    }
    return found;
  }

  // The port of a listener, from the log.
  int PortOf(const std::string& event) const {
    const std::string log = daemon_.log(), before = R"("port":")";
    const size_t line = log.find(StrCat(R"("event":")", event, R"(",)"));
    const size_t at = log.find(before, line);
    return line == std::string::npos ? 0 : std::atoi(log.c_str() + at + before.size());
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  std::string rows_ = folder_.path() + "/rows";
  std::shared_ptr<grpc::Channel> channel_;
  v1::GetOfferResponse offer_;
  std::string metrics_;
};

TEST_F(PlantedSecretsTest, DoNotAppearInAnyFileOrOutput) {
  SubmitPlantedReports();
  PredictPlantedRow();
  SendPlantedJson();
  const std::set<std::string> addresses = OwnAddresses(std::stoi(daemon_.port()));
  ASSERT_FALSE(addresses.empty());
  metrics_ = GetPage(PortOf("metrics"), "/metrics");
  ASSERT_EQ(daemon_.Stop(), 0);

  // The search finds what is there, so what it does not find is absent.
  EXPECT_TRUE(IsFound("watched"));
  EXPECT_NE(metrics_.find("watched"), std::string::npos);
  EXPECT_NE(daemon_.log().find("ReportService/SubmitReports"), std::string::npos);

  for (const char* secret : {kToken, kPayload, kTicket, kSubject}) {
    EXPECT_FALSE(IsFound(secret)) << secret;
  }
  for (const std::string& address : addresses) EXPECT_FALSE(IsFound(address)) << address;
  std::string row(sizeof kRow, '\0');
  std::memcpy(row.data(), &kRow, sizeof kRow);
  EXPECT_FALSE(IsFound(row));
  EXPECT_FALSE(IsFound("0.3183098"));
}

}  // namespace
}  // namespace coppice
