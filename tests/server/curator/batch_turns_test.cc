// Concurrent calls about batches: which of them wait for each other.

#include <array>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/server/curator/batch_fixture.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::HasSubstr;

// A store that holds each kind of access to the spool of study "one" until it is let go.
class GatedStore final : public storage::Store {
 public:
  enum Gate { kPuts, kDeletes, kScans };

  explicit GatedStore(storage::Store& disk) : disk_(disk) {}

  void Hold(Gate gate) {
    const std::lock_guard lock(mutex_);
    held_[gate] = true;
  }
  void LetGo(Gate gate) {
    const std::lock_guard lock(mutex_);
    held_[gate] = false;
    changed_.notify_all();
  }
  void AwaitAt(Gate gate) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_[gate] > 0; });
  }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return disk_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    for (const auto& [key, value] : batch.puts()) PassIfSpool(kPuts, key);
    for (const std::string& key : batch.deleted_keys()) PassIfSpool(kDeletes, key);
    return disk_.Apply(batch);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    PassIfSpool(kScans, prefix);
    return disk_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return disk_.Purge(prefix); }

 private:
  void PassIfSpool(Gate gate, std::string_view key) const {
    if (!StartsWith(key, "spool/one/")) return;
    std::unique_lock lock(mutex_);
    ++waiting_[gate];
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_[gate]; });
    --waiting_[gate];
  }

  storage::Store& disk_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::array<bool, 3> held_{};
  mutable std::array<int, 3> waiting_{};
};

class BatchTurnsTest : public BatchTest {
 protected:
  using Call = std::future<StatusOr<BatchProgress>>;

  BatchTurnsTest() : BatchTest(kLargeUnit) {}
  void SetUp() override {
    BatchTest::SetUp();
    Reopen(gates_);
    ASSERT_OK(studies_->Create(RelayedSpec("two")));
  }
  void TearDown() override {
    for (const auto gate : {GatedStore::kPuts, GatedStore::kDeletes, GatedStore::kScans}) {
      gates_.LetGo(gate);
    }
    studies_.reset();
  }

  template <typename F>
  static auto Begin(F call) {
    return std::async(std::launch::async, std::move(call));
  }
  // Whether the call ends although something is held.
  template <typename T>
  static bool EndsAtOnce(std::future<T>& call) {
    return call.wait_for(std::chrono::minutes(5)) == std::future_status::ready;
  }

  GatedStore gates_{store_};
};

TEST_F(BatchTurnsTest, APartWaitsForNoOtherPart) {
  const SealedBatch first = HonestBatch(1, 5);
  const SealedBatch second = HonestBatch(2, 5);
  gates_.Hold(GatedStore::kPuts);
  Call slow = Begin([&] { return DeliverPart(first, 0, 2); });
  gates_.AwaitAt(GatedStore::kPuts);
  for (const SealedBatch* batch : {&first, &second}) {
    Call other = Begin([&] { return DeliverPart(*batch, 0, 2); });
    ASSERT_TRUE(EndsAtOnce(other));
    EXPECT_THAT(other.get(), StatusIs(StatusCode::kAborted, HasSubstr("another part")));
  }
  gates_.LetGo(GatedStore::kPuts);
  EXPECT_EQ(*slow.get(), (BatchProgress{.received = 2 * unit_}));
  EXPECT_EQ(*DeliverPart(second, 0, 2), (BatchProgress{.received = 2 * unit_}));
}

TEST_F(BatchTurnsTest, NobodyWaitsWhileTheRootIsFound) {
  const SealedBatch whole = HonestBatch(1, 5);
  const SealedBatch other = HonestBatch(2, 5);
  ASSERT_OK(DeliverPart(whole, 0, 4));
  gates_.Hold(GatedStore::kScans);
  Call checked = Begin([&] { return DeliverPart(whole, 4, 1); });
  gates_.AwaitAt(GatedStore::kScans);
  Call asked = Begin([&] { return Ask(whole); });
  ASSERT_TRUE(EndsAtOnce(asked));
  EXPECT_THAT(asked.get(), StatusIs(StatusCode::kAborted, HasSubstr("root is being found")));
  Call taken = Begin([&] { return DeliverPart(other, 0, 2); });
  ASSERT_TRUE(EndsAtOnce(taken));
  EXPECT_EQ(*taken.get(), (BatchProgress{.received = 2 * unit_}));
  gates_.LetGo(GatedStore::kScans);
  EXPECT_EQ(checked.get()->state, BatchState::kStored);
  ASSERT_OK(Deliver(other));
  EXPECT_EQ(CountOf(AwaitCounted(), ReportOutcome::kAccepted), 10 * unit_);
}

TEST_F(BatchTurnsTest, AStudyIsSealedWhileTheRootIsFound) {
  const SealedBatch whole = HonestBatch(1, 5);
  gates_.Hold(GatedStore::kScans);
  Call checked = Begin([&] { return DeliverPart(whole, 0, 4); });
  ASSERT_OK(checked.get());
  checked = Begin([&] { return DeliverPart(whole, 4, 1); });
  gates_.AwaitAt(GatedStore::kScans);
  auto sealed = Begin([&] { return studies_->Seal("one"); });
  ASSERT_TRUE(EndsAtOnce(sealed));
  ASSERT_OK(sealed.get());
  gates_.LetGo(GatedStore::kScans);
  EXPECT_THAT(checked.get(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is sealed")));
  EXPECT_EQ(RecordsUnder("spool/one/"), 0u);
  EXPECT_EQ(studies_->Get("one")->relay->batches.newest[0].state, BatchState::kBroken);
}

// A relay whose part is not being stored keeps no other study from counting.
TEST_F(BatchTurnsTest, CountingWaitsForNoPart) {
  const SealedBatch counted = HonestBatch(1, 4);
  const SealedBatch slow = HonestBatch(2, 5);
  const SealedBatch others = HonestBatch(3, 4, "two");
  gates_.Hold(GatedStore::kDeletes);
  ASSERT_OK(Deliver(counted));
  gates_.AwaitAt(GatedStore::kDeletes);  // the batch is being counted
  gates_.Hold(GatedStore::kPuts);
  Call held = Begin([&] { return DeliverPart(slow, 0, 2); });
  gates_.AwaitAt(GatedStore::kPuts);
  gates_.LetGo(GatedStore::kDeletes);
  ASSERT_OK(Deliver(others, 4, "two"));
  EXPECT_EQ(CountOf(AwaitCounted("two"), ReportOutcome::kAccepted), 4 * unit_);
  EXPECT_EQ(studies_->Get("one")->relay->batches.waiting, 0u);
  gates_.LetGo(GatedStore::kPuts);
  EXPECT_OK(held.get());
}

}  // namespace
}  // namespace coppice::curator
