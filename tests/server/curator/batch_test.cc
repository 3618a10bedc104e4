// A relay's batches: received part by part, opened, and counted once, whatever the relay does.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "tests/server/curator/batch_fixture.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::HasSubstr;

using State = BatchState;
using Progress = BatchProgress;

constexpr StatusCode kNeverTaken = StatusCode::kFailedPrecondition;

uint64_t CountIn(const BatchInfo& batch, ReportOutcome outcome) {
  return batch.outcomes[static_cast<size_t>(outcome)];
}

TEST_F(BatchTest, EveryReportOfABatchIsCounted) {
  const SealedBatch batch = HonestBatch(1, 10);
  ASSERT_OK_AND_ASSIGN(const Progress progress, Deliver(batch, 3));
  EXPECT_EQ(progress, (Progress{.state = State::kStored, .received = 10}));
  const StudyInfo info = AwaitCounted();
  EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 10u);
  EXPECT_EQ(Received(info), 10u);
  EXPECT_EQ(info.in_sums, 10u);
  EXPECT_EQ(info.relay->batches.batches, 1u);
  EXPECT_EQ(info.relay->batches.least_accepted, 10u);
  ASSERT_EQ(info.relay->batches.newest.size(), 1u);
  EXPECT_EQ(info.relay->batches.newest[0].state, State::kCounted);
  EXPECT_EQ(info.relay->batches.newest[0].id, Sha256({batch.header_bytes}));
  EXPECT_EQ(info.relay->batches.newest[0].created_unix_seconds, 1000);
  EXPECT_EQ(CountIn(info.relay->batches.newest[0], ReportOutcome::kAccepted), 10u);
  EXPECT_EQ(RecordsUnder("spool/"), 0u);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(BatchTest, APartIsStoredOnceHoweverOftenItIsSent) {
  const SealedBatch batch = HonestBatch(1, 10);
  EXPECT_EQ(*Ask(batch), (Progress{.received = 0}));
  EXPECT_EQ(RecordsUnder("batch/"), 0u) << "asking begins nothing";
  EXPECT_EQ(*DeliverPart(batch, 4, 4), (Progress{.received = 0})) << "not the next";
  EXPECT_EQ(*DeliverPart(batch, 0, 4), (Progress{.received = 4}));
  EXPECT_EQ(*DeliverPart(batch, 0, 4), (Progress{.received = 4}));
  EXPECT_EQ(*DeliverPart(batch, 8, 2), (Progress{.received = 4}));
  EXPECT_EQ(*Ask(batch), (Progress{.received = 4}));
  EXPECT_EQ(*DeliverPart(batch, 4, 4), (Progress{.received = 8}));
  const Progress stored{.state = State::kStored, .received = 10};
  EXPECT_EQ(*DeliverPart(batch, 8, 2), stored);
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 10u);
  const Progress counted{.state = State::kCounted, .received = 10};
  EXPECT_EQ(*DeliverPart(batch, 8, 2), counted);
  EXPECT_EQ(*DeliverPart(batch, 0, 4), counted);
  EXPECT_EQ(*Ask(batch), counted);
  EXPECT_EQ(CountOf(*studies_->Get("one"), ReportOutcome::kAccepted), 10u);
}

TEST_F(BatchTest, ABatchOfAnotherRootIsBrokenAndDropped) {
  SealedBatch batch = HonestBatch(1, 10);
  batch.header.root[0] ^= 1;
  SignHeader(batch, RelayKey());
  const Progress broken{.state = State::kBroken, .received = 10};
  EXPECT_EQ(*Deliver(batch, 4), broken);
  EXPECT_EQ(*Ask(batch), broken);
  EXPECT_EQ(*DeliverPart(batch, 0, 4), broken);
  EXPECT_EQ(RecordsUnder("spool/"), 0u);
  const StudyInfo info = *studies_->Get("one");
  EXPECT_EQ(Received(info), 0u);
  EXPECT_EQ(info.relay->batches.waiting, 0u);
  EXPECT_EQ(info.relay->batches.least_accepted, 0u);
  EXPECT_EQ(info.relay->batches.newest[0].state, State::kBroken);
}

TEST_F(BatchTest, AnyChangedByteBreaksTheBatch) {
  uint8_t epoch = 1;
  for (std::string SealedReport::*const part :
       {&SealedReport::encapsulated, &SealedReport::ciphertext}) {
    SealedBatch batch = HonestBatch(epoch++, 5);
    (batch.reports[3].*part)[0] ^= 1;
    EXPECT_EQ(Deliver(batch)->state, State::kBroken);
  }
}

TEST_F(BatchTest, SwappedTicketsDoNotOpen) {
  SealedBatch batch = HonestBatch(1, 6);
  std::swap(batch.reports[1].encapsulated, batch.reports[2].encapsulated);
  std::swap(batch.reports[1].ciphertext, batch.reports[2].ciphertext);
  SignBatch(batch, RelayKey());
  ASSERT_EQ(Deliver(batch)->state, State::kStored);
  const StudyInfo info = AwaitCounted();
  EXPECT_EQ(CountOf(info, ReportOutcome::kBadSeal), 2u);
  EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 4u);
  EXPECT_EQ(CountIn(info.relay->batches.newest[0], ReportOutcome::kBadSeal), 2u);
  EXPECT_EQ(info.relay->batches.least_accepted, 4u);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(BatchTest, ForeignTicketsAndBadPayloadsAreCountedAsWhatTheyAre) {
  const StudyInfo info = *studies_->Get("one");
  std::vector<std::pair<std::string, std::string>> payloads;
  for (const SubmittedReport& report : HonestReports(*studies_, info, 4)) {
    payloads.emplace_back(report.ticket, report.payload);
  }
  payloads[1].second = "";  // a device seals this if its tree needs more room than was promised
  payloads.emplace_back(std::string(32, 'f'), payloads[0].second);
  ASSERT_EQ(Deliver(MakeBatch(ManifestNow(), 1, RelayKey(), payloads))->state, State::kStored);
  const StudyInfo counted = AwaitCounted();
  EXPECT_EQ(CountOf(counted, ReportOutcome::kAccepted), 3u);
  EXPECT_EQ(CountOf(counted, ReportOutcome::kBadPayload), 1u);
  EXPECT_EQ(CountOf(counted, ReportOutcome::kBadTicket), 1u);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(BatchTest, ATicketCountsOnceOverAllBatches) {
  SealedBatch batch = HonestBatch(1, 6);
  ASSERT_OK(Deliver(batch));
  AwaitCounted();
  batch.header.epoch = {2};
  SignBatch(batch, RelayKey());
  ASSERT_EQ(Deliver(batch)->state, State::kStored);
  const StudyInfo info = AwaitCounted();
  EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 6u);
  EXPECT_EQ(CountOf(info, ReportOutcome::kDuplicate), 6u);
  EXPECT_EQ(info.relay->batches.least_accepted, 0u) << "of the smallest";
}

TEST_F(BatchTest, TicketsMustIncreaseWithinAPartAndOverParts) {
  SealedBatch batch = HonestBatch(1, 8);
  std::swap(batch.reports[2], batch.reports[3]);
  SignBatch(batch, RelayKey());
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("tickets: must increase"));
  EXPECT_THAT(DeliverPart(batch, 0, 8), refused);
  EXPECT_EQ(RecordsUnder("batch/"), 0u);
  EXPECT_OK(DeliverPart(batch, 0, 3));
  EXPECT_THAT(DeliverPart(batch, 3, 2), refused);
  batch.reports[3] = batch.reports[2];
  EXPECT_THAT(DeliverPart(batch, 3, 2), refused) << "one ticket twice";
}

TEST_F(BatchTest, PartsThatDoNotFitAreRefused) {
  const SealedBatch batch = HonestBatch(1, 6);
  const auto deliver = [&](const SealedBatch::Columns& part) {
    return studies_
        ->DeliverBatch("one", {.header = batch.header_bytes,
                               .signature = batch.signature,
                               .tickets = part.tickets,
                               .encapsulated = part.encapsulated,
                               .ciphertexts = part.ciphertexts})
        .status();
  };
  const auto names = [](const char* field) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(field));
  };
  SealedBatch::Columns part = batch.Part(0, 2);
  part.ciphertexts += "x";
  EXPECT_THAT(deliver(part), names("ciphertexts: must have"));
  part = batch.Part(0, 2);
  part.encapsulated.pop_back();
  EXPECT_THAT(deliver(part), names("encapsulated: must have"));
  part = batch.Part(0, 2);
  part.tickets += "t";
  EXPECT_THAT(deliver(part), names("tickets: must have"));
  SealedBatch longer = HonestBatch(2, 7);
  part = longer.Part(0, 7);
  EXPECT_THAT(deliver(part), names("of at most 6 reports"));
  EXPECT_EQ(RecordsUnder("batch/"), 0u);
  EXPECT_EQ(RecordsUnder("spool/"), 0u);
}

TEST_F(BatchTest, APartHasAtMostAThousandReports) {
  SealedBatch batch = HonestBatch(1, 1000);
  const SealedBatch more = HonestBatch(2, 10);
  batch.reports.insert(batch.reports.end(), more.reports.begin(), more.reports.end());
  std::sort(batch.reports.begin(), batch.reports.end(),
            [](const SealedReport& a, const SealedReport& b) { return a.ticket < b.ticket; });
  SignBatch(batch, RelayKey());
  EXPECT_THAT(DeliverPart(batch, 0, 1001),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 1000 reports")));
  ASSERT_EQ(Deliver(batch, 1000)->state, State::kStored);
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 1010u);
}

// Each part costs a synced write, and another when it is counted.
TEST_F(BatchTest, APartIsNotSmallUnlessItIsTheLast) {
  const SealedBatch batch = HonestBatch(1, 1100);
  const auto refused =
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("tickets: must be of at least 250"));
  EXPECT_THAT(DeliverPart(batch, 0, 1), refused);
  EXPECT_THAT(DeliverPart(batch, 0, 249), refused);
  EXPECT_EQ(RecordsUnder("spool/") + RecordsUnder("batch/"), 0u);
  EXPECT_EQ(*DeliverPart(batch, 0, 250), (Progress{.received = 250}));
  EXPECT_EQ(*DeliverPart(batch, 250, 800), (Progress{.received = 1050}));
  EXPECT_EQ(*Ask(batch), (Progress{.received = 1050}));
  EXPECT_THAT(DeliverPart(batch, 1050, 49), refused) << "not yet the last";
  EXPECT_EQ(DeliverPart(batch, 1050, 50)->state, State::kStored);
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 1100u);
}

TEST(LeastReportsOfPartTest, LongReportsNeedFewer) {
  EXPECT_EQ(LeastReportsOfPart(kLeastMinBatch, 64), 250u);
  EXPECT_EQ(LeastReportsOfPart(kMaxEpochTickets, 1048), 250u);
  EXPECT_EQ(LeastReportsOfPart(kMaxEpochTickets, 1049), 250u);
  EXPECT_EQ(LeastReportsOfPart(kMaxEpochTickets, 1053), 249u);
  EXPECT_EQ(LeastReportsOfPart(kMaxEpochTickets, uint64_t{1} << 16), 4u);
}

TEST_F(BatchTest, ADealHasOneBatch) {
  const SealedBatch batch = HonestBatch(1, 6);
  ASSERT_OK(DeliverPart(batch, 0, 3));
  const SealedBatch other = HonestBatch(1, 5);
  const auto refused = StatusIs(kNeverTaken, HasSubstr("the relay is at fault"));
  EXPECT_THAT(DeliverPart(other, 0, 3), refused);
  EXPECT_THAT(Ask(other), refused);
  ASSERT_OK(Deliver(batch));
  AwaitCounted();
  EXPECT_THAT(Ask(other), refused);
}

TEST_F(BatchTest, OnlyWhatTheStudysRelaySignedIsTaken) {
  SealedBatch batch = HonestBatch(1, 5);
  batch.signature[3] ^= 1;
  EXPECT_THAT(Deliver(batch), StatusIs(StatusCode::kPermissionDenied, _));
  batch.signature.pop_back();
  EXPECT_THAT(Deliver(batch), StatusIs(StatusCode::kInvalidArgument, _));
  SignBatch(batch, RelayKey(8));
  EXPECT_THAT(Deliver(batch), StatusIs(StatusCode::kPermissionDenied, _));
  batch.header.relay_key = KeyIdOf(RelayKey(8).public_key());
  SignHeader(batch, RelayKey());
  EXPECT_THAT(Deliver(batch), StatusIs(kNeverTaken, HasSubstr("another relay's key")));
  EXPECT_EQ(RecordsUnder("batch/"), 0u);
}

TEST_F(BatchTest, AHeaderMustBeOfThisStudyAndAsItsSettingsAsk) {
  const SealedBatch good = HonestBatch(1, 5);
  const auto with = [&](auto change) {
    SealedBatch batch = good;
    change(batch.header);
    SignHeader(batch, RelayKey());
    return Deliver(batch).status();
  };
  EXPECT_THAT(with([](BatchHeader& header) { header.fingerprint[0] ^= 1; }),
              StatusIs(kNeverTaken, HasSubstr("other terms")));
  EXPECT_THAT(with([](BatchHeader& header) { header.min_batch = 3; }),
              StatusIs(kNeverTaken, HasSubstr("batches of 3 reports")));
  EXPECT_THAT(with([](BatchHeader& header) { header.sealing_key[0] ^= 1; }),
              StatusIs(kNeverTaken, HasSubstr("a key that the study does not have")));
  EXPECT_THAT(with([](BatchHeader& header) { header.study = "two"; }),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("another study")));
  EXPECT_THAT(with([](BatchHeader& header) { header.reports = 3; }),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("reports: must be")));
  SealedBatch garbage = good;
  garbage.header_bytes = "no header";
  EXPECT_THAT(Deliver(garbage), StatusIs(StatusCode::kInvalidArgument, HasSubstr("header")));
  EXPECT_THAT(DeliverPart(good, 0, 5, "two"), StatusIs(StatusCode::kNotFound, _));
  EXPECT_EQ(RecordsUnder("batch/"), 0u);
}

TEST_F(BatchTest, AStudyWithoutARelayTakesNoBatch) {
  const SealedBatch batch = HonestBatch(1, 5);
  ASSERT_OK(studies_->Create(Spec("plain")));
  EXPECT_THAT(DeliverPart(batch, 0, 5, "plain"), StatusIs(kNeverTaken, HasSubstr("has no relay")));
}

// The study is read all the time. If batches were read after outcomes, most of these would be shown
// as counted before their reports are.
TEST_F(BatchTest, NoBatchIsShownAsCountedBeforeItsReportsAre) {
  std::vector<SealedBatch> batches;
  for (uint8_t epoch = 1; epoch <= 100; ++epoch) batches.push_back(HonestBatch(epoch, 4));
  std::thread relay([&] {
    for (const SealedBatch& batch : batches) EXPECT_OK(Deliver(batch));
  });
  for (uint64_t counted = 0; counted < batches.size() && !HasFailure();) {
    const StudyInfo info = *studies_->Get("one");
    counted = info.relay->batches.counted;
    EXPECT_GE(CountOf(info, ReportOutcome::kAccepted), 4 * counted);
  }
  relay.join();
}

TEST_F(BatchTest, FewBatchesMayHaveBegunAtATime) {
  std::vector<SealedBatch> begun;
  for (uint8_t epoch = 1; epoch <= StudyBatches::kMaxReceiving; ++epoch) {
    begun.push_back(HonestBatch(epoch, 4));
    ASSERT_OK(DeliverPart(begun.back(), 0, 1));
  }
  const SealedBatch more = HonestBatch(100, 4);
  EXPECT_THAT(DeliverPart(more, 0, 1), StatusIs(StatusCode::kResourceExhausted, _));
  ASSERT_OK(Deliver(begun[3]));
  EXPECT_OK(DeliverPart(more, 0, 1));
}

TEST_F(BatchTest, EarlierKeysOpenWhatWasSealedForThem) {
  const SealedBatch before = HonestBatch(1, 5);
  ASSERT_OK(studies_->RotateSealingKey("one", *studies_->Get("one")->relay->sealing_key));
  const SealedBatch after = HonestBatch(2, 4);
  EXPECT_NE(before.header.sealing_key, after.header.sealing_key);
  ASSERT_OK(Deliver(before));
  ASSERT_OK(Deliver(after));
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 9u);
}

TEST_F(BatchTest, AReportSealedForAnotherKeyThanTheHeaderSaysDoesNotOpen) {
  SealedBatch batch = HonestBatch(1, 5);
  ASSERT_OK(studies_->RotateSealingKey("one", *studies_->Get("one")->relay->sealing_key));
  batch.header.sealing_key = *studies_->Get("one")->relay->sealing_key;
  SignBatch(batch, RelayKey());
  ASSERT_OK(Deliver(batch));
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kBadSeal), 5u);
  EXPECT_OK(studies_->Reconcile());
}

// A relay erases a batch that is refused as FAILED_PRECONDITION for long enough.
TEST_F(BatchTest, AStoreThatFailsIsUnavailableWhateverItSays) {
  const SealedBatch batch = HonestBatch(1, 6);
  ASSERT_OK(DeliverPart(batch, 0, 3));
  const auto unavailable = [](const char* why) {
    return StatusIs(StatusCode::kUnavailable, HasSubstr(why));
  };
  store_.FailWrites(FailedPreconditionError("the role lacks a right"));
  EXPECT_THAT(DeliverPart(batch, 3, 3), unavailable("the role lacks a right"));
  store_.FailWrites(DataLossError("the store is corrupt"));
  EXPECT_THAT(DeliverPart(batch, 3, 3), unavailable("the store is corrupt"));
  store_.FailWrites(OkStatus());
  EXPECT_EQ(DeliverPart(batch, 3, 3)->state, State::kStored);
}

// The same holds if the end of a study cannot be written.
TEST_F(BatchTest, AStudyThatCannotBeSealedIsUnavailable) {
  StudySpec spec = RelayedSpec("two", 4);
  spec.settings.expires_unix_seconds = 2000;
  ASSERT_OK(studies_->Create(spec));
  const SealedBatch batch = HonestBatch(1, 6, "two");
  now_ = 2000;
  store_.FailWrites(FailedPreconditionError("the role lacks a right"));
  EXPECT_THAT(DeliverPart(batch, 0, 6, "two"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("the role lacks a right")));
  store_.FailWrites(OkStatus());
  EXPECT_THAT(DeliverPart(batch, 0, 6, "two"), StatusIs(kNeverTaken, HasSubstr("is sealed")));
}

// The store's error of a full disk.
TEST_F(BatchTest, AFullDiskRefusesAPartAndTakesItLater) {
  const SealedBatch batch = HonestBatch(1, 6);
  ASSERT_OK(DeliverPart(batch, 0, 3));
  store_.FailWrites(ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(DeliverPart(batch, 3, 3), StatusIs(StatusCode::kResourceExhausted, _));
  EXPECT_EQ(*Ask(batch), (Progress{.received = 3}));
  store_.FailWrites(OkStatus());
  EXPECT_EQ(DeliverPart(batch, 3, 3)->state, State::kStored);
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 6u);
}

}  // namespace
}  // namespace coppice::curator
