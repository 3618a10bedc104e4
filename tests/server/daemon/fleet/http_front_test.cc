// A front's HTTP between clients and the daemon's own server gives the same answers as direct
// calls.

#include <gmock/gmock.h>

#include <thread>

#include "common/base/text.h"
#include "server/daemon/fleet/front.h"
#include "server/daemon/transport/fronts.h"
#include "server/serving/access/method_table.h"
#include "tests/server/daemon/fleet/scripted_leader.h"
#include "tests/server/daemon/owners_fixture.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::Certificate;
using ::coppice::testing::Hex;
using ::coppice::testing::HttpClient;
using ::coppice::testing::HttpHeaders;
using ::coppice::testing::HttpMethod;
using ::coppice::testing::HttpResponse;
using ::coppice::testing::HttpTls;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::OwnersTest;
using ::coppice::testing::RequestOf;
using ::coppice::testing::ScriptedLeader;
using ::coppice::testing::TlsServerTest;
using ::coppice::testing::Token;
using ::testing::HasSubstr;

constexpr char kList[] = "/coppice.v1.StudyService/ListStudies";
constexpr char kModel[] = "/coppice.v1.ModelService/GetModel";
constexpr char kWatchJob[] = "/coppice.v1.TrainingService/WatchJob";
constexpr char kOwnOrigin[] = "https://localhost";

// A front with HTTP for any leader.
class Fronted {
 public:
  Fronted(const Certificate& server, const Certificate& curator, const std::string& client_ca = "")
      : certificates_(TlsFiles{
            .certificate = server.certificate_pem, .key = server.key_pem, .client_ca = client_ca}),
        front_(*Front::Start({.listen = "127.0.0.1:0",
                              .http = {.listen = "127.0.0.1:0"},
                              .certificates = &certificates_,
                              .peer_ca_pem = curator.certificate_pem,
                              .certificate_pem = curator.certificate_pem,
                              .key_pem = curator.key_pem})) {}
  ~Fronted() { front_->Stop(absl::ZeroDuration()); }

  Front& front() { return *front_; }
  int port() const { return front_->http_port(); }
  void Follow(int port) { front_->SetLeader(StrCat("127.0.0.1:", port)); }

 private:
  Certificates certificates_;
  const std::unique_ptr<Front> front_;
};

// Starts the leader on the store of the daemon that is called directly.
std::unique_ptr<DaemonServer> StartLeader(Certificates& certificates,
                                          const access::AccessControl* access,
                                          const Curator& curator) {
  return *DaemonServer::Start({.listen = "127.0.0.1:0",
                               .certificates = &certificates,
                               .access = access,
                               .behind_fronts = true},
                              curator);
}

class HttpFrontTest : public OwnersTest {
 protected:
  void SetUp() override {
    OwnersTest::SetUp();
    peers_ = std::make_unique<Certificates>(TlsFiles{.certificate = curator_.certificate_pem,
                                                     .key = curator_.key_pem,
                                                     .client_ca = curator_.certificate_pem});
    leader_ = StartLeader(*peers_, access_.get(), Curator());
    fronted_ = std::make_unique<Fronted>(certificate_, curator_);
    fronted_->Follow(leader_->port());
    client_of_front_ = std::make_unique<HttpClient>(fronted_->port(), &http_tls_);
  }
  void TearDown() override {
    trainer_.Let();
    fronted_.reset();
    leader_->Stop(absl::ZeroDuration());
    OwnersTest::TearDown();
  }

  static HttpResponse Ask(HttpClient& client, const std::string& path, http::Encoding encoding,
                          const std::string& token, const std::string& message,
                          HttpHeaders headers = {}) {
    const HttpMethod method = HttpMethod::Find(path);
    headers.push_back({"Content-Type", method.ContentType(encoding)});
    if (!token.empty()) headers.push_back({"Authorization", "Bearer " + token});
    return client.Send("POST", path, headers, method.Request(encoding, message));
  }
  HttpResponse AskFront(const std::string& path, const std::string& token,
                        const std::string& message = "", const HttpHeaders& headers = {}) {
    return Ask(*client_of_front_, path, http::Encoding::kJson, token, message, headers);
  }
  static std::string Admin() { return Token("operator", access::Role::kAdmin); }

  const Certificate curator_ = MakeCertificate();
  std::unique_ptr<Certificates> peers_;
  std::unique_ptr<DaemonServer> leader_;
  std::unique_ptr<Fronted> fronted_;
  std::unique_ptr<HttpClient> client_of_front_;
};

TEST_F(HttpFrontTest, EveryMethodAnswersEveryRoleAsTheDaemonDoes) {
  std::vector<std::string> tokens = {"", "coppice_no_token_of_anybody"};
  for (const access::Role role : access::kAllRoles) tokens.push_back(Token("a", role));
  tokens.push_back(Admin());
  int compared = 0, guesses = 0;
  for (const access::Method& method : access::AllMethods()) {
    const std::string path(method.path);
    if (!StartsWith(path, "/coppice.")) continue;
    // HTTP carries no client streams, so the front refuses them to everybody.
    if (HttpMethod::Find(path).descriptor->client_streaming()) continue;
    for (const std::string& token : tokens) {
      if (token == tokens[1] && ++guesses > 10)
        continue;  // else their limit is reached, here or there
      for (const char* id : {"a-1", "none"}) {
        if (method.changes && id == std::string("a-1")) continue;  // a repeat answers otherwise
        for (const auto encoding : {http::Encoding::kJson, http::Encoding::kProto}) {
          const std::string request = RequestOn(method, id);
          HttpResponse direct = Ask(http_client(), path, encoding, token, request);
          HttpResponse fronted = Ask(*client_of_front_, path, encoding, token, request);
          EXPECT_EQ(fronted.status, direct.status) << path << " " << token << fronted.body;
          EXPECT_EQ(fronted.headers["content-type"], direct.headers["content-type"]) << path;
          const HttpMethod shape = HttpMethod::Find(path);
          std::string answer, expected;
          const grpc::Status got = shape.StatusOf(encoding, fronted, &answer);
          const grpc::Status want = shape.StatusOf(encoding, direct, &expected);
          EXPECT_EQ(got.error_code(), want.error_code()) << path << " " << got.error_message();
          EXPECT_EQ(got.error_message(), want.error_message()) << path;
          if (!want.ok() || !method.changes) ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 200);
}

TEST_F(HttpFrontTest, AnIdGoesToTheLeaderAndComesBack) {
  HttpResponse response = AskFront(kList, Admin(), "", {{"X-Request-Id", "of-the-client-1"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers["trailer-x-request-id"], "of-the-client-1");
  response = AskFront(kList, Admin());
  EXPECT_THAT(response.headers["trailer-x-request-id"], ::testing::MatchesRegex("[0-9a-f]{32}"));
}

// gRPC ends a process that sends such a value.
TEST_F(HttpFrontTest, ATokenThatCannotBeSentIsNoToken) {
  for (const char* value : {"Bearer \xff\xfe", "Bearer \x80", "\xc3\xa4"}) {
    const HttpResponse refused = client_of_front_->Send(
        "POST", kList, {{"Content-Type", "application/json"}, {"Authorization", value}}, "{}");
    EXPECT_EQ(refused.status, 401) << refused.body;
  }
  EXPECT_EQ(AskFront(kList, Admin()).status, 200);
}

TEST_F(HttpFrontTest, AStreamShowsEachStateAndEndsWithTheLeaders) {
  trainer_.Hold();
  ASSERT_OK(jobs_->Submit(RequestOf("a-2", coppice::testing::kEpsilon, "a-1")).status());
  std::thread end([&] {
    absl::SleepFor(absl::Milliseconds(200));
    trainer_.Let();
  });
  v1::WatchJobRequest request;
  request.set_name("jobs/a-2");
  const HttpResponse response =
      AskFront(kWatchJob, Token("a", access::Role::kTrainer), request.SerializeAsString());
  end.join();
  EXPECT_THAT(response.body, HasSubstr("JOB_STATE_RUNNING"));
  EXPECT_THAT(response.body, HasSubstr("JOB_STATE_DONE"));
  EXPECT_EQ(AskFront(kList, Admin()).status, 200) << "the same connection goes on";
}

TEST_F(HttpFrontTest, AStreamWhoseClientGoesOrWhoseTimeIsOverEnds) {
  trainer_.Hold();
  ASSERT_OK(jobs_->Submit(RequestOf("a-2", coppice::testing::kEpsilon, "a-1")).status());
  v1::WatchJobRequest request;
  request.set_name("jobs/a-2");
  const std::string watch = request.SerializeAsString();
  const std::string token = Token("a", access::Role::kTrainer);
  const HttpResponse late = AskFront(kWatchJob, token, watch, {{"Connect-Timeout-Ms", "300"}});
  EXPECT_THAT(late.body, HasSubstr("\"code\":\"deadline_exceeded\""));
  HttpClient gone(fronted_->port(), &http_tls_);
  ASSERT_TRUE(gone.Connect());
  const HttpMethod method = HttpMethod::Find(kWatchJob);
  const std::string body = method.Request(http::Encoding::kJson, watch);
  gone.WriteAll(StrCat("POST ", kWatchJob, " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ", token,
                       "\r\nContent-Type: application/connect+json\r\nContent-Length: ",
                       body.size(), "\r\n\r\n", body));
  absl::SleepFor(absl::Milliseconds(300));
  gone.Close();
  absl::SleepFor(absl::Milliseconds(300));
  const absl::Time begin = absl::Now();
  fronted_->front().Stop(absl::Minutes(5));
  EXPECT_LT(absl::Now() - begin, absl::Minutes(2)) << "a call is left";
}

class HttpFrontCertificateTest : public TlsServerTest {};

TEST_F(HttpFrontCertificateTest, TheLeaderKnowsTheCertificateOfTheConnectionAndNoOther) {
  const std::string sha256 = Hex(*CertificateSha256(client_.certificate_pem));
  Serve(StrCat(R"({"certificates":[{"name":"lab","role":"analyst","sha256":")", sha256, "\"}]}"),
        /*mutual=*/true);
  const Certificate curator = MakeCertificate();
  Certificates peers(TlsFiles{.certificate = curator.certificate_pem,
                              .key = curator.key_pem,
                              .client_ca = curator.certificate_pem});
  const auto leader = StartLeader(peers, access_.get(), Curator());
  {
    Fronted asking(certificate_, curator, client_.certificate_pem);
    asking.Follow(leader->port());
    HttpClient lab(asking.port(), &http_tls_);
    EXPECT_EQ(lab.Send("POST", kList, {{"Content-Type", "application/json"}}, "{}").status, 200);
    const HttpTls none;
    HttpClient stranger(asking.port(), &none);
    EXPECT_EQ(stranger.Send("POST", kList, {{"Content-Type", "application/json"}}, "{}").status, 0);
  }
  // A client without a certificate has none, whatever it claims, by HTTP or by gRPC.
  Fronted open(certificate_, curator);
  open.Follow(leader->port());
  const HttpTls none;
  HttpClient liar(open.port(), &none);
  const Sha256Digest digest = *CertificateSha256(client_.certificate_pem);
  const std::string bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  EXPECT_EQ(liar.Send("POST", kList,
                      {{"Content-Type", "application/json"},
                       {kClientCertificateKey, Base64Escape(bytes)}},
                      "{}")
                .status,
            401);
  const auto channel = coppice::testing::ConnectTo(open.front().port(), certificate_);
  EXPECT_EQ(coppice::testing::CallOnce(channel, kList, {{kClientCertificateKey, bytes}})
                .status.error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  leader->Stop(absl::ZeroDuration());
}

class HttpLeaderTest : public ::testing::Test {
 protected:
  HttpResponse Call(const char* path, const HttpHeaders& more = {}) {
    HttpHeaders headers = more;
    headers.push_back({"Content-Type", "application/proto"});
    return client_.Send("POST", path, headers, "");
  }

  const Certificate certificate_ = MakeCertificate(), curator_ = MakeCertificate();
  Fronted fronted_{certificate_, curator_};
  const HttpTls tls_{};
  HttpClient client_{fronted_.port(), &tls_};
};

TEST_F(HttpLeaderTest, ACallWaitsForALeaderAsLongAsItsTimeAllows) {
  EXPECT_EQ(Call(kList, {{"Connect-Timeout-Ms", "300"}}).status, 504);
  ScriptedLeader leader(curator_);
  std::thread lead([&] {
    absl::SleepFor(absl::Milliseconds(300));
    fronted_.Follow(leader.port());
  });
  const HttpResponse answer = Call(kModel);
  lead.join();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), size_t{1} << 20) << "the bytes of the leader's message";
  EXPECT_EQ(leader.seen().calls, 1);
}

TEST_F(HttpLeaderTest, ALeaderThatIsGoneIsAskedNoMore) {
  auto leader = std::make_unique<ScriptedLeader>(curator_);
  fronted_.Follow(leader->port());
  EXPECT_EQ(Call(kModel).status, 200);
  fronted_.front().SetLeader("");
  EXPECT_EQ(Call(kModel, {{"Connect-Timeout-Ms", "300"}}).status, 504);
  EXPECT_EQ(leader->seen().calls, 1);
}

TEST_F(HttpLeaderTest, MethodsThatAreNoneAndStreamsOfClientsStayHere) {
  ScriptedLeader leader(curator_);
  fronted_.Follow(leader.port());
  EXPECT_EQ(Call("/coppice.v1.StudyService/Fresh").status, 404);
  EXPECT_EQ(Call("/grpc.health.v1.Health/Check").status, 404);
  EXPECT_EQ(Call("/coppice.v1.DatasetService/UploadRows").status, 501);
  EXPECT_EQ(Call(kList, {{"Origin", kOwnOrigin}}).status, 403) << "there is no console";
  EXPECT_EQ(leader.seen().calls, 0);
}

}  // namespace
}  // namespace coppice::daemon
