#include "client/responder.h"

#include <optional>

#include "common/privacy/openssl_random.h"
#include "tests/client/sample_study.h"
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

Answer MakeAnswer(const std::string& subject, uint8_t ticket, double x = 3) {
  return {.subject = subject, .row = {x}, .label = 1, .ticket = SampleTicket(ticket)};
}

class ResponderTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    journal_.reset();
    ASSERT_OK_AND_ASSIGN(journal_, Journal::Open(dir_.path() + "/journal"));
    responder_.emplace(policy_, *journal_);
  }

  TempDir dir_;
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2), .max_total_epsilon = {}};
  std::unique_ptr<Journal> journal_;
  std::optional<Responder> responder_;
  OpenSslRandom random_;
};

TEST_F(ResponderTest, WhatItReturnsIsInTheJournal) {
  ASSERT_OK_AND_ASSIGN(
      const auto reports,
      responder_->Respond(MakePrivatizer(), {MakeAnswer("ann", 1), MakeAnswer("bob", 2)}, random_));
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(reports[1].ticket, SampleTicket(2));
  EXPECT_EQ(journal_->Find("ann", "sample")->report, reports[0]);
  EXPECT_EQ(journal_->Find("bob", "sample")->report, reports[1]);
  EXPECT_EQ(journal_->Spent("ann"), *Budget::FromEpsilon(2));
}

TEST_F(ResponderTest, AskingAgainReturnsTheSameBytesEvenAfterARestart) {
  const Privatizer privatizer = MakePrivatizer();
  ASSERT_OK_AND_ASSIGN(const auto first,
                       responder_->Respond(privatizer, {MakeAnswer("ann", 1, 3)}, random_));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const auto again,
                       responder_->Respond(privatizer, {MakeAnswer("ann", 9, 8)}, random_));
  EXPECT_EQ(first, again);
  EXPECT_EQ(journal_->Entries().size(), 1);
}

TEST_F(ResponderTest, NewAndOldAnswersKeepTheirOrder) {
  const Privatizer privatizer = MakePrivatizer();
  ASSERT_OK_AND_ASSIGN(const auto old,
                       responder_->Respond(privatizer, {MakeAnswer("bob", 1)}, random_));
  ASSERT_OK_AND_ASSIGN(
      const auto reports,
      responder_->Respond(privatizer, {MakeAnswer("ann", 2), MakeAnswer("bob", 3)}, random_));
  EXPECT_EQ(reports[0].ticket, SampleTicket(2));
  EXPECT_EQ(reports[1], old[0]);
}

TEST_F(ResponderTest, PolicyIsAskedBeforeTheRowIsRead) {
  EXPECT_THAT(responder_->Respond(MakePrivatizer(4), {MakeAnswer("ann", 1, 777)}, random_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("at most 2")));
  EXPECT_TRUE(journal_->Entries().empty());
}

TEST_F(ResponderTest, OneRefusedAnswerJournalsNone) {
  EXPECT_THAT(responder_->Respond(MakePrivatizer(),
                                  {MakeAnswer("ann", 1), MakeAnswer("bob", 2, 99)}, random_),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_TRUE(journal_->Entries().empty());
}

TEST_F(ResponderTest, OtherTermsForAnAnsweredStudyAreDeclined) {
  ASSERT_OK(responder_->Respond(MakePrivatizer(2, 1), {MakeAnswer("ann", 1)}, random_));
  EXPECT_THAT(responder_->Respond(MakePrivatizer(1, 2), {MakeAnswer("ann", 2)}, random_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("under other terms")));
}

TEST_F(ResponderTest, TotalBudgetOfASubjectIsKept) {
  policy_.max_total_epsilon = *Budget::FromEpsilon(3);
  ASSERT_OK(responder_->Respond(MakePrivatizer(2), {MakeAnswer("ann", 1)}, random_));
  const Privatizer second = SamplePrivatizer("another", 2, {5});
  EXPECT_THAT(responder_->Respond(second, {MakeAnswer("ann", 2)}, random_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("at most 3")));
  EXPECT_OK(responder_->Respond(second, {MakeAnswer("bob", 3)}, random_));
}

TEST_F(ResponderTest, SubjectTwiceInOneBatchIsRefused) {
  EXPECT_THAT(
      responder_->Respond(MakePrivatizer(), {MakeAnswer("ann", 1), MakeAnswer("ann", 2)}, random_),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("study sample")));
  EXPECT_TRUE(journal_->Entries().empty());
}

}  // namespace
}  // namespace coppice
