#include "client/collector.h"

#include <grpcpp/security/server_credentials.h>

#include <fstream>

#include "tests/client/certificates.h"
#include "tests/client/fake_curator.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Certificate;
using ::coppice::testing::FakeCurator;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Waits are short and there are few of them: they are the collector's own.
constexpr RetryOptions kQuick{.deadline = absl::Seconds(30),
                              .give_up_after = absl::Seconds(30),
                              .first_backoff = absl::Microseconds(10),
                              .max_backoff = absl::Microseconds(10)};
constexpr RetryOptions kOnce{.deadline = absl::Seconds(30), .give_up_after = absl::ZeroDuration()};

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

TEST(CollectorTest, FetchesTermsAndTickets) {
  const FakeCurator curator;
  ASSERT_OK_AND_ASSIGN(const auto offer, InsecureCollector(curator).FetchOffer("sample", 3));
  EXPECT_EQ(offer.terms.study, "sample");
  EXPECT_EQ(offer.fingerprint, FingerprintOf(SerializeTerms(SampleTerms())));
  ASSERT_EQ(offer.tickets.size(), 3);
  EXPECT_EQ(offer.tickets[2], SampleTicket(2));
}

TEST(CollectorTest, FetchesTicketsForKnownTermsOnly) {
  const FakeCurator curator;
  const Collector collector = InsecureCollector(curator);
  const Fingerprint fingerprint = FingerprintOf(SerializeTerms(SampleTerms()));
  ASSERT_OK_AND_ASSIGN(const auto tickets, collector.FetchTickets("sample", fingerprint, 2));
  EXPECT_EQ(tickets.size(), 2);
  EXPECT_THAT(collector.FetchTickets("sample", Fingerprint{7}, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other terms now")));
}

TEST(CollectorTest, TermsThatDoNotMatchAreDataLoss) {
  FakeCurator curator;
  EXPECT_THAT(InsecureCollector(curator).FetchOffer("another", 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("terms of study sample")));
  curator.studies.damage_fingerprint = true;
  EXPECT_THAT(InsecureCollector(curator).FetchOffer("sample", 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("do not match their fingerprint")));
}

TEST(CollectorTest, MissingTicketsAreDataLoss) {
  FakeCurator curator;
  curator.studies.forget_tickets = true;
  EXPECT_THAT(InsecureCollector(curator).FetchOffer("sample", 5),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("0 tickets where 5")));
}

TEST(CollectorTest, RefusesImpossibleRequestsItself) {
  const FakeCurator curator;
  const Collector collector = InsecureCollector(curator);
  EXPECT_THAT(collector.FetchOffer("No/Id", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("study's id")));
  for (const uint32_t tickets : {0u, 1001u}) {
    EXPECT_THAT(collector.FetchOffer("sample", tickets),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 to 1000")));
  }
  EXPECT_THAT(collector.Deliver(SampleReports(1001)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 1000")));
  auto mixed = SampleReports(2);
  mixed[1].study = "another";
  EXPECT_THAT(collector.Deliver(mixed),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one study")));
  EXPECT_TRUE(curator.reports.requests.empty());
}

TEST(CollectorTest, DeliveryTellsEachReportsFate) {
  FakeCurator curator;
  curator.reports.outcomes = {v1::REPORT_OUTCOME_ACCEPTED, v1::REPORT_OUTCOME_DUPLICATE,
                              v1::REPORT_OUTCOME_STUDY_SEALED, static_cast<v1::ReportOutcome>(99)};
  ASSERT_OK_AND_ASSIGN(const auto results, InsecureCollector(curator).Deliver(SampleReports(4)));
  EXPECT_EQ(results[0].delivery, Delivery::kAccepted);
  EXPECT_EQ(results[1].delivery, Delivery::kDuplicate);
  EXPECT_EQ(results[2].delivery, Delivery::kRefused);
  EXPECT_EQ(results[2].reason, "study sealed");
  EXPECT_EQ(results[3].delivery, Delivery::kRefused);
  EXPECT_THAT(results[3].reason, HasSubstr("99"));
}

TEST(CollectorTest, AnswerOfAnotherLengthIsDataLoss) {
  const FakeCurator curator;
  EXPECT_THAT(InsecureCollector(curator).Deliver(SampleReports(2)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("1 reports where 2")));
}

TEST(CollectorTest, EveryTrySendsTheSameBytes) {
  FakeCurator curator;
  curator.reports.failures = 3;
  EXPECT_OK(InsecureCollector(curator).Deliver(SampleReports(1)));
  ASSERT_EQ(curator.reports.requests.size(), 4);
  EXPECT_THAT(curator.reports.requests, Each(curator.reports.requests[0]));
}

TEST(CollectorTest, DoesNotRepeatWhatFailedForGood) {
  FakeCurator curator;
  curator.reports.failures = 3;
  curator.reports.failure = {grpc::StatusCode::INVALID_ARGUMENT, "too many reports"};
  EXPECT_THAT(InsecureCollector(curator).Deliver(SampleReports(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, "too many reports"));
  EXPECT_EQ(curator.reports.requests.size(), 1);
}

TEST(CollectorTest, NobodyThereSaysWhereAndWhatToCheck) {
  ASSERT_OK_AND_ASSIGN(const Collector collector,
                       Collector::Create({.server = "127.0.0.1:1", .insecure = true}, kOnce));
  EXPECT_THAT(collector.FetchOffer("sample", 1),
              StatusIs(absl::StatusCode::kUnavailable,
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
  EXPECT_OK(collector.FetchOffer("sample", 1));
}

TEST_F(TlsTest, AnotherCaIsRefusedWithAHint) {
  const FakeCurator curator(ServerWith(MakeCertificate()));
  ASSERT_OK_AND_ASSIGN(
      const Collector collector,
      Collector::Create({.server = curator.address(),
                         .ca_file = Write("ca.pem", MakeCertificate().certificate_pem)},
                        kOnce));
  EXPECT_THAT(collector.FetchOffer("sample", 1),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("no TLS connection"), HasSubstr("CA certificate"))));
}

TEST_F(TlsTest, FilesAreCheckedBeforeConnecting) {
  const Certificate good = MakeCertificate();
  const std::string good_file = Write("good.pem", good.certificate_pem);
  const std::string server = "localhost:1";
  EXPECT_THAT(Connect({.server = server, .ca_file = dir_.path() + "/none"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
  EXPECT_THAT(Connect({.server = server, .ca_file = Write("text.pem", "hello")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a PEM file")));
  EXPECT_THAT(Connect({.server = server,
                       .ca_file = Write("old.pem", MakeCertificate(-60).certificate_pem)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has expired")));
  EXPECT_THAT(Connect({.server = server, .cert_file = good_file, .key_file = good_file}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("private key")));
  EXPECT_THAT(Connect({.server = server,
                       .cert_file = good_file,
                       .key_file = Write("other.key", MakeCertificate().key_pem)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not belong")));
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
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("loopback")));
    EXPECT_OK(CheckConnectOptions({.server = host + ":80"}));
  }
}

TEST(CheckConnectOptionsTest, RefusesWhatIsNoAddress) {
  for (const char* server : {"", "localhost", ":80", "localhost:", "localhost:0", "localhost:65536",
                             "localhost:8o", "::1:80", "[]:80", "http://localhost:80"}) {
    EXPECT_THAT(CheckConnectOptions({.server = server}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << server;
  }
}

TEST(CheckConnectOptionsTest, CertificateAndKeyGoTogether) {
  EXPECT_THAT(CheckConnectOptions({.server = "a:1", .cert_file = "c"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("together")));
  EXPECT_THAT(CheckConnectOptions({.server = "localhost:1", .ca_file = "c", .insecure = true}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no CA")));
}

}  // namespace
}  // namespace coppice
