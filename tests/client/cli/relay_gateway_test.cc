#include <set>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "client/cli/studies/collect.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/client/device/fake_deal.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Envelope;
using ::coppice::testing::FakeDeal;
using ::coppice::testing::FakeDealOffer;
using ::coppice::testing::FakeKey;
using ::coppice::testing::OfferOf;
using ::coppice::testing::RelayKey;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

// Deals ticket after ticket and keeps all answers, until a test says otherwise.
class CountingRelay final : public RelayLink {
 public:
  const std::string& address() const override { return address_; }
  StatusOr<DealOffer> GetRelayTerms(std::string_view) const override { return FakeDealOffer(); }
  StatusOr<std::string> TakeOffer(std::string_view, const EpochId&) const override {
    absl::MutexLock lock(&mutex_);
    if (dealt_ == tickets) return ResourceExhaustedError("no ticket is left");
    return Envelope(OfferOf(SampleTicket(static_cast<uint8_t>(dealt_++))).SerializeAsString());
  }
  StatusOr<SubmitOutcome> Submit(const JournalEntry& entry) const override {
    absl::MutexLock lock(&mutex_);
    if (taken.size() == room) return UnavailableError("down");
    taken.push_back(entry);
    return outcome;
  }

  size_t tickets = 200;
  size_t room = 1000;
  SubmitOutcome outcome = SubmitOutcome::kStored;
  mutable std::vector<JournalEntry> taken;

 private:
  std::string address_ = "relay:8453";
  mutable absl::Mutex mutex_;
  mutable size_t dealt_ = 0;
};

class RelayGatewayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int row = 0; row < 10; ++row) {
      file_.table.Append(Row{static_cast<double>(row)}, row % 2);
    }
    journal_ = *Journal::Open(dir_.path() + "/journal");
  }

  Status Answer(size_t rows = 10) {
    RelayGateway gateway(
        relay_, [this]() -> StatusOr<Deal> { return deal_; }, *journal_, {.batch = 4, .calls = 3},
        [this] { return stop_; });
    COPPICE_RETURN_IF_ERROR(gateway.Resume("sample", KeyIdOf(RelayKey().public_key()), counts_));
    return gateway.AnswerRows(
        "sample", policy_, file_, rows, [](uint64_t) {}, counts_);
  }
  std::set<std::string> TakenSubjects() const {
    std::set<std::string> subjects;
    for (const JournalEntry& entry : relay_.taken) subjects.insert(entry.subject);
    return subjects;
  }

  TempDir dir_;
  CountingRelay relay_;
  Deal deal_ = FakeDeal();
  bool stop_ = false;
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2)};
  TableFile file_{Table(SampleTerms().schema), {}};
  RelayCounts counts_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(RelayGatewayTest, EveryRowIsOneDeviceWithATicketOfItsOwn) {
  ASSERT_OK(Answer());
  EXPECT_EQ(counts_.dealt, 10);
  EXPECT_EQ(counts_.stored, 10);
  EXPECT_EQ(counts_.TotalLost(), 0);
  EXPECT_EQ(TakenSubjects().size(), 10u);
  std::set<std::string> tickets;
  for (const JournalEntry& entry : relay_.taken) {
    tickets.insert(entry.report.ticket.ToBytes());
    EXPECT_EQ(entry.sealed->ciphertext.size(), relay_.taken[0].sealed->ciphertext.size());
    EXPECT_EQ(entry.report.payload, "");
  }
  EXPECT_EQ(tickets.size(), 10u);
  EXPECT_TRUE(journal_->Undelivered().value().empty());
}

TEST_F(RelayGatewayTest, RowsThatHaveAnsweredArePassedOver) {
  ASSERT_OK(Answer(7));
  ASSERT_OK(Answer());
  EXPECT_EQ(counts_.stored, 10);
  EXPECT_EQ(counts_.answered_before, 7);
}

TEST_F(RelayGatewayTest, WhatWasNotSentIsResumedWithTheSameBytes) {
  relay_.room = 5;
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kUnavailable, "down"));
  const std::vector<JournalEntry> waiting = journal_->Undelivered().value();
  ASSERT_EQ(waiting.size() + relay_.taken.size(), 8u);
  relay_.room = 1000;
  ASSERT_OK(Answer());
  EXPECT_EQ(counts_.stored, 10);
  EXPECT_EQ(counts_.dealt, 10);
  for (const JournalEntry& entry : waiting) {
    const auto sent = std::find_if(relay_.taken.begin(), relay_.taken.end(),
                                   [&](const auto& one) { return one.subject == entry.subject; });
    ASSERT_NE(sent, relay_.taken.end());
    EXPECT_EQ(sent->sealed, entry.sealed);
  }
}

// Every subject that has a ticket answers, whatever became of the others.
TEST_F(RelayGatewayTest, WhereTicketsEndThoseWhoHaveOneAnswer) {
  relay_.tickets = 6;
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kResourceExhausted, HasSubstr("no ticket")));
  EXPECT_EQ(counts_.dealt, 6);
  EXPECT_EQ(counts_.stored, 6);
  EXPECT_EQ(journal_->Entries().value().size(), 6u);
}

TEST_F(RelayGatewayTest, NothingDeclinesOnceThereAreTickets) {
  policy_.max_epsilon = *Budget::FromEpsilon(1);
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("at most 1")));
  policy_.max_epsilon = *Budget::FromEpsilon(2);
  file_.ids.assign(10, "the same");
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kAlreadyExists, HasSubstr("twice")));
  deal_.sealing.key.fill(0);
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sealed")));
  EXPECT_EQ(counts_.dealt, 0);
}

TEST_F(RelayGatewayTest, LossesAreCountedByReasonAndEndTheWaiting) {
  relay_.outcome = SubmitOutcome::kClosed;
  ASSERT_OK(Answer());
  EXPECT_EQ(counts_.stored, 0);
  EXPECT_EQ(counts_.TotalLost(), 10);
  EXPECT_TRUE(journal_->Undelivered().value().empty());
  EXPECT_THAT(CloseWith(OkStatus(), counts_, "j"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("10 reports are lost")));
  EXPECT_EQ(DescribeRelayCounts(counts_)["lost"].size(), 1u);
}

TEST_F(RelayGatewayTest, StopsBetweenBatches) {
  stop_ = true;
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kCancelled, HasSubstr("stopped")));
  EXPECT_EQ(counts_.dealt, 0);
}

// Neither a curator nor another relay is sent answers that belong to a relay.
TEST_F(RelayGatewayTest, WhatIsARelaysGoesToItAlone) {
  relay_.room = 0;
  EXPECT_THAT(Answer(4), StatusIs(StatusCode::kUnavailable, "down"));
  relay_.room = 1000;
  RelayGateway other(
      relay_, [this]() -> StatusOr<Deal> { return deal_; }, *journal_, {}, [] { return false; });
  RelayCounts counts;
  ASSERT_OK(other.Resume("", KeyIdOf(FakeKey(8).public_key()), counts));
  EXPECT_EQ(counts.of_others, 4);
  EXPECT_TRUE(relay_.taken.empty());

  GatewayLink curator;
  curator.deliver = [](absl::Span<const PrivateReport>) {
    ADD_FAILURE() << "a relay's answer went to the curator";
    return UnavailableError("no");
  };
  curator.check_is = [](const PublicKey&) { return OkStatus(); };
  GatewayCounts direct;
  ASSERT_OK(Gateway(curator, *journal_, {}, [] { return false; }).Resume("", direct));
  EXPECT_EQ(direct.of_relays, 4);
  EXPECT_THAT(CloseWith(OkStatus(), direct, {}, "j"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--relay")));
}

}  // namespace
}  // namespace coppice::cli
