#include "server/relay/service/http_methods.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "common/base/text.h"
#include "server/relay/daemon/relay_server.h"
#include "tests/server/relay/dealing/relay_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"

namespace coppice::relay {
namespace {

using ::coppice::relay::testing::OpenEnvelope;
using ::coppice::relay::testing::RelayTest;
using ::coppice::relay::testing::ReportFor;
using ::coppice::testing::HttpClient;
using ::coppice::testing::HttpHeaders;
using ::coppice::testing::HttpResponse;
using ::testing::HasSubstr;
using ::testing::Not;

const HttpHeaders kProto = {{"Content-Type", "application/proto"}};
const HttpHeaders kJson = {{"Content-Type", "application/json"}};

class RelayHttpTest : public RelayTest {
 protected:
  ~RelayHttpTest() override { StopServing(); }

  void Serve(const ServiceLimits& limits = {}, const std::string& origin = "") {
    OpenDeal();
    RelayServerOptions options{
        .listen = "127.0.0.1:0", .http = {.listen = "127.0.0.1:0"}, .limits = limits};
    if (!origin.empty()) options.http.allowed_origins = {origin};
    ASSERT_OK_AND_ASSIGN(server_, RelayServer::Start(options, *relay_, *admission_));
    client_ = std::make_unique<HttpClient>(server_->http_port(), nullptr);
  }
  void StopServing() {
    client_.reset();
    if (server_ != nullptr) server_->Stop(absl::Seconds(5));
    server_.reset();
  }
  void Admit(const std::string& lines) {
    const std::string file = dir_.path() + "/devices";
    std::ofstream(file) << lines;
    std::filesystem::permissions(file, static_cast<std::filesystem::perms>(0600));
    ASSERT_OK_AND_ASSIGN(admission_, Admission::Open(file));
  }

  HttpResponse Call(const std::string& method, const std::string& body,
                    const HttpHeaders& headers = kProto) {
    return client_->Send("POST", "/coppice.v1.RelayService/" + method, headers, body);
  }
  std::string OfferRequest() {
    v1::TakeOfferRequest request;
    request.set_study("studies/wells");
    request.set_epoch(OpenEpoch());
    return request.SerializeAsString();
  }
  HttpResponse TakeOffer(const std::vector<std::string>& tokens = {}) {
    HttpHeaders headers = kProto;
    for (const std::string& token : tokens) headers.push_back({"Authorization", "Bearer " + token});
    return Call("TakeOffer", OfferRequest(), headers);
  }
  v1::RelayedOffer TakeOne() {
    v1::TakeOfferResponse response;
    EXPECT_TRUE(response.ParseFromString(TakeOffer().body));
    return OpenEnvelope(response.envelope());
  }
  v1::SubmitSealedReportRequest RequestOf(const SealedReport& report) {
    v1::SubmitSealedReportRequest request;
    request.set_epoch(OpenEpoch());
    request.set_ticket(report.ticket);
    request.set_claim(report.claim);
    request.set_encapsulated(report.encapsulated);
    request.set_ciphertext(report.ciphertext);
    return request;
  }
  // Everything that comes back, as one string.
  std::string Submit(const v1::SubmitSealedReportRequest& request) {
    return AllOf(Call("SubmitSealedReport", request.SerializeAsString()));
  }
  static std::string AllOf(const HttpResponse& response) {
    std::string all = StrCat(response.status, "/", BytesToHexString(response.body));
    for (const auto& [name, value] : response.headers) StrAppend(&all, "/", name, "=", value);
    return all;
  }

  std::unique_ptr<Admission> admission_ = Admission::OfEverybody();
  std::unique_ptr<RelayServer> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(RelayHttpTest, ADeviceTakesATicketAndSendsItsReport) {
  Serve();
  v1::GetRelayTermsRequest asked;
  asked.set_study("studies/wells");
  const HttpResponse terms = Call("GetRelayTerms", asked.SerializeAsString());
  EXPECT_EQ(terms.status, 200);
  EXPECT_EQ(terms.headers.at("content-type"), "application/proto");
  EXPECT_EQ(terms.body, **relay_->Terms("studies/wells"));

  std::set<size_t> lengths;
  std::set<std::string> tickets;
  std::set<std::string> stored;
  for (int i = 0; i < 12; ++i) {
    const HttpResponse taken = TakeOffer();
    ASSERT_EQ(taken.status, 200) << taken.body;
    lengths.insert(taken.body.size());
    v1::TakeOfferResponse response;
    ASSERT_TRUE(response.ParseFromString(taken.body));
    const v1::RelayedOffer offer = OpenEnvelope(response.envelope());
    tickets.insert(offer.ticket());
    stored.insert(Submit(RequestOf(ReportFor(offer))));
    stored.insert(Submit(RequestOf(ReportFor(offer))));
    v1::SubmitSealedReportResponse outcome;
    ASSERT_TRUE(outcome.ParseFromString(
        Call("SubmitSealedReport", RequestOf(ReportFor(offer, "other")).SerializeAsString()).body));
    EXPECT_EQ(outcome.outcome(), v1::SUBMIT_OUTCOME_CONFLICT);
  }
  EXPECT_EQ(lengths.size(), 1u);
  EXPECT_EQ(tickets.size(), 12u);
  EXPECT_EQ(stored.size(), 1u);
  EXPECT_THAT(*stored.begin(), HasSubstr("200/0801/"));
  EXPECT_EQ(TakeOffer().status, 429);
}

TEST_F(RelayHttpTest, JsonHasOneLengthForEveryOfferAndEveryOutcome) {
  Serve();
  const std::string asked =
      StrCat(R"({"study":"studies/wells","epoch":")", Base64Escape(OpenEpoch()), "\"}");
  std::set<size_t> lengths;
  for (int i = 0; i < 6; ++i) {
    const HttpResponse taken = Call("TakeOffer", asked, kJson);
    ASSERT_EQ(taken.status, 200) << taken.body;
    lengths.insert(taken.body.size());
  }
  EXPECT_EQ(lengths.size(), 1u);

  const v1::RelayedOffer offer = TakeOne();
  const auto submit = [&](const SealedReport& report) {
    const auto text = [](std::string_view bytes) { return Base64Escape(bytes); };
    return Call("SubmitSealedReport",
                StrCat(R"({"epoch":")", text(OpenEpoch()), R"(","ticket":")", text(report.ticket),
                       R"(","claim":")", text(report.claim), R"(","encapsulated":")",
                       text(report.encapsulated), R"(","ciphertext":")", text(report.ciphertext),
                       "\"}"),
                kJson)
        .body;
  };
  EXPECT_EQ(submit(ReportFor(offer)), R"({"outcome":1})");
  EXPECT_EQ(submit(ReportFor(offer, "other")), R"({"outcome":2})");
  SealedReport unknown = ReportFor(offer);
  unknown.claim.assign(16, 'x');
  EXPECT_EQ(submit(unknown), R"({"outcome":4})");
}

TEST_F(RelayHttpTest, OnlyWhomItKnowsGetsTickets) {
  const Sha256Digest digest = Sha256({"token-a"});
  const std::string hex =
      BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
  Admit(StrCat("a ", hex, " 1\n"));
  Serve();
  EXPECT_EQ(TakeOffer().status, 401);
  EXPECT_EQ(TakeOffer({"token-b"}).status, 401);
  EXPECT_EQ(TakeOffer({"token-a", "token-b"}).status, 401);
  EXPECT_EQ(Totals().dealt, 0u);
  EXPECT_EQ(TakeOffer({"token-a"}).status, 200);
  EXPECT_EQ(TakeOffer({"token-a"}).status, 429);
  EXPECT_EQ(Totals().dealt, 1u);
  EXPECT_EQ(server_->totals().refused_by_admission, 4u);
}

TEST_F(RelayHttpTest, UnderLoadNoTicketIsDealtAndTheTimeToWaitIsTold) {
  Serve({.pending_reports = 0});
  const HttpResponse refused = TakeOffer();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "2");
  EXPECT_EQ(Totals().dealt, 0u);
  EXPECT_THAT(Submit({}), HasSubstr("429/"));
  EXPECT_EQ(server_->totals().refused_by_load, 2u);
}

// What one device has read does not count against the next one.
TEST_F(RelayHttpTest, OffersThatWereReadAreReleased) {
  Serve({.offer_bytes = 1});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(coppice::testing::Eventually([this] { return TakeOffer().status == 200; })) << i;
  }
}

TEST_F(RelayHttpTest, RequestsThatUnfoldOrAreTooLongAreRefusedBeforeTheyAreParsed) {
  Serve();
  const auto repeated = [](std::string_view part, size_t bytes) {
    std::string all;
    while (all.size() + part.size() <= bytes) all += part;
    return all;
  };
  for (const auto& [method, most] :
       {std::pair("GetRelayTerms", kBriefRequestBytes), std::pair("TakeOffer", kBriefRequestBytes),
        std::pair("SubmitSealedReport", kMaxRequestBytes)}) {
    EXPECT_EQ(Call(method, std::string(most + 1, 'x')).status, 429) << method;
    EXPECT_EQ(Call(method, std::string(2 * most + 1, ' '), kJson).status, 429) << method;
    for (const std::string& hostile :
         {repeated("\x7b\x7c", most), std::string(most, '\x7b'), repeated("\x0a", most)}) {
      EXPECT_EQ(Call(method, hostile).status, 400) << method;
    }
    const std::string deep = StrCat("{\"study\":", std::string(most, '['));
    const HttpResponse refused = Call(method, deep, kJson);
    EXPECT_EQ(refused.status, 400) << method;
    EXPECT_THAT(refused.body, HasSubstr("invalid_argument"));
  }
}

TEST_F(RelayHttpTest, BadRequestsAreRefusedInWordsThatRepeatNoValue) {
  Serve();
  EXPECT_EQ(client_->Send("GET", "/", {}, "").status, 404);
  EXPECT_EQ(client_->Send("POST", "/coppice.v1.StudyService/GetOffer", kProto, "").status, 404);
  EXPECT_EQ(client_->Send("GET", "/coppice.v1.RelayService/TakeOffer", {}, "").status, 405);
  EXPECT_EQ(Call("TakeOffer", "", {{"Content-Type", "text/plain"}}).status, 415);
  HttpHeaders gzip = kProto;
  gzip.push_back({"Content-Encoding", "gzip"});
  EXPECT_EQ(Call("TakeOffer", OfferRequest(), gzip).status, 501);
  EXPECT_EQ(Call("TakeOffer", "").status, 400);
  EXPECT_EQ(Call("TakeOffer", R"({"study":"studies/other"})", kJson).status, 404);
  const HttpResponse unknown = Call("TakeOffer", R"({"secret":"secret-value"})", kJson);
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, Not(HasSubstr("secret-value")));
  EXPECT_EQ(Totals().dealt, 0u);
}

TEST_F(RelayHttpTest, PagesOfAllowedOriginsAlonePass) {
  Serve({}, "https://survey.example");
  const auto from = [this](const std::string& origin) {
    HttpHeaders headers = kProto;
    headers.push_back({"Origin", origin});
    return Call("TakeOffer", OfferRequest(), headers);
  };
  EXPECT_EQ(from("https://other.example").status, 403);
  EXPECT_EQ(Totals().dealt, 0u);
  const HttpResponse passed = from("https://survey.example");
  EXPECT_EQ(passed.status, 200);
  EXPECT_EQ(passed.headers.at("access-control-allow-origin"), "https://survey.example");
}

}  // namespace
}  // namespace coppice::relay
