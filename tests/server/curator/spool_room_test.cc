// How much of the curator's disk the batches of relays may take.

#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "tests/server/curator/batch_fixture.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::HasSubstr;

class SpoolRoomTest : public BatchTest {
 protected:
  SpoolRoomTest() : BatchTest(kLargeUnit) {}
  void TearDown() override { studies_.reset(); }

  static uint64_t BytesOf(const SealedBatch& batch) {
    const SealedReport& report = batch.reports[0];
    return batch.reports.size() *
           (report.ticket.size() + report.encapsulated.size() + report.ciphertext.size());
  }
  void Limit(uint64_t bytes, uint64_t bytes_per_relay) {
    limits_.spool = {.bytes = bytes, .bytes_per_relay = bytes_per_relay};
    Reopen(store_);
  }
  static auto IsRefusedBy(const char* setting) {
    return StatusIs(StatusCode::kResourceExhausted,
                    AllOf(HasSubstr(setting), HasSubstr("keep the batch")));
  }
};

constexpr uint64_t kPlenty = uint64_t{1} << 40;

TEST_F(SpoolRoomTest, ABatchHasItsRoomFromItsFirstPartUntilItIsCounted) {
  const SealedBatch first = HonestBatch(1, 6);
  const SealedBatch second = HonestBatch(2, 5);
  Limit(kPlenty, BytesOf(first) + BytesOf(second) - 1);
  EXPECT_EQ(studies_->SpoolBytes(), 0u);
  ASSERT_OK(DeliverPart(first, 0, 1));
  EXPECT_EQ(studies_->SpoolBytes(), BytesOf(first));
  EXPECT_THAT(DeliverPart(second, 0, 1), IsRefusedBy("--max-relay-spool-bytes"));
  EXPECT_THAT(Ask(second), IsRefusedBy("--max-relay-spool-bytes"));
  EXPECT_EQ(RecordsUnder("batch/"), 1u);
  ASSERT_OK(Deliver(first)) << "what has begun can be finished";
  AwaitCounted();
  EXPECT_EQ(studies_->SpoolBytes(), 0u);
  ASSERT_OK(Deliver(second));
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 11 * unit_);
}

TEST_F(SpoolRoomTest, ARestartKeepsTheRoomOfWhatHasBegun) {
  const SealedBatch first = HonestBatch(1, 6);
  const SealedBatch second = HonestBatch(2, 5);
  ASSERT_OK(DeliverPart(first, 0, 2));
  Limit(kPlenty, BytesOf(second));
  EXPECT_EQ(studies_->SpoolBytes(), BytesOf(first));
  EXPECT_THAT(DeliverPart(second, 0, 1), IsRefusedBy("--max-relay-spool-bytes"));
  ASSERT_OK(Deliver(first)) << "though the limit was lowered";
  AwaitCounted();
  EXPECT_OK(Deliver(second));
}

TEST_F(SpoolRoomTest, OneRelayLeavesRoomForOthers) {
  StudySpec spec = RelayedSpec("two");
  spec.settings.relay->relay_key = RelayKey(8).public_key();
  ASSERT_OK(studies_->Create(spec));
  const SealedBatch first = HonestBatch(1, 6);
  const SealedBatch more = HonestBatch(2, 4);
  SealedBatch others = HonestBatch(3, 5, "two");
  others.header.relay_key = KeyIdOf(RelayKey(8).public_key());
  SignHeader(others, RelayKey(8));
  Limit(BytesOf(first) + BytesOf(others), BytesOf(first));
  ASSERT_OK(DeliverPart(first, 0, 1));
  EXPECT_THAT(DeliverPart(more, 0, 1), IsRefusedBy("--max-relay-spool-bytes"));
  EXPECT_OK(DeliverPart(others, 0, 1, "two"));
  Limit(BytesOf(others), BytesOf(first));
  SealedBatch next = HonestBatch(4, 4, "two");
  next.header.relay_key = others.header.relay_key;
  SignHeader(next, RelayKey(8));
  EXPECT_THAT(DeliverPart(next, 0, 1, "two"), IsRefusedBy("--max-relay-spool-bytes"));
  Limit(BytesOf(others), kPlenty);
  EXPECT_THAT(DeliverPart(next, 0, 1, "two"), IsRefusedBy("--max-spool-bytes"));
}

TEST_F(SpoolRoomTest, WhatIsDroppedGivesItsRoomBack) {
  const SealedBatch begun = HonestBatch(1, 6);
  ASSERT_OK(DeliverPart(begun, 0, 2));
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_EQ(studies_->SpoolBytes(), 0u);
  ASSERT_OK(studies_->Create(RelayedSpec("two")));
  ASSERT_OK(DeliverPart(HonestBatch(2, 6, "two"), 0, 2, "two"));
  EXPECT_GT(studies_->SpoolBytes(), 0u);
  ASSERT_OK(studies_->Delete("two"));
  EXPECT_EQ(studies_->SpoolBytes(), 0u);
}

// A failed write gives its room back.
TEST_F(SpoolRoomTest, ABatchThatCouldNotBeginTakesNoRoom) {
  const SealedBatch first = HonestBatch(1, 6);
  Limit(kPlenty, BytesOf(first));
  store_.FailWrites(UnavailableError("not now"));
  EXPECT_FALSE(DeliverPart(first, 0, 1).ok());
  store_.FailWrites(OkStatus());
  EXPECT_EQ(studies_->SpoolBytes(), 0u);
  EXPECT_OK(DeliverPart(first, 0, 1));
}

}  // namespace
}  // namespace coppice::curator
