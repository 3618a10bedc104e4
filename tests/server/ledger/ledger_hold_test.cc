// A ledger that may lack its last entries spends nothing until its owner has confirmed it.

#include <string>

#include "absl/strings/escaping.h"
#include "server/ledger/ledger_record.h"
#include "tests/server/ledger/ledger_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: the fixture is all of this file's vocabulary.
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LedgerHoldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
    ASSERT_OK(ledger->OpenAccount("d", BasicCap(10 * kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "job", Releases(kEpsilon), {}));
    head_ = ledger->Get("d")->head;
  }

  void PutOnHold(LedgerHold reason) {
    StoreBatch batch;
    batch.Put(HoldKey("d"), EncodeHold({.reason = reason, .unix_seconds = kNow, .head = head_}));
    ASSERT_OK(store_.Apply(batch));
  }

  MemoryStore store_;
  Sha256Digest head_{};
};

TEST_F(LedgerHoldTest, NothingIsReservedOrReturnedUntilTheHeadIsConfirmed) {
  PutOnHold(LedgerHold::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  for (const absl::Status& refused :
       {ledger->Reserve("d", "other", Releases(1), {}), ledger->Return("d", "job", {}),
        ledger->Preview("d", Releases(1))->fits}) {
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr(absl::BytesToHexString(
                                      {reinterpret_cast<const char*>(head_.data()), 32}))));
  }
  EXPECT_EQ(ledger->Get("d")->hold.reason, LedgerHold::kUnconfirmed);
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, kEpsilon);
  ASSERT_OK(ledger->Confirm("d", head_));
  EXPECT_EQ(ledger->Get("d")->hold.reason, LedgerHold::kNone);
  EXPECT_OK(ledger->Reserve("d", "other", Releases(1), {}));
  EXPECT_OK(ledger->Confirm("d", head_)) << "confirming again is no error";
  EXPECT_OK(OpenLedger(store_).value()->Reserve("d", "third", Releases(1), {}));
}

TEST_F(LedgerHoldTest, AJobThatEndsMeanwhileIsSettledAndTheHeadOfBeforeStillConfirms) {
  PutOnHold(LedgerHold::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  ASSERT_OK(ledger->Settle("d", "job", {}, {}));
  EXPECT_NE(ledger->Get("d")->head, head_);
  EXPECT_THAT(ledger->Get("d")->entries, SizeIs(3));
  EXPECT_OK(ledger->Confirm("d", head_));
}

TEST_F(LedgerHoldTest, AnotherHeadDoesNotConfirmAndTheAnswerSaysWhy) {
  PutOnHold(LedgerHold::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  EXPECT_THAT(ledger->Confirm("d", ledger->Get("d")->entries[0].hash),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is that of entry 0")));
  Sha256Digest unknown = head_;
  unknown[0] ^= 1;
  EXPECT_THAT(ledger->Confirm("d", unknown),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("entries are lost")));
  EXPECT_THAT(ledger->Confirm("none", head_), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_FALSE(ledger->Reserve("d", "other", Releases(1), {}).ok());
}

TEST_F(LedgerHoldTest, AClosedLedgerHasNothingLeftForGood) {
  PutOnHold(LedgerHold::kClosed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  EXPECT_EQ(ledger->Get("d")->left.epsilon_nanos, 0u);
  EXPECT_THAT(ledger->Reserve("d", "other", Releases(1), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed for good")));
  EXPECT_THAT(ledger->Confirm("d", head_),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
}

TEST_F(LedgerHoldTest, AClosedLedgerWithoutAnyEntryKeepsItsName) {
  StoreBatch batch;
  batch.DeletePrefix("ledger/d/");
  batch.Put(HoldKey("d"), EncodeHold({.reason = LedgerHold::kClosed}));
  ASSERT_OK(store_.Apply(batch));
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  EXPECT_THAT(ledger->Get("d")->entries, SizeIs(0));
  EXPECT_THAT(ledger->OpenAccount("d", BasicCap(kEpsilon), {}),
              StatusIs(absl::StatusCode::kAlreadyExists, ::testing::_));
}

TEST_F(LedgerHoldTest, AConfirmationThatFailsLeavesTheHoldAndMayBeRepeated) {
  PutOnHold(LedgerHold::kUnconfirmed);
  for (const bool kept : {false, true}) {
    CrashingStore disk(store_, {.write = 0, .kept = kept});
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(disk));
    EXPECT_THAT(ledger->Confirm("d", head_),
                StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
    EXPECT_FALSE(ledger->Reserve("d", "other", Releases(1), {}).ok());
    EXPECT_OK(ledger->Confirm("d", head_));
    EXPECT_OK(ledger->Preview("d", Releases(1))->fits);
    PutOnHold(LedgerHold::kUnconfirmed);
  }
}

TEST_F(LedgerHoldTest, ADamagedHoldIsDataLoss) {
  StoreBatch batch;
  batch.Put(HoldKey("d"), "\xff");
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(OpenLedger(store_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("hold/d/")));
}

TEST_F(LedgerHoldTest, NobodyElseWritesHolds) {
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  StoreBatch with;
  with.Delete(HoldKey("d"));
  EXPECT_THAT(ledger->Reserve("d", "other", Releases(1), std::move(with)),
              StatusIs(absl::StatusCode::kInternal, ::testing::_));
}

}  // namespace
}  // namespace coppice
