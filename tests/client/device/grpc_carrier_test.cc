#include "client/device/grpc/grpc_carrier.h"

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/server_credentials.h>

#include <fstream>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "tests/client/device/certificates.h"
#include "tests/client/device/fake_curator.h"
#include "tests/support/collector.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Certificate;
using ::coppice::testing::FakeCurator;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Waits are real, so they are few and short.
const RetryOptions kQuick{.deadline = absl::Seconds(30),
                          .give_up_after = absl::Seconds(30),
                          .first_backoff = absl::Microseconds(10),
                          .max_backoff = absl::Microseconds(10)};
const RetryOptions kOnce{.deadline = absl::Seconds(30), .give_up_after = absl::ZeroDuration()};

Collector InsecureCollector(const FakeCurator& curator, const RetryOptions& retry = kQuick) {
  return *Collector::Create({.server = curator.address(), .insecure = true}, retry);
}

std::vector<PrivateReport> SampleReports(size_t count) {
  std::vector<PrivateReport> reports;
  for (size_t i = 0; i < count; ++i) {
    reports.push_back({.study = "sample",
                       .fingerprint = {1},
                       .ticket = SampleTicket(static_cast<uint8_t>(i)),
                       .payload = "payload"});
  }
  return reports;
}

TEST(GrpcCarrierTest, DeliveryTellsEachReportsFate) {
  FakeCurator curator;
  curator.reports.outcomes = {v1::REPORT_OUTCOME_ACCEPTED, v1::REPORT_OUTCOME_DUPLICATE,
                              v1::REPORT_OUTCOME_STUDY_SEALED, static_cast<v1::ReportOutcome>(99)};
  ASSERT_OK_AND_ASSIGN(const auto results, InsecureCollector(curator).Deliver(SampleReports(4)));
  EXPECT_EQ(results[0].delivery, Delivery::kAccepted);
  EXPECT_EQ(results[1].delivery, Delivery::kDuplicate);
  EXPECT_EQ(results[2].delivery, Delivery::kRefused);
  EXPECT_EQ(results[2].reason, "study sealed");
  EXPECT_EQ(results[3].delivery, Delivery::kRefused);
}

TEST(GrpcCarrierTest, AnswerOfAnotherLengthIsDataLoss) {
  const FakeCurator curator;
  EXPECT_THAT(InsecureCollector(curator).Deliver(SampleReports(2)),
              StatusIs(StatusCode::kDataLoss, HasSubstr("what became of them is not known")));
}

TEST(GrpcCarrierTest, EveryTrySendsTheSameBytes) {
  FakeCurator curator;
  curator.reports.failures = 3;
  EXPECT_OK(InsecureCollector(curator).Deliver(SampleReports(1)));
  ASSERT_EQ(curator.reports.requests.size(), 4);
  EXPECT_THAT(curator.reports.requests, Each(curator.reports.requests[0]));
}

TEST(GrpcCarrierTest, WaitsAsLongAsTheCuratorAsks) {
  FakeCurator curator;
  curator.reports.failures = 1;
  curator.reports.failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "busy"};
  curator.reports.pushback = "700";
  const absl::Time start = absl::Now();
  EXPECT_OK(InsecureCollector(curator).Deliver(SampleReports(1)));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(700));
  EXPECT_EQ(curator.reports.requests.size(), 2);
}

TEST(GrpcCarrierTest, DoesNotRepeatWhatIsExhaustedWhenTheCuratorDoesNotSayWhenToComeAgain) {
  FakeCurator curator;
  curator.reports.failures = 3;
  curator.reports.failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "message larger than max"};
  EXPECT_THAT(InsecureCollector(curator).Deliver(SampleReports(1)),
              StatusIs(StatusCode::kResourceExhausted, "message larger than max"));
  EXPECT_EQ(curator.reports.requests.size(), 1);
}

TEST(GrpcCarrierTest, DoesNotRepeatWhatFailedForGood) {
  FakeCurator curator;
  curator.reports.failures = 3;
  curator.reports.failure = {grpc::StatusCode::INVALID_ARGUMENT, "too many reports"};
  EXPECT_THAT(InsecureCollector(curator).Deliver(SampleReports(1)),
              StatusIs(StatusCode::kInvalidArgument, "too many reports"));
  EXPECT_EQ(curator.reports.requests.size(), 1);
}

TEST(GrpcCarrierTest, NobodyThereSaysWhereAndWhatToCheck) {
  ASSERT_OK_AND_ASSIGN(const Collector collector,
                       Collector::Create({.server = "127.0.0.1:1", .insecure = true}, kOnce));
  EXPECT_THAT(collector.FetchOffer("sample"),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("nobody answers at 127.0.0.1:1"), HasSubstr("refused"))));
}

class TlsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = dir_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  static std::shared_ptr<grpc::ServerCredentials> ServerWith(const Certificate& certificate) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({certificate.key_pem, certificate.certificate_pem});
    return grpc::SslServerCredentials(options);
  }

  TempDir dir_;
};

TEST_F(TlsTest, ConnectsToTheCertificateItTrusts) {
  const Certificate certificate = MakeCertificate();
  const FakeCurator curator(ServerWith(certificate));
  ASSERT_OK_AND_ASSIGN(const Collector collector,
                       Collector::Create({.server = curator.address(),
                                          .ca_file = Write("ca.pem", certificate.certificate_pem)},
                                         kOnce));
  EXPECT_OK(collector.FetchOffer("sample"));
}

TEST_F(TlsTest, AnotherCaIsRefusedWithAHint) {
  const FakeCurator curator(ServerWith(MakeCertificate()));
  ASSERT_OK_AND_ASSIGN(
      const Collector collector,
      Collector::Create({.server = curator.address(),
                         .ca_file = Write("ca.pem", MakeCertificate().certificate_pem)},
                        kOnce));
  EXPECT_THAT(collector.FetchOffer("sample"),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("no TLS connection"), HasSubstr("CA certificate"))));
}

// Records how every call was authorized.
class NotingProcessor final : public grpc::AuthMetadataProcessor {
 public:
  explicit NotingProcessor(std::string& noted) : noted_(noted) {}
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata*,
                       OutputMetadata*) override {
    const auto found = metadata.find("authorization");
    noted_ = found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
    return grpc::Status::OK;
  }

 private:
  std::string& noted_;
};

TEST_F(TlsTest, SendsTheTokenWithEveryCall) {
  const Certificate certificate = MakeCertificate();
  std::string noted;
  const auto credentials = ServerWith(certificate);
  credentials->SetAuthMetadataProcessor(std::make_shared<NotingProcessor>(noted));
  const FakeCurator curator(credentials);
  ASSERT_OK_AND_ASSIGN(const Collector collector,
                       Collector::Create({.server = curator.address(),
                                          .ca_file = Write("ca.pem", certificate.certificate_pem),
                                          .token_file = Write("token", " coppice_abc\n")},
                                         kOnce));
  EXPECT_OK(collector.FetchOffer("sample"));
  EXPECT_EQ(noted, "Bearer coppice_abc");
  EXPECT_OK(collector.Deliver(SampleReports(1)));
  EXPECT_EQ(noted, "Bearer coppice_abc");
}

TEST_F(TlsTest, FilesOfEditorsThatPutAByteOrderMarkAreRead) {
  const std::string mark = "\xEF\xBB\xBF";
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       ReadTokenFile(Write("token", mark + "coppice_abc\r\n")));
  EXPECT_EQ(token, "coppice_abc");
  const Certificate good = MakeCertificate();
  EXPECT_OK(Connect({.server = "localhost:1",
                     .ca_file = Write("ca.pem", mark + good.certificate_pem),
                     .cert_file = Write("client.crt", mark + good.certificate_pem),
                     .key_file = Write("client.key", mark + good.key_pem)}));
  EXPECT_THAT(ReadTokenFile(Write("wide", std::string("\xFF\xFEt\0", 4))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("save it as UTF-8")));
}

TEST_F(TlsTest, ATokenFileHoldsOneToken) {
  for (const char* text : {"\n", "two words", "two\nlines\n", "caf\xc3\xa9"}) {
    EXPECT_THAT(Connect({.server = "localhost:1", .token_file = Write("token", text)}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("one token on one line")))
        << text;
  }
  EXPECT_THAT(Connect({.server = "localhost:1", .token_file = dir_.path() + "/none"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
}

TEST_F(TlsTest, FilesAreCheckedBeforeConnecting) {
  const Certificate good = MakeCertificate();
  const std::string good_file = Write("good.pem", good.certificate_pem);
  const std::string server = "localhost:1";
  EXPECT_THAT(Connect({.server = server, .ca_file = dir_.path() + "/none"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
  EXPECT_THAT(Connect({.server = server, .ca_file = dir_.path()}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
  EXPECT_THAT(Connect({.server = server, .ca_file = Write("text.pem", "hello")}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a PEM file")));
  EXPECT_THAT(Connect({.server = server,
                       .ca_file = Write("old.pem", MakeCertificate(-60).certificate_pem)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has expired")));
  EXPECT_THAT(Connect({.server = server, .cert_file = good_file, .key_file = good_file}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("private key")));
  EXPECT_THAT(Connect({.server = server,
                       .cert_file = good_file,
                       .key_file = Write("other.key", MakeCertificate().key_pem)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not belong")));
  EXPECT_OK(Connect({.server = server,
                     .ca_file = good_file,
                     .cert_file = good_file,
                     .key_file = Write("good.key", good.key_pem)}));
}

TEST(CheckConnectOptionsTest, InsecureIsForLoopbackOnly) {
  for (const std::string host : {"localhost", "127.0.0.1", "127.9.9.9", "[::1]"}) {
    EXPECT_OK(CheckConnectOptions({.server = host + ":80", .insecure = true})) << host;
  }
  for (const std::string host : {"example.com", "10.0.0.1", "127.0.0.1.example.com", "[::2]"}) {
    EXPECT_THAT(CheckConnectOptions({.server = host + ":80", .insecure = true}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("loopback")));
    EXPECT_OK(CheckConnectOptions({.server = host + ":80"}));
  }
}

TEST(CheckConnectOptionsTest, RefusesWhatIsNoAddress) {
  for (const char* server : {"", "localhost", ":80", "localhost:", "localhost:0", "localhost:65536",
                             "localhost:8o", "::1:80", "[]:80", "http://localhost:80"}) {
    EXPECT_THAT(CheckConnectOptions({.server = server}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << server;
  }
}

TEST(CheckConnectOptionsTest, ATokenIsNotSentWithoutTls) {
  EXPECT_THAT(CheckConnectOptions({.server = "localhost:1", .token_file = "t", .insecure = true}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("show the token")));
}

TEST(CheckConnectOptionsTest, CertificateAndKeyGoTogether) {
  EXPECT_THAT(CheckConnectOptions({.server = "a:1", .cert_file = "c"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("together")));
  EXPECT_THAT(CheckConnectOptions({.server = "localhost:1", .ca_file = "c", .insecure = true}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no CA")));
}

TEST(GrpcCarrierTest, ACallThatTheServerCutOffIsTriedAgain) {
  FakeCurator curator;
  curator.reports.failures = 1;
  curator.reports.failure = {grpc::StatusCode::CANCELLED, "Cancelled"};
  const RetryOptions quick{.first_backoff = absl::Milliseconds(1)};
  ASSERT_OK_AND_ASSIGN(const Collector collector,
                       Collector::Create({.server = curator.address(), .insecure = true}, quick));
  ASSERT_OK_AND_ASSIGN(const auto results,
                       collector.Deliver({PrivateReport{
                           .study = "sample", .ticket = SampleTicket(1), .payload = "p"}}));
  EXPECT_EQ(results[0].delivery, Delivery::kAccepted);
  EXPECT_EQ(curator.reports.requests.size(), 2u);
}

}  // namespace
}  // namespace coppice
