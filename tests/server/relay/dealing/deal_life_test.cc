// A deal from its opening to its end, as devices and the disk see it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "common/base/status.h"
#include "tests/server/relay/dealing/relay_fixture.h"
#include "tests/support/eventually.h"

namespace coppice::relay::testing {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

class DealLifeTest : public RelayTest {
 protected:
  std::vector<std::string> FilesOfEpochs() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(EpochFolders())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
};

TEST_F(DealLifeTest, GoesFromPoolToCuratorAndLeavesNothing) {
  OpenDeal();
  EXPECT_EQ(Totals().phase, StudyTotals::Phase::kDealing);
  const std::vector<Offered> all = TakeAll();
  ASSERT_EQ(all.size(), 12u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(Submit(all[i]), SubmitOutcome::kStored);
  Advance(absl::Hours(12));
  EXPECT_EQ(Totals().phase, StudyTotals::Phase::kCollecting);
  EXPECT_EQ(Submit(all[5]), SubmitOutcome::kStored);
  EXPECT_EQ(curator_.batches.calls, 0);
  curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
  Advance(absl::Hours(12));
  Work();
  EXPECT_EQ(OnlyBatch().size(), 6u);
  EXPECT_TRUE(std::filesystem::is_empty(EpochFolders()));
  EXPECT_EQ(Totals().delivered, 1u);
  EXPECT_EQ(Totals().waiting, 0u);
  EXPECT_EQ(Totals().dealt, 12u);
  EXPECT_EQ(Totals().stored, 6u);
}

TEST_F(DealLifeTest, TheNextDealOpensWhenTheLastIsFrozen) {
  OpenDeal();
  const RelayTerms first = Promised();
  SubmitAll(TakeAll());
  Work();
  const RelayTerms second = Promised();
  EXPECT_NE(second.epoch, first.epoch);
  EXPECT_EQ(curator_.offers.next_ticket, 24u);
  SubmitAll(TakeAll());
  Work();
  EXPECT_EQ(curator_.batches.batches.size(), 2u);
}

// Freezing earlier would leave late devices out, and so identify them.
TEST_F(DealLifeTest, IsNotFrozenBeforeItsTimeWhileASlotIsEmpty) {
  OpenDeal();
  const std::vector<Offered> all = TakeAll();
  for (size_t i = 1; i < all.size(); ++i) Submit(all[i]);
  Advance(absl::Hours(24) - absl::Seconds(1));
  Work();
  EXPECT_EQ(curator_.batches.calls, 0);
  EXPECT_EQ(Submit(all[0]), SubmitOutcome::kStored);
  Work();
  EXPECT_EQ(OnlyBatch().size(), 12u);
}

TEST_F(DealLifeTest, FewerThanTheSmallestBatchAreErasedAndNobodySeesThem) {
  OpenDeal();
  const std::vector<Offered> all = TakeAll();
  Submit(all[0]);
  Submit(all[1]);
  curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
  Advance(absl::Hours(24));
  Work();
  EXPECT_EQ(curator_.batches.calls, 0);
  EXPECT_TRUE(std::filesystem::is_empty(EpochFolders()));
  EXPECT_EQ(Totals().dropped, 1u);
  EXPECT_EQ(Submit(all[2]), SubmitOutcome::kClosed);
}

TEST_F(DealLifeTest, APoolIsNeverRefilled) {
  OpenDeal();
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(Take());
    Advance(absl::Hours(1));
    Work();
  }
  TakeAll();
  Work();
  EXPECT_EQ(curator_.offers.next_ticket, 12u);
  EXPECT_THAT(Take(), StatusIs(StatusCode::kResourceExhausted, HasSubstr("every ticket")));
}

TEST_F(DealLifeTest, TicketsAreDealtForTheirTimeOnly) {
  OpenDeal();
  EXPECT_OK(Take());
  Advance(absl::Hours(12));
  EXPECT_THAT(Take(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is over")));
}

TEST_F(DealLifeTest, WhoIsNotAdmittedTakesNoTicket) {
  OpenDeal();
  const std::string epoch = OpenEpoch();
  const auto refuse = [](const EpochId&) { return PermissionDeniedError("who is it?"); };
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(relay_->TakeOffer("studies/wells", epoch, refuse),
                StatusIs(StatusCode::kPermissionDenied, HasSubstr("who is it?")));
  }
  EXPECT_EQ(TakeAll().size(), 12u);
}

TEST_F(DealLifeTest, OtherStudiesAndDealsAreErrorsInWords) {
  OpenDeal();
  const auto admit = [](const EpochId&) { return OkStatus(); };
  EXPECT_THAT(relay_->Terms("studies/springs"),
              StatusIs(StatusCode::kNotFound, HasSubstr("springs")));
  EXPECT_THAT(relay_->Terms("wells"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
  EXPECT_THAT(relay_->TakeOffer("studies/wells", std::string(16, 'x'), admit),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another deal")));
}

TEST_F(DealLifeTest, TheKeyOfTheDealIsGoneOnceItIsFrozen) {
  OpenDeal();
  EXPECT_THAT(FilesOfEpochs(), ::testing::Contains("deal"));
  SubmitAll(TakeAll());
  curator_.batches.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
  curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
  Work();
  EXPECT_EQ(Totals().waiting, 1u);
  EXPECT_THAT(FilesOfEpochs(), ::testing::Not(::testing::Contains("deal")));
}

TEST_F(DealLifeTest, AReportAfterTheEndIsRefusedForGood) {
  OpenDeal();
  std::vector<Offered> all = TakeAll();
  const Offered late = all.back();
  all.pop_back();
  SubmitAll(all);
  curator_.batches.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
  Advance(absl::Hours(24));
  EXPECT_EQ(Submit(late), SubmitOutcome::kClosed);  // the deal is not frozen yet
  Work();
  EXPECT_EQ(Submit(late), SubmitOutcome::kClosed);  // the batch waits
  curator_.batches.failure = grpc::Status::OK;
  Advance(absl::Minutes(5));
  Work();
  EXPECT_EQ(Submit(late), SubmitOutcome::kClosed);  // the batch is delivered
  SealedReport shorter = ReportFor(late.offer);
  shorter.ciphertext.pop_back();
  EXPECT_EQ(Submit(late.epoch, shorter), SubmitOutcome::kBadLength);
  EXPECT_EQ(OnlyBatch().size(), 11u);
}

// The curator drew all tickets, and anybody may submit to any. The answer must not tell whether a
// ticket is dealt and has a report, as that would identify its device.
TEST_F(DealLifeTest, ADealWhoseClockWasAheadIsClosedAtOnce) {
  OpenDeal();
  const std::string epoch = OpenEpoch();
  std::vector<Offered> held;
  for (int i = 0; i < 5; ++i) held.push_back(*Take());
  SubmitAll({held.begin(), held.begin() + 4});
  Advance(absl::Hours(1000));
  EXPECT_EQ(Submit(held[4]), SubmitOutcome::kClosed);
  Advance(absl::Hours(-1000));
  EXPECT_FALSE(Take().ok());
  Advance(absl::Seconds(1));
  Work();
  EXPECT_EQ(OnlyBatch().size(), 4u);
  EXPECT_NE(OpenEpoch(), epoch);
  EXPECT_OK(Take());
}

TEST_F(DealLifeTest, WithoutItsClaimEveryTicketIsAnsweredAlike) {
  OpenDeal();
  const std::string epoch = OpenEpoch();
  std::vector<Offered> dealt;
  for (int i = 0; i < 6; ++i) dealt.push_back(*Take());
  for (int i = 0; i < 3; ++i) Submit(dealt[i]);
  for (uint64_t number = 0; number < 20; ++number) {  // those from 12 on are of no pool
    v1::RelayedOffer offer;
    offer.set_ticket(TicketNumber(number));
    for (const char* kind : {"", "other bytes"}) {
      for (const std::string& claim : {std::string(16, '\0'), dealt[0].offer.claim()}) {
        if (offer.ticket() == dealt[0].offer.ticket() && claim == dealt[0].offer.claim()) continue;
        offer.set_claim(claim);
        EXPECT_EQ(Submit(epoch, ReportFor(offer, kind)), SubmitOutcome::kUnknown) << number;
      }
    }
  }
  EXPECT_EQ(Submit(std::string(16, 'x'), ReportFor(dealt[0].offer)), SubmitOutcome::kUnknown);
  EXPECT_EQ(relay_->unknown_epochs(), 1u);
  // What was sent without a claim changed nothing.
  for (const Offered& offered : dealt) EXPECT_EQ(Submit(offered), SubmitOutcome::kStored);
}

TEST_F(DealLifeTest, TheFirstReportOfATicketStays) {
  OpenDeal();
  const Offered offered = *Take();
  EXPECT_EQ(Submit(offered), SubmitOutcome::kStored);
  EXPECT_EQ(Submit(offered), SubmitOutcome::kStored);
  EXPECT_EQ(Submit(offered.epoch, ReportFor(offered.offer, "another")), SubmitOutcome::kConflict);
  EXPECT_EQ(Totals().stored, 2u);
  EXPECT_EQ(Totals().conflict, 1u);
}

TEST_F(DealLifeTest, ARestartGoesOn) {
  options_.tickets = 3000;
  OpenDeal();
  const std::string terms = **relay_->Terms("studies/wells");
  const Offered before = *Take();
  const Offered later = *Take();
  EXPECT_EQ(Submit(before), SubmitOutcome::kStored);
  Open();
  EXPECT_EQ(**relay_->Terms("studies/wells"), terms);
  EXPECT_EQ(Submit(later), SubmitOutcome::kStored);
  EXPECT_EQ(Submit(before), SubmitOutcome::kStored);
  const Offered after = *Take();
  EXPECT_NE(after.offer.ticket(), before.offer.ticket());
  EXPECT_EQ(Submit(after), SubmitOutcome::kStored);
  Advance(absl::Hours(24));
  Work();
  EXPECT_EQ(OnlyBatch().size(), 3u);
}

// If it did, the forwarded reports and those that come again would split one batch in two.
TEST_F(DealLifeTest, ADealThatWasLostTakesNothingAgain) {
  OpenDeal();
  const std::vector<Offered> all = TakeAll();
  for (int i = 0; i < 5; ++i) Submit(all[i]);
  relay_.reset();
  std::filesystem::remove_all(EpochFolders());
  curator_.offers.next_ticket = 0;  // even if the curator gives the same tickets again
  OpenDeal();
  for (const Offered& offered : all) {
    EXPECT_EQ(Submit(offered), SubmitOutcome::kUnknown);
    // The deal that took its place does not take them either.
    EXPECT_EQ(Submit(OpenEpoch(), ReportFor(offered.offer)), SubmitOutcome::kUnknown);
  }
  Advance(absl::Hours(24));
  Work();
  EXPECT_EQ(curator_.batches.calls, 0);
}

TEST_F(DealLifeTest, AnotherKeyOfTheRelayIsRefusedAndNothingIsLost) {
  OpenDeal();
  SubmitAll(TakeAll());
  key_ = KeyOf(10);
  EXPECT_THAT(TryOpen(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("key")));
  key_ = KeyOf(9);
  Open();
  Work();
  EXPECT_EQ(OnlyBatch().size(), 12u);
}

TEST_F(DealLifeTest, WarnsThatAStudyNoLongerServedStillHasReports) {
  OpenDeal();
  relay_.reset();
  options_.studies = {"springs"};
  events_.clear();
  Open();
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("which is not served")));
}

// Runs with the program's own threads and clock.
TEST_F(DealLifeTest, RunsOnItsOwnThread) {
  options_.deal_for = absl::Seconds(5);
  options_.collect_for = absl::Seconds(6);
  Manifest manifest = RelayedManifest(RelayedTerms());
  manifest.expires_unix_seconds = 0;
  curator_.offers.manifest = SignManifest(KeyOf(1), manifest);
  seams_ = {};
  Open();
  const auto wait = [](auto until) { EXPECT_TRUE(coppice::testing::Eventually(until)); };
  wait([&] { return relay_->Ready().ok(); });
  SubmitAll(TakeAll());
  wait([&] { return Totals().delivered == 1; });
  wait([&] { return relay_->Ready().ok(); });
  const std::vector<Offered> next = TakeAll();
  ASSERT_GE(next.size(), 3u);
  SubmitAll({next.begin(), next.begin() + 3});
  wait([&] { return Totals().delivered == 2; });
  relay_->Drain();
  const auto admit = [](const EpochId&) { return OkStatus(); };
  EXPECT_THAT(relay_->TakeOffer("studies/wells", std::string(16, 'x'), admit),
              StatusIs(StatusCode::kUnavailable, HasSubstr("stopping")));
}

}  // namespace
}  // namespace coppice::relay::testing
