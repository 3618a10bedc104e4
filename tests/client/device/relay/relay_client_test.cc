// What travels between a device and a relay, over gRPC in this process.

#include "client/device/grpc/relay_client.h"

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/client/device/relay/fake_deal.h"
#include "tests/client/device/relay/fake_relay.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeDealOffer;
using ::coppice::testing::FakeRelay;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

class RelayClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const RetryOptions retry{.deadline = absl::Seconds(30),
                             .give_up_after = absl::Seconds(30),
                             .first_backoff = absl::Milliseconds(1)};
    auto client = RelayClient::Create({.server = relay_.address(), .insecure = true}, retry);
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

TEST_F(RelayClientTest, TheSystemsAuthoritiesDoNotVouchForARelay) {
  EXPECT_THAT(RelayClient::Create({.server = "relay.example:7443"}, {}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--relay-ca")));
}

TEST_F(RelayClientTest, TermsWithoutASignatureOrAManifestAreNone) {
  relay_.tamper = [](v1::GetRelayTermsResponse& response) { response.set_signature("short"); };
  EXPECT_THAT(client_->GetRelayTerms("sample").status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("without a signature")));
  relay_.tamper = [](v1::GetRelayTermsResponse& response) { response.clear_manifest(); };
  EXPECT_THAT(client_->GetRelayTerms("sample").status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("bad manifest")));
}

TEST_F(RelayClientTest, ATicketComesForTheDealThatWasAgreedTo) {
  const EpochId epoch{'e'};
  ASSERT_OK_AND_ASSIGN(const std::string envelope, client_->TakeOffer("sample", epoch));
  EXPECT_EQ(envelope.size(), testing::kOfferBytes);
  EXPECT_EQ(relay_.asked, "studies/sample e" + std::string(15, '\0'));
  relay_.take = {grpc::StatusCode::RESOURCE_EXHAUSTED, "no ticket is left"};
  EXPECT_THAT(client_->TakeOffer("sample", epoch).status(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("no ticket is left")));
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
                StatusIs(StatusCode::kDataLoss, HasSubstr(StrCat(unknown))));
  }
}

}  // namespace
}  // namespace coppice
