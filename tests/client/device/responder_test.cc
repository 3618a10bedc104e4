#include "client/device/responder.h"

#include <optional>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::SamplePrivatizer;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

Privatizer MakePrivatizer(double epsilon = 2, uint8_t fingerprint = 1) {
  return SamplePrivatizer("sample", epsilon, {fingerprint});
}

Invitation Invite(const std::string& subject, uint8_t ticket) {
  return {.subject = subject, .ticket = SampleTicket(ticket)};
}

class ResponderTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    journal_.reset();
    ASSERT_OK_AND_ASSIGN(journal_, Journal::Open(dir_.path() + "/journal"));
    responder_.emplace(policy_, *journal_);
  }

  StatusOr<std::vector<PrivateReport>> Respond(const Privatizer& privatizer,
                                               const std::vector<Invitation>& invitations,
                                               const LabelledRow& row = {{3}, 1}) {
    const auto read = [&](size_t) {
      ++rows_read_;
      return row;
    };
    return responder_->Respond(privatizer, invitations, read, random_);
  }

  TempDir dir_;
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2), .max_total_epsilon = {}};
  std::unique_ptr<Journal> journal_;
  std::optional<Responder> responder_;
  OpenSslRandom random_;
  int rows_read_ = 0;
};

TEST_F(ResponderTest, WhatItReturnsIsInTheJournal) {
  ASSERT_OK_AND_ASSIGN(const auto reports,
                       Respond(MakePrivatizer(), {Invite("ann", 1), Invite("bob", 2)}));
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(reports[1].ticket, SampleTicket(2));
  EXPECT_EQ(journal_->Find("ann", "sample").value()->report, reports[0]);
  EXPECT_EQ(journal_->Find("bob", "sample").value()->report, reports[1]);
  EXPECT_EQ(journal_->Spent("ann").value(), *Budget::FromEpsilon(2));
}

TEST_F(ResponderTest, AskingAgainReturnsTheSameBytesEvenAfterARestart) {
  const Privatizer privatizer = MakePrivatizer();
  ASSERT_OK_AND_ASSIGN(const auto first, Respond(privatizer, {Invite("ann", 1)}, {{3}, 1}));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const auto again, Respond(privatizer, {Invite("ann", 9)}, {{8}, 1}));
  EXPECT_EQ(first, again);
  EXPECT_EQ(journal_->Entries().value().size(), 1);
}

TEST_F(ResponderTest, NewAndOldAnswersKeepTheirOrder) {
  const Privatizer privatizer = MakePrivatizer();
  ASSERT_OK_AND_ASSIGN(const auto old, Respond(privatizer, {Invite("bob", 1)}));
  ASSERT_OK_AND_ASSIGN(const auto reports,
                       Respond(privatizer, {Invite("ann", 2), Invite("bob", 3)}));
  EXPECT_EQ(reports[0].ticket, SampleTicket(2));
  EXPECT_EQ(reports[1], old[0]);
}

TEST_F(ResponderTest, WhatIsRefusedIsRefusedBeforeAnyRowIsRead) {
  EXPECT_THAT(Respond(MakePrivatizer(4), {Invite("ann", 1)}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("at most 2")));

  // The second subject is refused, so the first one's row is not read either.
  ASSERT_OK(Respond(MakePrivatizer(2, 1), {Invite("bob", 1)}));
  rows_read_ = 0;
  EXPECT_THAT(Respond(MakePrivatizer(2, 9), {Invite("ann", 1), Invite("bob", 2)}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("under other terms")));
  EXPECT_EQ(rows_read_, 0);
  EXPECT_EQ(journal_->Entries().value().size(), 1);
}

TEST_F(ResponderTest, AnOwnerWhoOptedOutIsNotAnsweredForAndOldAnswersStay) {
  const Privatizer privatizer = MakePrivatizer();
  ASSERT_OK_AND_ASSIGN(const auto old, Respond(privatizer, {Invite("ann", 1)}));
  ASSERT_OK(journal_->SetOptedOut(true));
  Reopen();
  EXPECT_THAT(Respond(privatizer, {Invite("bob", 2)}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  EXPECT_EQ(rows_read_, 1);
  EXPECT_EQ(Respond(privatizer, {Invite("ann", 3)}).value(), old);
  ASSERT_OK(journal_->SetOptedOut(false));
  EXPECT_OK(Respond(privatizer, {Invite("bob", 2)}));
}

TEST_F(ResponderTest, AStudyThatDoesNotAgreeWithTheOwnSchemaIsDeclinedBeforeTheRow) {
  policy_.own_schema = std::make_shared<const Schema>(
      *Schema::Create({testing::Numeric("x", 0, 11)}, "y", {"no", "yes"}));
  EXPECT_THAT(Respond(MakePrivatizer(), {Invite("ann", 1)}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("study sample is declined: feature \"x\" has another type")));
  EXPECT_EQ(rows_read_, 0);
  policy_.own_schema = std::make_shared<const Schema>(testing::SampleSchema());
  EXPECT_OK(Respond(MakePrivatizer(), {Invite("ann", 1)}));
}

TEST_F(ResponderTest, EveryRowThatIsReadIsAnswered) {
  uint8_t number = 0;
  for (const Row& row : {Row{3}, Row{777}, Row{}, Row{1, 2, 3}, Row{kMissingValue}}) {
    for (const uint32_t label : {0u, 7u, kUnlabelled}) {
      const std::string subject = std::to_string(++number);
      EXPECT_OK(Respond(MakePrivatizer(), {Invite(subject, number)}, {row, label}));
      EXPECT_TRUE(journal_->Find(subject, "sample").value().has_value());
    }
  }
}

TEST_F(ResponderTest, OtherTermsForAnAnsweredStudyAreDeclined) {
  ASSERT_OK(Respond(MakePrivatizer(2, 1), {Invite("ann", 1)}));
  EXPECT_THAT(Respond(MakePrivatizer(1, 2), {Invite("ann", 2)}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("under other terms")));
}

TEST_F(ResponderTest, WhatWasSealedForARelayIsGivenToNobodyElse) {
  const auto read = [](size_t) { return LabelledRow{{3}, 1}; };
  size_t payload_bytes = 0;
  const auto seal = [&](size_t, const PrivateReport& report) -> StatusOr<SealedAnswer> {
    payload_bytes = report.payload.size();
    return SealedAnswer{.relay = {1}, .ciphertext = "sealed"};
  };
  ASSERT_OK_AND_ASSIGN(
      const auto entries,
      responder_->RespondSealed(MakePrivatizer(), {Invite("ann", 1)}, read, seal, random_));
  EXPECT_GT(payload_bytes, 0);
  EXPECT_EQ(entries[0].report.payload, "");
  EXPECT_EQ(entries[0].sealed->ciphertext, "sealed");
  Reopen();
  EXPECT_EQ(journal_->Find("ann", "sample").value()->sealed, entries[0].sealed);
  EXPECT_THAT(Respond(MakePrivatizer(), {Invite("ann", 2)}).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("through a relay")));
  EXPECT_EQ(rows_read_, 0);
}

TEST_F(ResponderTest, TotalBudgetOfASubjectIsKept) {
  policy_.max_total_epsilon = *Budget::FromEpsilon(3);
  ASSERT_OK(Respond(MakePrivatizer(2), {Invite("ann", 1)}));
  const Privatizer second = SamplePrivatizer("another", 2, {5});
  EXPECT_THAT(Respond(second, {Invite("ann", 2)}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("at most 3")));
  EXPECT_OK(Respond(second, {Invite("bob", 3)}));
}

TEST_F(ResponderTest, SubjectTwiceInOneBatchIsRefused) {
  EXPECT_THAT(Respond(MakePrivatizer(), {Invite("ann", 1), Invite("ann", 2)}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("study sample")));
  EXPECT_TRUE(journal_->Entries().value().empty());
}

}  // namespace
}  // namespace coppice
