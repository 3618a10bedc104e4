// What a device makes of a curator's and a relay's answers.

#include "client/device/messages/messages.h"

#include "client/device/messages/relay_messages.h"
#include "common/base/text.h"
#include "common/terms/key_chain.h"
#include "common/wire/proto/manifest.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/report.pb.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MessagesTest, AProofIsOneOfItsChallengeAlone) {
  v1::GetCuratorKeysResponse response;
  const SigningKey key = FakeKey(2);
  response.mutable_key()->assign(key.public_key().begin(), key.public_key().end());
  const Signature proof = *key.Sign(kCuratorDomain, "now");
  response.mutable_proof()->assign(proof.begin(), proof.end());
  *response.add_endorsements() = ToProto(*Endorse(FakeKey(1), key.public_key(), 5));
  const std::string bytes = response.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const CuratorProof read, OpenProof(bytes, "now"));
  EXPECT_EQ(read.key, key.public_key());
  EXPECT_EQ(read.endorsements.size(), 1u);
  EXPECT_THAT(OpenProof(bytes, "then"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not prove")));
  EXPECT_EQ(OpenProof("\xff", "now").status().code(), StatusCode::kDataLoss);
}

TEST(MessagesTest, OutcomesAreToldApart) {
  const auto read = [](std::vector<v1::ReportOutcome> outcomes) {
    v1::SubmitReportsResponse response;
    for (const auto outcome : outcomes) response.add_outcomes(outcome);
    return ReadDelivery(response.SerializeAsString());
  };
  EXPECT_EQ(read({v1::REPORT_OUTCOME_ACCEPTED})->delivery, Delivery::kAccepted);
  EXPECT_EQ(read({v1::REPORT_OUTCOME_DUPLICATE})->delivery, Delivery::kDuplicate);
  EXPECT_EQ(read({v1::REPORT_OUTCOME_UNKNOWN_STUDY})->delivery, Delivery::kUnknownStudy);
  EXPECT_EQ(read({v1::REPORT_OUTCOME_STUDY_SEALED})->delivery, Delivery::kRefused);
  EXPECT_FALSE(read({}).ok());
  EXPECT_FALSE(read({v1::REPORT_OUTCOME_ACCEPTED, v1::REPORT_OUTCOME_ACCEPTED}).ok());
}


TEST(MessagesTest, WhatARelayAnswersIsToldApart) {
  const auto read = [](int outcome) {
    v1::SubmitSealedReportResponse response;
    response.set_outcome(static_cast<v1::SubmitOutcome>(outcome));
    return ReadSubmitOutcome(response.SerializeAsString());
  };
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_STORED), SubmitOutcome::kStored);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_CONFLICT), SubmitOutcome::kConflict);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_CLOSED), SubmitOutcome::kClosed);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_UNKNOWN), SubmitOutcome::kUnknown);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_BAD_LENGTH), SubmitOutcome::kBadLength);
  for (const int unknown : {0, -1, v1::SubmitOutcome_MAX + 1, 77}) {
    EXPECT_THAT(read(unknown).status(),
                StatusIs(StatusCode::kDataLoss, HasSubstr(StrCat(unknown))));
  }
  EXPECT_FALSE(ReadSubmitOutcome("\x08").ok());
}

}  // namespace
}  // namespace coppice
