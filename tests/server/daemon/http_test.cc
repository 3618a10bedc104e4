// The daemon's HTTP listener over TLS: what it does besides carrying calls as gRPC does.

#include <string_view>
#include <thread>

#include "absl/time/clock.h"
#include "common/base/text.h"
#include "server/daemon/transport/access.h"
#include "tests/server/daemon/owners_fixture.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::Certificate;
using ::coppice::testing::Hex;
using ::coppice::testing::HttpClient;
using ::coppice::testing::HttpHeaders;
using ::coppice::testing::HttpMethod;
using ::coppice::testing::HttpResponse;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::OwnersTest;
using ::coppice::testing::RequestOf;
using ::coppice::testing::TlsServerTest;
using ::coppice::testing::Token;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kStudies[] = "/coppice.v1.StudyService/ListStudies";
constexpr char kWatch[] = "/coppice.v1.TrainingService/WatchJob";
constexpr char kOrigin[] = "https://lab.example";

class HttpTest : public OwnersTest {
 protected:
  HttpTest() {
    http_.allowed_origins = {kOrigin};
    http_.max_connections = 3;
  }

  static HttpHeaders Headers(HttpHeaders more = {}) {
    more.push_back({"Authorization", "Bearer " + Token("operator", access::Role::kAdmin)});
    more.push_back({"Content-Type", "application/json"});
    return more;
  }
  static std::string ListRequest(std::string_view body_head, std::string_view body) {
    return StrCat("POST ", kStudies, " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ",
                  Token("operator", access::Role::kAdmin), "\r\nContent-Type: application/json\r\n",
                  body_head, "\r\n", body);
  }
  HttpResponse List(HttpClient& client) { return client.Send("POST", kStudies, Headers(), "{}"); }

  // Watches a job that does not end.
  HttpResponse WatchRunning(HttpClient& client, HttpHeaders more = {}) {
    more.push_back({"Authorization", "Bearer " + Token("a", access::Role::kTrainer)});
    more.push_back({"Content-Type", "application/connect+json"});
    return client.Send("POST", kWatch, more, WatchRequest());
  }
  // Begins to watch the job. True once the stream has shown that it runs.
  static bool BeginWatching(HttpClient& client) {
    return client.Connect() &&
           client.WriteAll(StrCat("POST ", kWatch, " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ",
                                  Token("a", access::Role::kTrainer),
                                  "\r\nContent-Type: application/connect+json\r\nContent-Length: ",
                                  WatchRequest().size(), "\r\n\r\n", WatchRequest())) &&
           client.ReadUntil("JOB_STATE_RUNNING");
  }
  static std::string WatchRequest() {
    const std::string json = R"({"name":"jobs/a-2"})";
    return std::string("\0\0\0\0", 4) + static_cast<char>(json.size()) + json;
  }
  void RunJob() {
    trainer_.Hold();
    ASSERT_OK(jobs_->Submit(RequestOf("a-2", coppice::testing::kEpsilon, "a-1")).status());
  }
};

TEST_F(HttpTest, OneConnectionCarriesManyRequestsAlsoAtOnce) {
  HttpClient& client = http_client();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(List(client).status, 200);
  const std::string one = ListRequest("Content-Length: 2\r\n", "{}");
  const std::string two =
      ListRequest("Transfer-Encoding: chunked\r\n", "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n");
  EXPECT_EQ(client.SendBytes(one + two + one).status, 200);
  EXPECT_EQ(client.ReadResponse().status, 200);
  EXPECT_EQ(client.ReadResponse().status, 200);
  EXPECT_EQ(
      client.SendBytes(ListRequest("Content-Length: 2\r\nExpect: 100-continue\r\n", "{}")).status,
      200);
  EXPECT_EQ(client.SendBytes(ListRequest("Content-Length: 2\r\nConnection: close\r\n", "{}"))
                .headers["connection"],
            "close");
}

TEST_F(HttpTest, RequestsThatAreNotCallsAreAnsweredInJson) {
  HttpClient& client = http_client();
  const struct {
    const char* method;
    const char* path;
    int status;
    const char* code;
  } cases[] = {{"GET", "/", 404, "not_found"},
               {"GET", kStudies, 405, "unimplemented"},
               {"PUT", kStudies, 405, "unimplemented"},
               {"OPTIONS", "/x", 404, "not_found"},
               {"POST", "/", 403, "permission_denied"},
               {"POST", "/coppice.v1.StudyService/Fresh", 403, "permission_denied"},
               {"POST", "/grpc.health.v1.Health/Check", 404, "unimplemented"},
               {"POST", "/coppice.v1.DatasetService/UploadRows", 501, "unimplemented"},
               {"POST", "/coppice.v1.ReportService/StreamReports", 501, "unimplemented"}};
  for (const auto& c : cases) {
    const HttpResponse response = client.Send(c.method, c.path, Headers(), "{}");
    EXPECT_EQ(response.status, c.status) << c.method << " " << c.path;
    const auto error = nlohmann::json::parse(response.body);
    EXPECT_EQ(error["code"], c.code) << c.method << " " << c.path;
    EXPECT_NE(error["message"], "");
  }
  const HttpResponse head = client.Send("HEAD", "/", Headers(), "");
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(List(client).status, 200) << "the same connection goes on";
}

TEST_F(HttpTest, HeadersThatDoNotFitAreRefused) {
  const auto send = [&](const HttpHeaders& more) {
    return http_client().Send("POST", kStudies, Headers(more), "{}");
  };
  EXPECT_EQ(send({{"Connect-Protocol-Version", "1"}}).status, 200);
  EXPECT_EQ(send({{"Connect-Protocol-Version", "2"}}).status, 400);
  EXPECT_EQ(send({{"Connect-Timeout-Ms", "5000"}}).status, 200);
  EXPECT_EQ(send({{"Connect-Timeout-Ms", "soon"}}).status, 400);
  EXPECT_EQ(send({{"Content-Encoding", "identity"}}).status, 200);
  EXPECT_EQ(send({{"Content-Encoding", "gzip"}}).status, 501);
  const HttpResponse other =
      http_client().Send("POST", kStudies,
                         {{"Authorization", "Bearer " + Token("operator", access::Role::kAdmin)},
                          {"Content-Type", "text/plain"}},
                         "{}");
  EXPECT_EQ(other.status, 415);
  EXPECT_THAT(other.body, HasSubstr("application/json or application/proto"));
}

TEST_F(HttpTest, RequestsOfTwoMeaningsCloseTheConnection) {
  for (const char* head :
       {"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 2\r\nContent-Length: 2\r\n", "Transfer-Encoding: gzip, chunked\r\n"}) {
    HttpClient client(server_->http_port(), &http_tls_);
    ASSERT_TRUE(client.Connect());
    client.WriteAll(ListRequest(head, "{}" + ListRequest("Content-Length: 2\r\n", "{}")));
    const std::string all = client.ReadToEnd();
    EXPECT_THAT(all, HasSubstr("HTTP/1.1 400 ")) << head;
    EXPECT_THAT(all, HasSubstr("Connection: close")) << head;
    EXPECT_THAT(all, Not(HasSubstr("HTTP/1.1 200"))) << head;
  }
}

TEST_F(HttpTest, OnlyPagesOfAllowedOriginsMayCall) {
  HttpClient& client = http_client();
  const HttpResponse allowed = client.Send("POST", kStudies, Headers({{"Origin", kOrigin}}), "{}");
  EXPECT_EQ(allowed.status, 200);
  EXPECT_EQ(allowed.headers.at("access-control-allow-origin"), kOrigin);
  EXPECT_EQ(allowed.headers.at("vary"), "Origin");
  EXPECT_EQ(allowed.headers.count("access-control-allow-credentials"), 0u);
  for (const char* origin : {"https://lab.example.evil", "https://lab.example:8443", "null",
                             "http://lab.example", "https://LAB.example"}) {
    for (const char* method : {"POST", "OPTIONS"}) {
      const HttpResponse refused =
          client.Send(method, kStudies, Headers({{"Origin", origin}}), "{}");
      EXPECT_EQ(refused.status, 403) << origin;
      EXPECT_EQ(refused.headers.count("access-control-allow-origin"), 0u) << origin;
    }
  }
  const HttpResponse asked = client.Send(
      "OPTIONS", kStudies, {{"Origin", kOrigin}, {"Access-Control-Request-Method", "POST"}}, "");
  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(asked.headers.at("access-control-allow-methods"), "POST");
  EXPECT_THAT(asked.headers.at("access-control-allow-headers"), HasSubstr("Authorization"));
  const HttpResponse unknown = client.Send("POST", kStudies, {{"Origin", kOrigin}}, "{}");
  EXPECT_EQ(unknown.status, 401) << "an origin is no credential";
  EXPECT_EQ(unknown.headers.at("access-control-allow-origin"), kOrigin)
      << "or the page sees no reason";
}

TEST_F(HttpTest, ACallEndsAtTheTimeThatItsClientAllows) {
  RunJob();
  const absl::Time begun = absl::Now();
  const HttpResponse response = WatchRunning(http_client(), {{"Connect-Timeout-Ms", "300"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr(R"("code":"deadline_exceeded")"));
  EXPECT_GE(absl::Now() - begun, absl::Milliseconds(250));
  EXPECT_EQ(List(http_client()).status, 200) << "the same connection goes on";
}

TEST_F(HttpTest, AStreamShowsEachStateAsItComes) {
  RunJob();
  HttpClient& client = http_client();
  ASSERT_TRUE(BeginWatching(client));
  trainer_.Let();
  const HttpResponse response = client.ReadResponse();
  EXPECT_EQ(response.headers.at("content-type"), "application/connect+json");
  EXPECT_THAT(response.body, HasSubstr("JOB_STATE_DONE"));
  EXPECT_EQ(response.body.substr(response.body.size() - 7), std::string("\2\0\0\0\2{}", 7));
  EXPECT_EQ(List(http_client()).status, 200) << "the same connection goes on";
}

TEST_F(HttpTest, StoppingEndsStreamsAndLeavesNobodyWaiting) {
  RunJob();
  HttpClient gone(server_->http_port(), &http_tls_), waiting(server_->http_port(), &http_tls_);
  ASSERT_TRUE(BeginWatching(gone));
  ASSERT_TRUE(BeginWatching(waiting));
  gone.Close();
  std::thread stop([&] { server_->Stop(absl::ZeroDuration()); });
  EXPECT_EQ(waiting.ReadResponse().status, 200) << "its stream ends before the job does";
  trainer_.Let();
  stop.join();
  HttpClient late(server_->http_port(), &http_tls_);
  EXPECT_FALSE(late.Connect()) << "nothing listens";
}

TEST_F(HttpTest, AConnectionBeyondTheLimitTakesThePlaceOfTheOneThatWaitsLongest) {
  HttpClient first(server_->http_port(), &http_tls_), second(server_->http_port(), &http_tls_),
      third(server_->http_port(), &http_tls_), fourth(server_->http_port(), &http_tls_);
  for (HttpClient* client : {&first, &second, &third}) EXPECT_EQ(List(*client).status, 200);
  EXPECT_EQ(List(first).status, 200);
  EXPECT_EQ(List(fourth).status, 200);
  EXPECT_EQ(List(first).status, 200);
  EXPECT_EQ(List(third).status, 200);
  EXPECT_EQ(second.ReadToEnd(), "") << "it waited longest";
}

TEST_F(HttpTest, ConnectionsWithCallsKeepTheirPlaces) {
  RunJob();
  HttpClient clients[3] = {{server_->http_port(), &http_tls_},
                           {server_->http_port(), &http_tls_},
                           {server_->http_port(), &http_tls_}};
  for (HttpClient& client : clients) ASSERT_TRUE(BeginWatching(client));
  HttpClient refused(server_->http_port(), &http_tls_);
  EXPECT_EQ(List(refused).status, 0);
  trainer_.Let();
  for (HttpClient& client : clients) {
    EXPECT_THAT(client.ReadResponse().body, HasSubstr("JOB_STATE_DONE"));
  }
  EXPECT_EQ(List(refused).status, 200);
}

TEST_F(HttpTest, ANewCertificateIsForNewConnections) {
  HttpClient before(server_->http_port(), &http_tls_);
  EXPECT_EQ(List(before).status, 200);
  EXPECT_EQ(before.peer_certificate(), certificate_.certificate_pem);
  const Certificate next = MakeCertificate();
  certificates_->Replace(
      {.certificate = next.certificate_pem, .key = next.key_pem, .client_ca = ""});
  EXPECT_EQ(List(before).status, 200) << "it goes on";
  HttpClient after(server_->http_port(), &http_tls_);
  EXPECT_EQ(List(after).status, 200);
  EXPECT_EQ(after.peer_certificate(), next.certificate_pem);
}

TEST_F(HttpTest, BadTokensOfBothTransportsShareOneLimit) {
  bool limited = false;
  for (int i = 0; i < 2000 && !limited; ++i) {
    const grpc::Status status =
        CallHttp(http::Encoding::kJson, kStudies, {StrCat("Bearer guess", i)});
    limited = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  }
  EXPECT_TRUE(limited);
  // On a slow machine a guess or two become free meanwhile; a separate limit would leave dozens.
  bool shared = false;
  for (int i = 0; i < 20 && !shared; ++i) {
    shared = Call(kStudies, {"Bearer guess"}).error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  }
  EXPECT_TRUE(shared);
  EXPECT_EQ(List(http_client()).status, 200);
}

class HttpCertificateTest : public TlsServerTest {};

TEST_F(HttpCertificateTest, AClientCertificateHasTheRolesOfItsFingerprint) {
  const std::string sha256 = Hex(*CertificateSha256(client_.certificate_pem));
  Serve(StrCat(R"({"certificates":[{"name":"lab","role":"analyst","sha256":")", sha256, "\"}]}"),
        /*mutual=*/true);
  EXPECT_TRUE(CallHttp(http::Encoding::kJson, kStudies, {}).ok());
  EXPECT_EQ(CallHttp(http::Encoding::kJson, "/coppice.v1.StudyService/GetOffer", {}).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  const coppice::testing::HttpTls none;
  HttpClient stranger(server_->http_port(), &none);
  EXPECT_EQ(stranger.Send("POST", kStudies, {{"Content-Type", "application/json"}}, "{}").status,
            0);
  const Certificate other = MakeCertificate();
  const coppice::testing::HttpTls unknown{other.certificate_pem, other.key_pem};
  HttpClient impostor(server_->http_port(), &unknown);
  EXPECT_EQ(impostor.Send("POST", kStudies, {{"Content-Type", "application/json"}}, "{}").status,
            0);
}

}  // namespace
}  // namespace coppice::daemon
