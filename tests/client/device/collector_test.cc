#include "client/device/grpc/connect.h"

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/server_credentials.h>

#include <fstream>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "tests/client/device/certificates.h"
#include "tests/client/device/fake_curator.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Certificate;
using ::coppice::testing::FakeCurator;
using ::coppice::testing::FakeForest;
using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

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

TEST(CollectorTest, FetchesTermsATicketAndItsTree) {
  const FakeCurator curator;
  ASSERT_OK_AND_ASSIGN(const auto offer, InsecureCollector(curator).FetchOffer("sample"));
  EXPECT_EQ(offer.terms.study, "sample");
  EXPECT_EQ(offer.fingerprint, FingerprintOf(SerializeTerms(FakeTerms())));
  ASSERT_EQ(offer.tickets.size(), 1);
  EXPECT_EQ(offer.tickets[0], SampleTicket(0));
  const uint32_t tree = TreeOfTicket(SampleTicket(0), 9);
  ASSERT_THAT(offer.trees, ElementsAre(Key(tree)));
  EXPECT_EQ(offer.trees.at(tree), FakeForest()[tree]);
}

TEST(CollectorTest, AGatewayFetchesTheWholeForest) {
  const FakeCurator curator;
  ASSERT_OK_AND_ASSIGN(const auto offer, InsecureCollector(curator).FetchForest("sample", 3));
  ASSERT_EQ(offer.tickets.size(), 3);
  EXPECT_EQ(offer.tickets[2], SampleTicket(2));
  EXPECT_EQ(offer.trees, AllTrees(FakeForest()));
}

TEST(CollectorTest, FetchesTicketsForKnownTermsOnly) {
  const FakeCurator curator;
  const Collector collector = InsecureCollector(curator);
  const Fingerprint fingerprint = FingerprintOf(SerializeTerms(FakeTerms()));
  ASSERT_OK_AND_ASSIGN(const auto tickets, collector.FetchTickets("sample", fingerprint, 2));
  EXPECT_EQ(tickets.size(), 2);
  EXPECT_THAT(collector.FetchTickets("sample", Fingerprint{7}, 2),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other terms now")));
}

TEST(CollectorTest, FetchesATicketAndItsTreeForKnownTerms) {
  FakeCurator curator;
  const Collector collector = InsecureCollector(curator);
  ASSERT_OK_AND_ASSIGN(const auto first, collector.FetchOffer("sample"));
  curator.studies.tamper = [](v1::GetOfferResponse& response) { EXPECT_EQ(response.terms(), ""); };
  ASSERT_OK_AND_ASSIGN(const auto offer, collector.FetchOffer(first.terms, first.fingerprint));
  EXPECT_EQ(offer.terms.study, "sample");
  EXPECT_EQ(offer.fingerprint, first.fingerprint);
  EXPECT_EQ(offer.tickets, first.tickets);
  EXPECT_EQ(offer.trees, first.trees);
  curator.studies.tamper = [](v1::GetOfferResponse& response) { response.clear_tree_path(); };
  EXPECT_THAT(collector.FetchOffer(first.terms, first.fingerprint),
              StatusIs(StatusCode::kDataLoss, HasSubstr("stand for")));
  curator.studies.tamper = [](v1::GetOfferResponse&) {};
  EXPECT_THAT(collector.FetchOffer(first.terms, Fingerprint{7}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other terms now")));
}

TEST(CollectorTest, TermsThatDoNotMatchAreDataLoss) {
  FakeCurator curator;
  EXPECT_THAT(InsecureCollector(curator).FetchOffer("another"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("terms of study sample")));
  curator.studies.tamper = [](v1::GetOfferResponse& response) {
    response.set_fingerprint(std::string(32, 'x'));
  };
  EXPECT_THAT(InsecureCollector(curator).FetchOffer("sample"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("do not match their fingerprint")));
}

TEST(CollectorTest, MissingTicketsAreDataLoss) {
  FakeCurator curator;
  curator.studies.tamper = [](v1::GetOfferResponse& response) { response.clear_tickets(); };
  EXPECT_THAT(InsecureCollector(curator).FetchForest("sample", 5),
              StatusIs(StatusCode::kDataLoss, HasSubstr("0 tickets where 5")));
  EXPECT_THAT(InsecureCollector(curator).FetchOffer("sample"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("0 tickets where 1")));
}

// A curator that answers a device with another tree than its ticket's.
class HostileTreeTest : public ::testing::Test {
 protected:
  void ExpectDataLoss(std::function<void(v1::GetOfferResponse&)> tamper) {
    curator_.studies.tamper = std::move(tamper);
    EXPECT_THAT(InsecureCollector(curator_).FetchOffer("sample"),
                StatusIs(StatusCode::kDataLoss, HasSubstr("terms of study sample stand for")));
  }

  FakeCurator curator_;
  const PackedForest& packed_ = curator_.studies.packed;
  const uint32_t tree_ = TreeOfTicket(SampleTicket(0), 9);
};

TEST_F(HostileTreeTest, NoTreeOrNoPath) {
  ExpectDataLoss([](v1::GetOfferResponse& response) { response.clear_tree(); });
  ExpectDataLoss([](v1::GetOfferResponse& response) { response.clear_tree_path(); });
}

TEST_F(HostileTreeTest, AnotherTicketsTreeWithItsOwnPath) {
  for (uint32_t other = 0; other < 9; ++other) {
    if (other == tree_) continue;
    ExpectDataLoss([&](v1::GetOfferResponse& response) {
      response.set_tree(packed_.trees[other]);
      response.set_tree_path(packed_.merkle.paths[other]);
    });
  }
}

TEST_F(HostileTreeTest, AnotherTicketWithTheFirstOnesTree) {
  uint8_t other = 1;
  while (TreeOfTicket(SampleTicket(other), 9) == tree_) ++other;
  ExpectDataLoss([&](v1::GetOfferResponse& response) {
    response.set_tickets(0, SampleTicket(other).ToBytes());
  });
}

TEST_F(HostileTreeTest, APathTooShortOrTooLong) {
  for (const size_t missing : {size_t{1}, kMerkleHashBytes}) {
    ExpectDataLoss([&](v1::GetOfferResponse& response) {
      response.mutable_tree_path()->resize(response.tree_path().size() - missing);
    });
  }
  for (const size_t added : {size_t{1}, kMerkleHashBytes, size_t{1} << 20}) {
    ExpectDataLoss(
        [&](v1::GetOfferResponse& response) { response.mutable_tree_path()->append(added, 'x'); });
  }
}

TEST_F(HostileTreeTest, ATreeWithAnotherThreshold) {
  ExpectDataLoss([](v1::GetOfferResponse& response) {
    v1::Tree tree;
    ASSERT_TRUE(tree.ParseFromString(response.tree()));
    tree.set_thresholds(0, 3.25);
    response.set_tree(tree.SerializeAsString());
  });
}

// The fingerprint would differ then, so such a curator has to sign terms for each victim.
TEST_F(HostileTreeTest, ATreeOfTheCuratorsOwnNeedsOtherTermsUnderItsSignature) {
  bool signs = false;
  curator_.studies.tamper = [&](v1::GetOfferResponse& response) {
    Forest forest = FakeForest();
    forest[tree_] = Tree::SingleLeaf();
    const PackedForest packed = PackForest(forest);
    Terms terms = FakeTerms();
    terms.forest_root = packed.merkle.root;
    response.set_terms(SerializeTerms(terms));
    const Fingerprint fingerprint = FingerprintOf(response.terms());
    response.mutable_fingerprint()->assign(fingerprint.begin(), fingerprint.end());
    response.set_tree(packed.trees[tree_]);
    response.set_tree_path(packed.merkle.paths[tree_]);
    if (!signs) return;
    *response.mutable_manifest() = ToProto(coppice::testing::Sign(FakeKey(), FakeManifest(terms)));
  };
  EXPECT_THAT(InsecureCollector(curator_).FetchOffer("sample"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("about other terms")));
  signs = true;
  ASSERT_OK_AND_ASSIGN(const auto offer, InsecureCollector(curator_).FetchOffer("sample"));
  EXPECT_NE(offer.fingerprint, FingerprintOf(SerializeTerms(FakeTerms())));
}

TEST_F(HostileTreeTest, AForestWithATreeLessMovedOrTampered) {
  const std::vector<std::function<void(v1::GetOfferResponse&)>> tampers = {
      [](v1::GetOfferResponse& response) { response.mutable_forest()->RemoveLast(); },
      [](v1::GetOfferResponse& response) { response.clear_forest(); },
      [](v1::GetOfferResponse& response) { response.mutable_forest()->SwapElements(3, 4); },
      [](v1::GetOfferResponse& response) { response.add_forest(response.forest(0)); },
      [](v1::GetOfferResponse& response) { response.mutable_forest(2)->append("x"); }};
  for (const auto& tamper : tampers) {
    curator_.studies.tamper = tamper;
    EXPECT_THAT(InsecureCollector(curator_).FetchForest("sample", 1),
                StatusIs(StatusCode::kDataLoss, HasSubstr("terms of study sample stand for")));
  }
}

TEST(CollectorTest, RefusesImpossibleRequestsItself) {
  const FakeCurator curator;
  const Collector collector = InsecureCollector(curator);
  EXPECT_THAT(collector.FetchOffer("No/Id"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("study's id")));
  for (const uint32_t tickets : {0u, 1001u}) {
    EXPECT_THAT(collector.FetchForest("sample", tickets),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1000")));
  }
  EXPECT_THAT(collector.Deliver(SampleReports(1001)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 1000")));
  auto mixed = SampleReports(2);
  mixed[1].study = "another";
  EXPECT_THAT(collector.Deliver(mixed),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one study")));
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
              StatusIs(StatusCode::kDataLoss, HasSubstr("1 reports where 2")));
}

TEST(CollectorTest, EveryTrySendsTheSameBytes) {
  FakeCurator curator;
  curator.reports.failures = 3;
  EXPECT_OK(InsecureCollector(curator).Deliver(SampleReports(1)));
  ASSERT_EQ(curator.reports.requests.size(), 4);
  EXPECT_THAT(curator.reports.requests, Each(curator.reports.requests[0]));
}

TEST(CollectorTest, WaitsAsLongAsTheCuratorAsks) {
  FakeCurator curator;
  curator.reports.failures = 1;
  curator.reports.failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "busy"};
  curator.reports.pushback = "700";
  const absl::Time start = absl::Now();
  EXPECT_OK(InsecureCollector(curator).Deliver(SampleReports(1)));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(700));
  EXPECT_EQ(curator.reports.requests.size(), 2);
}

TEST(CollectorTest, DoesNotRepeatWhatIsExhaustedWhenTheCuratorDoesNotSayWhenToComeAgain) {
  FakeCurator curator;
  curator.reports.failures = 3;
  curator.reports.failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "message larger than max"};
  EXPECT_THAT(InsecureCollector(curator).Deliver(SampleReports(1)),
              StatusIs(StatusCode::kResourceExhausted, "message larger than max"));
  EXPECT_EQ(curator.reports.requests.size(), 1);
}

TEST(CollectorTest, DoesNotRepeatWhatFailedForGood) {
  FakeCurator curator;
  curator.reports.failures = 3;
  curator.reports.failure = {grpc::StatusCode::INVALID_ARGUMENT, "too many reports"};
  EXPECT_THAT(InsecureCollector(curator).Deliver(SampleReports(1)),
              StatusIs(StatusCode::kInvalidArgument, "too many reports"));
  EXPECT_EQ(curator.reports.requests.size(), 1);
}

TEST(CollectorTest, NobodyThereSaysWhereAndWhatToCheck) {
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

TEST(CollectorTest, SubmissionTokensTravelWithTheRequest) {
  const FakeCurator curator;
  const Collector collector = InsecureCollector(curator);
  const Fingerprint known = FingerprintOf(SerializeTerms(FakeTerms()));
  ASSERT_OK(collector.FetchOffer("sample", "one"));
  EXPECT_THAT(curator.studies.tokens, ElementsAre("one"));
  ASSERT_OK(collector.FetchOffer(FakeTerms(), known, "again"));
  EXPECT_THAT(curator.studies.tokens, ElementsAre("again"));
  ASSERT_OK(collector.FetchForest("sample", 2, {"b", "a"}));
  EXPECT_THAT(curator.studies.tokens, ElementsAre("b", "a"));
  ASSERT_OK(collector.FetchTickets("sample", known, 2, {"d", "c"}));
  EXPECT_THAT(curator.studies.tokens, ElementsAre("d", "c"));
  ASSERT_OK(collector.FetchOffer("sample"));
  EXPECT_THAT(curator.studies.tokens, ElementsAre());
}

TEST(CheckConnectOptionsTest, CertificateAndKeyGoTogether) {
  EXPECT_THAT(CheckConnectOptions({.server = "a:1", .cert_file = "c"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("together")));
  EXPECT_THAT(CheckConnectOptions({.server = "localhost:1", .ca_file = "c", .insecure = true}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no CA")));
}

TEST(CollectorTest, KnowsACuratorByAProofOfItsKey) {
  FakeCurator curator;
  ASSERT_OK_AND_ASSIGN(
      const Collector collector,
      Collector::Create({.server = curator.address(), .insecure = true}, RetryOptions()));
  EXPECT_OK(collector.CheckIs(FakeKey().public_key()));
  EXPECT_THAT(collector.CheckIs(FakeKey(2).public_key()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is another one")));

  // Keys are public, so anybody can claim one.
  curator.studies.key = FakeKey(2);
  EXPECT_THAT(collector.CheckIs(FakeKey().public_key()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not prove")));
}

TEST(CollectorTest, ACallThatTheServerCutOffIsTriedAgain) {
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
