// What travels between a device and a relay, over gRPC in this process.

#include "client/collector/relay_client.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/wire/manifest.h"
#include "coppice/v1/relay.grpc.pb.h"
#include "tests/client/relay/fake_deal.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Envelope;
using ::coppice::testing::FakeDealOffer;
using ::coppice::testing::OfferOf;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

class FakeRelay final : public v1::RelayService::Service {
 public:
  grpc::Status GetRelayTerms(grpc::ServerContext*, const v1::GetRelayTermsRequest* request,
                             v1::GetRelayTermsResponse* response) override {
    asked = request->study();
    const DealOffer offer = FakeDealOffer();
    response->set_relay_terms(offer.relay_terms);
    response->set_signature(std::string(offer.signature.begin(), offer.signature.end()));
    response->set_terms(offer.terms);
    *response->mutable_manifest() = ToProto(offer.manifest);
    tamper(*response);
    return grpc::Status::OK;
  }
  grpc::Status TakeOffer(grpc::ServerContext*, const v1::TakeOfferRequest* request,
                         v1::TakeOfferResponse* response) override {
    asked = absl::StrCat(request->study(), " ", request->epoch());
    response->set_envelope(Envelope(OfferOf(SampleTicket(3)).SerializeAsString()));
    return take;
  }
  grpc::Status SubmitSealedReport(grpc::ServerContext*,
                                  const v1::SubmitSealedReportRequest* request,
                                  v1::SubmitSealedReportResponse* response) override {
    requests.push_back(*request);
    if (requests.size() <= failures) return {grpc::StatusCode::UNAVAILABLE, "not now"};
    response->set_outcome(outcome);
    return grpc::Status::OK;
  }

  std::string asked;
  std::function<void(v1::GetRelayTermsResponse&)> tamper = [](v1::GetRelayTermsResponse&) {};
  grpc::Status take = grpc::Status::OK;
  std::vector<v1::SubmitSealedReportRequest> requests;
  size_t failures = 0;
  v1::SubmitOutcome outcome = v1::SUBMIT_OUTCOME_STORED;
};

class RelayClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&relay_);
    server_ = builder.BuildAndStart();
    const RetryOptions retry{.deadline = absl::Seconds(5),
                             .give_up_after = absl::Seconds(5),
                             .first_backoff = absl::Milliseconds(1)};
    auto client =
        RelayClient::Create({.server = absl::StrCat("127.0.0.1:", port), .insecure = true}, retry);
    ASSERT_OK(client.status());
    client_ = std::make_unique<RelayClient>(*std::move(client));
  }

  static JournalEntry Entry() {
    JournalEntry entry{.subject = "anna", .epsilon = *Budget::FromEpsilon(2), .report = {}};
    entry.report.study = "sample";
    entry.report.ticket = SampleTicket(3);
    entry.sealed = SealedAnswer{
        .relay = {1}, .epoch = {5}, .claim = {6}, .encapsulated = {7}, .ciphertext = "sealed"};
    return entry;
  }

  FakeRelay relay_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<RelayClient> client_;
};

TEST_F(RelayClientTest, WhatTheRelaySaysComesAsItIs) {
  ASSERT_OK_AND_ASSIGN(const DealOffer offer, client_->GetRelayTerms("sample"));
  EXPECT_EQ(relay_.asked, "studies/sample");
  EXPECT_EQ(offer.relay_terms, FakeDealOffer().relay_terms);
  EXPECT_EQ(offer.signature, FakeDealOffer().signature);
  EXPECT_EQ(offer.terms, FakeDealOffer().terms);
  EXPECT_EQ(offer.manifest.bytes, FakeDealOffer().manifest.bytes);
  EXPECT_EQ(offer.manifest.signature, FakeDealOffer().manifest.signature);
}

TEST_F(RelayClientTest, TermsWithoutASignatureOrAManifestAreNone) {
  relay_.tamper = [](v1::GetRelayTermsResponse& response) { response.set_signature("short"); };
  EXPECT_THAT(client_->GetRelayTerms("sample").status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("without a signature")));
  relay_.tamper = [](v1::GetRelayTermsResponse& response) { response.clear_manifest(); };
  EXPECT_THAT(client_->GetRelayTerms("sample").status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bad manifest")));
}

TEST_F(RelayClientTest, ATicketComesForTheDealThatWasAgreedTo) {
  const EpochId epoch{'e'};
  ASSERT_OK_AND_ASSIGN(const std::string envelope, client_->TakeOffer("sample", epoch));
  EXPECT_EQ(envelope.size(), testing::kOfferBytes);
  EXPECT_EQ(relay_.asked, "studies/sample e" + std::string(15, '\0'));
  relay_.take = {grpc::StatusCode::RESOURCE_EXHAUSTED, "no ticket is left"};
  EXPECT_THAT(client_->TakeOffer("sample", epoch).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no ticket is left")));
}

TEST_F(RelayClientTest, ASealedReportTravelsWithItsClaimAndNothingOfItsDevice) {
  relay_.failures = 2;
  ASSERT_OK_AND_ASSIGN(const SubmitOutcome outcome, client_->Submit(Entry()));
  EXPECT_EQ(outcome, SubmitOutcome::kStored);
  ASSERT_EQ(relay_.requests.size(), 3u);
  const v1::SubmitSealedReportRequest& sent = relay_.requests[2];
  EXPECT_EQ(relay_.requests[0].SerializeAsString(), sent.SerializeAsString());
  EXPECT_EQ(sent.epoch(), "\5" + std::string(15, '\0'));
  EXPECT_EQ(sent.ticket(), SampleTicket(3).ToBytes());
  EXPECT_EQ(sent.claim(), "\6" + std::string(15, '\0'));
  EXPECT_EQ(sent.encapsulated(), "\7" + std::string(31, '\0'));
  EXPECT_EQ(sent.ciphertext(), "sealed");
  EXPECT_THAT(sent.SerializeAsString(), ::testing::Not(HasSubstr("anna")));
}

TEST_F(RelayClientTest, EveryOutcomeIsRead) {
  for (const auto& [sent, read] :
       {std::pair{v1::SUBMIT_OUTCOME_STORED, SubmitOutcome::kStored},
        std::pair{v1::SUBMIT_OUTCOME_CONFLICT, SubmitOutcome::kConflict},
        std::pair{v1::SUBMIT_OUTCOME_CLOSED, SubmitOutcome::kClosed},
        std::pair{v1::SUBMIT_OUTCOME_UNKNOWN, SubmitOutcome::kUnknown},
        std::pair{v1::SUBMIT_OUTCOME_BAD_LENGTH, SubmitOutcome::kBadLength}}) {
    relay_.outcome = sent;
    EXPECT_EQ(*client_->Submit(Entry()), read);
  }
  // None is final that this version does not know.
  for (const int unknown : {0, 77}) {
    relay_.outcome = static_cast<v1::SubmitOutcome>(unknown);
    EXPECT_THAT(client_->Submit(Entry()).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(absl::StrCat(unknown))));
  }
}

}  // namespace
}  // namespace coppice
