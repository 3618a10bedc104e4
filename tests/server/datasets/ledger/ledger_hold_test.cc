// A ledger that may lack its last entries spends nothing until its owner has confirmed it.

#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/datasets/ledger/ledger_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::ledger {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class LedgerHoldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
    ASSERT_OK(ledger->OpenAccount("d", BasicCap(10 * kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "job", Releases(kEpsilon), {}));
    head_ = ledger->Get("d")->head;
  }

  void PutOnHold(HoldReason reason) {
    storage::StoreBatch batch;
    batch.Put(HoldKey("d"), EncodeHold({.reason = reason, .unix_seconds = kNow, .head = head_}));
    ASSERT_OK(store_.Apply(batch));
  }

  MemoryStore store_;
  Sha256Digest head_{};
};

TEST_F(LedgerHoldTest, NothingIsReservedOrReturnedUntilTheHeadIsConfirmed) {
  PutOnHold(HoldReason::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  for (const Status& refused :
       {ledger->Reserve("d", "other", Releases(1), {}), ledger->Return("d", "job", {}),
        ledger->Preview("d", Releases(1))->fits}) {
    EXPECT_THAT(refused, StatusIs(StatusCode::kFailedPrecondition,
                                  HasSubstr("the head that was noted last")));
  }
  EXPECT_EQ(ledger->Get("d")->hold.reason, HoldReason::kUnconfirmed);
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, kEpsilon);
  ASSERT_OK(ledger->Confirm("d", head_));
  EXPECT_EQ(ledger->Get("d")->hold.reason, HoldReason::kNone);
  EXPECT_OK(ledger->Reserve("d", "other", Releases(1), {}));
  EXPECT_OK(ledger->Confirm("d", head_)) << "confirming again is no error";
  EXPECT_OK(OpenLedger(store_).value()->Reserve("d", "third", Releases(1), {}));
}

TEST_F(LedgerHoldTest, NoAnswerHasTheHeadWhileTheHoldStands) {
  PutOnHold(HoldReason::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  const std::string head =
      BytesToHexString({reinterpret_cast<const char*>(head_.data()), head_.size()});
  Sha256Digest unknown = head_;
  unknown[0] ^= 1;
  for (const Status& refused :
       {ledger->Reserve("d", "other", Releases(1), {}), ledger->Return("d", "job", {}),
        ledger->Preview("d", Releases(1))->fits, ledger->Confirm("d", unknown)}) {
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr(head)));
  }
  ASSERT_OK_AND_ASSIGN(const Account held, ledger->Get("d"));
  EXPECT_EQ(held.head, Sha256Digest{});
  EXPECT_EQ(held.hold.head, Sha256Digest{});
  ASSERT_THAT(held.entries, SizeIs(2));
  for (const LedgerEntry& entry : held.entries) EXPECT_EQ(entry.hash, Sha256Digest{});
  ASSERT_OK(ledger->Confirm("d", head_));
  EXPECT_EQ(ledger->Get("d")->head, head_);
}

TEST_F(LedgerHoldTest, AJobThatEndsMeanwhileIsSettledAndTheHeadOfBeforeStillConfirms) {
  PutOnHold(HoldReason::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  ASSERT_OK(ledger->Settle("d", "job", {}, {}));
  EXPECT_NE(ledger->Get("d")->head, head_);
  EXPECT_THAT(ledger->Get("d")->entries, SizeIs(3));
  EXPECT_OK(ledger->Confirm("d", head_));
}

TEST_F(LedgerHoldTest, AnOlderHeadAndAnUnknownOneAreRefusedInTheSameWords) {
  const Sha256Digest older = OpenLedger(store_).value()->Get("d")->entries[0].hash;
  PutOnHold(HoldReason::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  Sha256Digest unknown = head_;
  unknown[0] ^= 1;
  const Status refused = ledger->Confirm("d", older);
  EXPECT_THAT(refused, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("write off")));
  EXPECT_EQ(ledger->Confirm("d", unknown), refused);
  EXPECT_EQ(ledger->Confirm("d", Sha256Digest{}), refused);
  EXPECT_THAT(ledger->Confirm("none", head_), StatusIs(StatusCode::kNotFound, ::testing::_));
  EXPECT_FALSE(ledger->Reserve("d", "other", Releases(1), {}).ok());
}

TEST_F(LedgerHoldTest, ALossThatIsWrittenOffIsChargedLikeAnyOtherAndEndsTheHold) {
  PutOnHold(HoldReason::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(auto ledger, OpenLedger(store_));
  ASSERT_OK(ledger->WriteOff("d", 4 * kEpsilon, 0));
  for (int opened = 0; opened < 2; ++opened) {
    ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("d"));
    EXPECT_EQ(account.hold.reason, HoldReason::kNone);
    EXPECT_EQ(account.spent.epsilon_nanos, 5 * kEpsilon);
    ASSERT_THAT(account.entries, SizeIs(3));
    EXPECT_EQ(account.entries[2].kind, EntryKind::kWriteOff);
    EXPECT_EQ(account.entries[2].cost.epsilon_nanos, 4 * kEpsilon);
    EXPECT_EQ(account.head, account.entries[2].hash);
    ASSERT_OK_AND_ASSIGN(ledger, OpenLedger(store_));
  }
  EXPECT_THAT(ledger->Reserve("d", "other", Releases(6 * kEpsilon), {}),
              StatusIs(StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_OK(ledger->Reserve("d", "other", Releases(5 * kEpsilon), {}));
  ASSERT_OK(ledger->Return("d", "other", {}));
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, 5 * kEpsilon) << "what is lost stays charged";
}

TEST_F(LedgerHoldTest, AtMostWhatIsLeftIsWrittenOff) {
  PutOnHold(HoldReason::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  ASSERT_OK(ledger->WriteOff("d", 1000 * kEpsilon, 7));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("d"));
  EXPECT_EQ(account.spent.epsilon_nanos, 10 * kEpsilon);
  EXPECT_EQ(account.spent.delta_atto, 0u);
  EXPECT_EQ(account.left, RemainingBudget());
}

TEST_F(LedgerHoldTest, WithoutAHoldOrAnAmountNothingIsWrittenOff) {
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
    EXPECT_THAT(ledger->WriteOff("d", 1, 0),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not on hold")));
    EXPECT_THAT(ledger->WriteOff("none", 1, 0), StatusIs(StatusCode::kNotFound, _));
  }
  PutOnHold(HoldReason::kUnconfirmed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  EXPECT_THAT(ledger->WriteOff("d", 0, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no spending journal")));
  EXPECT_EQ(ledger->Get("d")->hold.reason, HoldReason::kUnconfirmed);
}

// Squares of parts add up to less than the square of their sum.
TEST_F(LedgerHoldTest, UnderZcdpALossCostsNoLessThanTheReleasesThatWereLost) {
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
    ASSERT_OK(ledger->OpenAccount("z", ZcdpCap(kEpsilon), {}));
  }
  storage::StoreBatch batch;
  batch.Put(HoldKey("z"), EncodeHold({.reason = HoldReason::kUnconfirmed}));
  ASSERT_OK(store_.Apply(batch));
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  EXPECT_THAT(ledger->WriteOff("z", kEpsilon / 10, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
  ASSERT_OK(ledger->WriteOff("z", kEpsilon / 10, 0));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("z"));
  EXPECT_EQ(account.spent.rho_pico, CostOf(Releases(kEpsilon / 10))->rho_pico);
  EXPECT_GT(account.spent.rho_pico, CostOf(Releases(kEpsilon / 20, 2))->rho_pico);
}

TEST_F(LedgerHoldTest, AWriteOffThatFailsIsThereWholeOrNotAtAll) {
  for (const bool kept : {false, true}) {
    PutOnHold(HoldReason::kUnconfirmed);
    CrashingStore disk(store_, {.write = 0, .kept = kept});
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(disk));
    const uint64_t before = ledger->Get("d")->spent.epsilon_nanos;
    EXPECT_THAT(ledger->WriteOff("d", kEpsilon, 0), StatusIs(StatusCode::kUnavailable, _));
    EXPECT_EQ(ledger->WriteOff("d", kEpsilon, 0).ok(), !kept) << "never charged twice";
    EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, before + kEpsilon);
    EXPECT_OK(ledger->Preview("d", Releases(1))->fits);
  }
}

TEST_F(LedgerHoldTest, AClosedLedgerHasNothingLeftForGood) {
  PutOnHold(HoldReason::kClosed);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  EXPECT_EQ(ledger->Get("d")->left.epsilon_nanos, 0u);
  EXPECT_THAT(ledger->Reserve("d", "other", Releases(1), {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("closed for good")));
  EXPECT_THAT(ledger->Confirm("d", head_), StatusIs(StatusCode::kFailedPrecondition, ::testing::_));
}

TEST_F(LedgerHoldTest, AClosedLedgerWithoutAnyEntryKeepsItsName) {
  storage::StoreBatch batch;
  batch.DeletePrefix("ledger/d/");
  batch.Put(HoldKey("d"), EncodeHold({.reason = HoldReason::kClosed}));
  ASSERT_OK(store_.Apply(batch));
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  EXPECT_THAT(ledger->Get("d")->entries, SizeIs(0));
  EXPECT_THAT(ledger->OpenAccount("d", BasicCap(kEpsilon), {}),
              StatusIs(StatusCode::kAlreadyExists, ::testing::_));
}

TEST_F(LedgerHoldTest, AConfirmationThatFailsLeavesTheHoldAndMayBeRepeated) {
  PutOnHold(HoldReason::kUnconfirmed);
  for (const bool kept : {false, true}) {
    CrashingStore disk(store_, {.write = 0, .kept = kept});
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(disk));
    EXPECT_THAT(ledger->Confirm("d", head_), StatusIs(StatusCode::kUnavailable, ::testing::_));
    EXPECT_FALSE(ledger->Reserve("d", "other", Releases(1), {}).ok());
    EXPECT_OK(ledger->Confirm("d", head_));
    EXPECT_OK(ledger->Preview("d", Releases(1))->fits);
    PutOnHold(HoldReason::kUnconfirmed);
  }
}

TEST_F(LedgerHoldTest, ADamagedHoldIsDataLoss) {
  storage::StoreBatch batch;
  batch.Put(HoldKey("d"), "\xff");
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(OpenLedger(store_), StatusIs(StatusCode::kDataLoss, HasSubstr("hold/d/")));
}

TEST_F(LedgerHoldTest, NobodyElseWritesHolds) {
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store_));
  storage::StoreBatch with;
  with.Delete(HoldKey("d"));
  EXPECT_THAT(ledger->Reserve("d", "other", Releases(1), std::move(with)),
              StatusIs(StatusCode::kInternal, ::testing::_));
}

}  // namespace
}  // namespace coppice::ledger
