// What a write of the log takes does not grow with the records that wait for their day to end.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/server/store/audit_log/audit_fixture.h"
#include "tests/support/taken_memory.h"

namespace coppice::audit {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.

constexpr int kWaiting = 3000;

AuditEvent PrivateCall(int number) {
  AuditEvent event =
      NewAuditEvent("lab", "DatasetService/CreateDataset", StrCat("datasets/d", number));
  event.by_day = true;
  return event;
}

// Keeps the batches of a store and counts their bytes.
class CountingStore final : public storage::Store {
 public:
  explicit CountingStore(storage::Store& store) : store_(store) {}

  uint64_t bytes() const { return bytes_; }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    ++reads_;
    return store_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    for (const auto& [key, value] : batch.puts()) bytes_ += key.size() + value.size();
    for (const std::string& key : batch.deleted_keys()) bytes_ += key.size();
    return store_.Apply(batch);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view, std::string_view)> visit) const override {
    ++reads_;
    return store_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return store_.Purge(prefix); }

  uint64_t reads() const { return reads_; }

 private:
  storage::Store& store_;
  uint64_t bytes_ = 0;
  mutable uint64_t reads_ = 0;
};

class AuditCostTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(audited_, OpenAudited(store_, now_)); }

  // A call that waits for its day to end, as calls on private rows do.
  void Call() {
    const StatusOr<uint64_t> begun = log().Begin(PrivateCall(calls_++));
    ASSERT_OK(begun.status());
    log().End(*begun, "OK");
  }

  AuditLog& log() { return *audited_.log; }

  int64_t now_ = 1'700'000'000;
  int calls_ = 0;
  MemoryStore disk_;
  CountingStore store_{disk_};
  AuditedLedger audited_;
};

TEST_F(AuditCostTest, ACallAsksForNoMoreMemoryWhenThousandsWait) {
  if (!CountsMemory()) GTEST_SKIP() << "memory cannot be counted here";
  Call();
  const uint64_t at_first = MemoryTakenBy([&] { Call(); });
  for (int i = 0; i < kWaiting; ++i) Call();
  const uint64_t later = MemoryTakenBy([&] { Call(); });
  EXPECT_LT(later, 2 * at_first) << kWaiting << " records wait";
}

TEST_F(AuditCostTest, ACallWritesNoMoreAndReadsNothingWhenThousandsWait) {
  Call();
  const uint64_t before = store_.bytes();
  Call();
  const uint64_t at_first = store_.bytes() - before;
  for (int i = 0; i < kWaiting; ++i) Call();
  const uint64_t bytes = store_.bytes(), reads = store_.reads();
  Call();
  EXPECT_LT(store_.bytes() - bytes, 2 * at_first);
  EXPECT_EQ(store_.reads(), reads);
}

// Whatever came and went in between, the stored log verifies, and a day later all is entered.
TEST_F(AuditCostTest, TheLogVerifiesAfterThousandsOfCalls) {
  for (int i = 0; i < kWaiting; ++i) {
    Call();
    if (i % 3 != 0) continue;
    ASSERT_OK_AND_ASSIGN(const uint64_t forgotten, log().Begin(PrivateCall(-i)));
    log().Forget(forgotten);
  }
  EXPECT_OK(CheckLog(disk_));
  ASSERT_OK_AND_ASSIGN(audited_, OpenAudited(store_, now_));
  now_ += kDay;
  Call();
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse page, log().Read(0, 1));
  EXPECT_EQ(page.head().entries(), uint64_t{kWaiting} + 1) << "with log/begin";
  EXPECT_OK(CheckLog(disk_));
}

TEST(OpenSumTest, ForgetsTheOrderAndWhatWasRemoved) {
  OpenSum one("a salt"), other("a salt");
  one.Add(1, "first");
  one.Add(2, "second");
  one.Add(3, "third");
  one.Remove(2, "second");
  other.Add(3, "third");
  other.Add(1, "first");
  EXPECT_EQ(one.Bytes(), other.Bytes());
  EXPECT_EQ(one.Bytes().size(), 32u);
  OpenSum emptied = one;
  emptied.Remove(1, "first");
  emptied.Remove(3, "third");
  EXPECT_EQ(emptied.Bytes(), OpenSum("a salt").Bytes());
}

TEST(OpenSumTest, DiffersWithSaltNumberAndBytes) {
  OpenSum sum("a salt"), salted("another"), numbered("a salt"), changed("a salt");
  EXPECT_NE(sum.Bytes(), salted.Bytes()) << "even of no record";
  sum.Add(1, "record");
  salted.Add(1, "record");
  numbered.Add(2, "record");
  changed.Add(1, "recorD");
  EXPECT_NE(sum.Bytes(), salted.Bytes());
  EXPECT_NE(sum.Bytes(), numbered.Bytes());
  EXPECT_NE(sum.Bytes(), changed.Bytes());
}

}  // namespace
}  // namespace coppice::audit
