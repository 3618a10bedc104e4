// An epoch's promises over crashes at every change of the disk. The disk keeps what was synced, and
// of the rest nothing, all or some.

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "common/base/status.h"
#include "server/relay/epoch/epoch.h"
#include "tests/server/relay/epoch/sample_epoch.h"
#include "tests/server/relay/epoch/simulated_disk.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {
namespace {

using relay::Dealt;
using relay::Epoch;
using relay::EpochState;
using relay::Frozen;
using relay::SealedColumns;
using relay::SubmitOutcome;
using ::testing::HasSubstr;

constexpr char kFolder[] = "/relay/epoch";
constexpr uint64_t kTickets = 8;
constexpr uint64_t kMinBatch = 3;

// A relay with its devices, which remembers what anybody was told.
class Life {
 public:
  explicit Life(uint64_t seed) : disk_(seed) {
    EXPECT_OK(disk_.CreateFolder("/relay"));
    EXPECT_OK(disk_.SyncFolder("/"));
  }

  SimulatedDisk& disk() { return disk_; }
  Epoch& epoch() { return *epoch_; }
  const std::vector<Dealt>& dealt() const { return dealt_; }
  const Reports& stored() const { return stored_; }
  const std::optional<Frozen>& frozen() const { return frozen_; }

  // Each step returns false if the disk has stopped.
  bool Create() {
    StatusOr<std::unique_ptr<Epoch>> epoch =
        Epoch::Create(kFolder, MakeSpec(kTickets, kMinBatch), disk_);
    if (!epoch.ok()) return false;
    created_ = true;
    epoch_ = *std::move(epoch);
    return true;
  }
  bool Deal() {
    const StatusOr<Dealt> dealt = epoch_->Deal(kDealing);
    if (!dealt.ok()) return IsResourceExhausted(dealt.status());
    for (const Dealt& before : dealt_) EXPECT_FALSE(before.ticket == dealt->ticket);
    dealt_.push_back(*dealt);
    return true;
  }
  bool Submit(const Dealt& dealt) {
    const std::string ticket = dealt.ticket.ToBytes();
    tried_.insert(ticket);
    const auto outcome = SubmitTo(*epoch_, ReportFor(dealt));
    if (!outcome.ok()) return false;
    EXPECT_EQ(*outcome, SubmitOutcome::kStored);
    stored_[ticket] = ReportFor(dealt);
    const auto other = SubmitTo(*epoch_, ReportFor(dealt, 1));
    if (other.ok()) {
      EXPECT_EQ(*other, SubmitOutcome::kConflict);
    }
    return other.ok();
  }
  bool Freeze() {
    const StatusOr<Frozen> frozen = epoch_->Freeze(kOver);
    if (!frozen.ok()) return false;
    if (frozen_.has_value()) {
      EXPECT_EQ(*frozen, *frozen_);
    }
    frozen_ = *frozen;
    return true;
  }
  bool MarkDelivered() {
    if (frozen_->dropped) return true;
    if (!epoch_->MarkDelivered().ok()) return false;
    delivered_ = true;
    return true;
  }
  bool Erase() {
    erasing_ = true;
    if (!epoch_->Erase().ok()) return false;
    erased_ = true;
    return true;
  }

  void Crash(bool power_cut) {
    disk_.StopAfter(0);  // a process that dies says nothing more
    epoch_.reset();
    power_cut ? disk_.CutPower() : disk_.Kill();
  }

  // False if the epoch is not there. What was told to anybody must still hold.
  bool Open() {
    StatusOr<std::vector<std::string>> folders = Epoch::List("/relay", disk_);
    if (!folders.ok()) return false;
    EXPECT_LE(folders->size(), 1u);
    EXPECT_LE(disk_.Paths().size(), 6u) << "halves are left";
    if (folders->empty()) {
      EXPECT_TRUE(!created_ || erasing_) << "the epoch was lost";
      return false;
    }
    EXPECT_FALSE(erased_) << "the epoch came back";
    StatusOr<std::unique_ptr<Epoch>> epoch = Epoch::Open(folders->front(), disk_);
    if (!epoch.ok()) {
      EXPECT_TRUE(disk_.stopped()) << epoch.status();
      return false;
    }
    created_ = true;
    epoch_ = *std::move(epoch);
    Check();
    return !disk_.stopped();
  }

  // The batch has every report that was stored, and no others than were sent.
  void CheckBatch() {
    if (epoch_->state() != EpochState::kFrozen && epoch_->state() != EpochState::kDelivered) return;
    const StatusOr<SealedColumns> columns = epoch_->Read(0, kTickets);
    if (!columns.ok()) {
      EXPECT_TRUE(disk_.stopped()) << columns.status();
      return;
    }
    Reports found;
    for (uint64_t i = 0; i < columns->reports; ++i) {
      const std::string ticket = columns->tickets.substr(32 * i, 32);
      EXPECT_EQ(tried_.count(ticket), 1u);
      found[ticket] = ReportFor(ticket, {});
    }
    for (const auto& [ticket, report] : stored_) EXPECT_EQ(found.count(ticket), 1u);
    EXPECT_EQ(columns->encapsulated, ColumnsOf(found).encapsulated);
    EXPECT_EQ(columns->ciphertexts, ColumnsOf(found).ciphertexts);
    if (frozen_.has_value()) {
      EXPECT_EQ(*frozen_, BatchOf(found, kMinBatch));
    }
  }

 private:
  void Check() {
    const EpochState state = epoch_->state();
    if (frozen_.has_value()) {
      EXPECT_NE(state, EpochState::kOpen) << "a frozen epoch is open again";
      EXPECT_EQ(state == EpochState::kDropped, frozen_->dropped);
    }
    if (delivered_) {
      EXPECT_EQ(state, EpochState::kDelivered);
    }
    if (state != EpochState::kOpen) {
      EXPECT_FALSE(disk_.Exists(std::string(kFolder) + "/deal"));
    }
    if (state == EpochState::kOpen) {
      EXPECT_GE(epoch_->totals().stored, stored_.size());
    }
    CheckBatch();
  }

  SimulatedDisk disk_;
  std::unique_ptr<Epoch> epoch_;
  bool created_ = false;
  bool delivered_ = false;
  bool erasing_ = false;
  bool erased_ = false;
  std::vector<Dealt> dealt_;
  std::set<std::string> tried_;
  Reports stored_;
  std::optional<Frozen> frozen_;
};

// Goes on from any state to the end; false once the disk has stopped.
bool LiveOn(Life& life, size_t devices, bool erase) {
  while (life.dealt().size() < devices) {
    const size_t before = life.dealt().size();
    if (!life.Deal()) return false;
    if (life.dealt().size() == before) break;
  }
  if (!life.frozen().has_value() && life.epoch().state() == EpochState::kOpen) {
    for (const Dealt& dealt : std::vector<Dealt>(life.dealt())) {
      if (!life.Submit(dealt)) return false;
    }
  }
  if (!life.Freeze()) return false;
  life.CheckBatch();
  if (!life.MarkDelivered()) return false;
  return !erase || life.Erase();
}

// The number of changes in a life without a crash.
uint64_t ChangesOf(size_t devices) {
  Life life(1);
  EXPECT_TRUE(life.Create());
  EXPECT_TRUE(LiveOn(life, devices, true));
  return life.disk().changes();
}

// Crashes at each change, with and without a power cut, and again during recovery.
void CrashEverywhere(size_t devices) {
  const uint64_t changes = ChangesOf(devices);
  ASSERT_GT(changes, 30u);
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (uint64_t stop = 0; stop <= changes; ++stop) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", stop after " << stop);
      Life life(seed);
      std::mt19937_64 random(seed * 1000 + stop);
      life.disk().StopAfter(stop);
      if (life.Create()) LiveOn(life, devices, true);
      for (int again = 0; again < 3; ++again) {
        life.Crash(random() % 2 == 0);
        life.disk().StopAfter(random() % 8);
        life.Open();
      }
      life.Crash(random() % 2 == 0);
      if (life.Open()) {
        EXPECT_TRUE(LiveOn(life, devices, true));
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(EpochCrashTest, ABatchSurvivesACrashAtAnyChange) { CrashEverywhere(5); }

TEST(EpochCrashTest, ADroppedBatchSurvivesACrashAtAnyChange) { CrashEverywhere(2); }

// The curator's view: the batch depends only on which ticket has which report. Devices come in any
// order, some twice; tickets are dealt to others; the relay crashes.
TEST(EpochCrashTest, TheBatchTellsNothingOfHowItCame) {
  std::optional<std::string> pool;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Life life(seed);
    ASSERT_TRUE(life.Create());
    for (uint64_t i = 0; i < kTickets; ++i) ASSERT_TRUE(life.Deal());
    // The same six tickets answer each time, whichever devices have them.
    std::vector<Dealt> dealt = life.dealt();
    std::sort(dealt.begin(), dealt.end(), [](const Dealt& a, const Dealt& b) {
      return a.ticket.ToBytes() < b.ticket.ToBytes();
    });
    dealt.erase(dealt.begin() + 2);
    dealt.erase(dealt.begin() + 4);
    Reports reports;
    for (const Dealt& one : dealt) reports[one.ticket.ToBytes()] = ReportFor(one);
    std::vector<Dealt> arrivals = dealt;
    for (const Dealt& one : dealt) {
      if (random() % 3 == 0) arrivals.push_back(one);
    }
    std::shuffle(arrivals.begin(), arrivals.end(), random);
    while (life.stored().size() < dealt.size() || !arrivals.empty()) {
      life.disk().StopAfter(random() % 12);
      bool alive = true;
      while (alive && !arrivals.empty()) {
        alive = life.Submit(arrivals.back());
        if (alive) arrivals.pop_back();
      }
      life.Crash(random() % 2 == 0);
      ASSERT_TRUE(life.Open());
    }
    ASSERT_TRUE(life.Freeze());
    EXPECT_EQ(*life.frozen(), BatchOf(reports, kMinBatch));
    const SealedColumns columns = *life.epoch().Read(0, kTickets);
    EXPECT_EQ(columns.tickets, ColumnsOf(reports).tickets);
    EXPECT_EQ(columns.encapsulated, ColumnsOf(reports).encapsulated);
    EXPECT_EQ(columns.ciphertexts, ColumnsOf(reports).ciphertexts);
    // The relay's own disk does not tell it either.
    const std::string content = life.disk().Content(std::string(kFolder) + "/pool");
    if (!pool.has_value()) pool = content;
    EXPECT_EQ(content, *pool);
  }
}

// What devices are told must not name anything of the relay's machine.
MATCHER(IsFailedDisk, "") {
  return IsUnavailable(arg.status()) &&
         ::testing::ExplainMatchResult(
             ::testing::AllOf(HasSubstr("disk has failed"), ::testing::Not(HasSubstr("/"))),
             std::string(arg.status().message()), result_listener);
}

TEST(EpochCrashTest, AFailedWriteStopsAllUntilTheEpochIsOpenedAgain) {
  Life life(1);
  ASSERT_TRUE(life.Create());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(life.Deal());
  ASSERT_TRUE(life.Submit(life.dealt()[0]));
  EXPECT_OK(life.epoch().health());
  life.disk().StopAfter(1);  // at the sync
  EXPECT_THAT(SubmitTo(life.epoch(), ReportFor(life.dealt()[1])), IsFailedDisk());
  life.disk().Kill();  // the disk works again
  EXPECT_THAT(SubmitTo(life.epoch(), ReportFor(life.dealt()[2])), IsFailedDisk());
  EXPECT_THAT(life.epoch().Deal(kDealing), IsFailedDisk());
  EXPECT_THAT(life.epoch().health(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("does not answer")));
  EXPECT_FALSE(life.epoch().Freeze(kOver).ok());
  life.Crash(true);
  ASSERT_TRUE(life.Open());
  EXPECT_OK(life.epoch().health());
  EXPECT_TRUE(life.Submit(life.dealt()[1]));
  EXPECT_TRUE(life.Submit(life.dealt()[2]));
}

// After a failed sync a disk may treat the same bytes as written.
TEST(EpochCrashTest, AReportWhoseSyncFailedIsWrittenAgain) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Life life(seed);
    ASSERT_TRUE(life.Create());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(life.Deal());
    ASSERT_TRUE(life.Submit(life.dealt()[0]));
    life.disk().ForgetAtNextSync();
    EXPECT_THAT(SubmitTo(life.epoch(), ReportFor(life.dealt()[1])), IsFailedDisk());
    life.Crash(false);
    ASSERT_TRUE(life.Open());
    ASSERT_TRUE(life.Submit(life.dealt()[1]));
    life.Crash(true);
    ASSERT_TRUE(life.Open());
    EXPECT_EQ(life.epoch().totals().stored, 2u) << "seed " << seed;
  }
}

TEST(EpochCrashTest, ABatchWhoseSyncFailedIsWrittenAgain) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Life life(seed);
    ASSERT_TRUE(life.Create());
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(life.Deal());
    for (const Dealt& dealt : std::vector<Dealt>(life.dealt())) ASSERT_TRUE(life.Submit(dealt));
    life.disk().ForgetAtNextSync();
    EXPECT_FALSE(life.Freeze());
    life.Crash(false);
    ASSERT_TRUE(life.Open());
    ASSERT_TRUE(life.Freeze());
    life.Crash(true);
    ASSERT_TRUE(life.Open()) << "seed " << seed;
    EXPECT_EQ(life.epoch().state(), EpochState::kFrozen);
  }
}

TEST(EpochCrashTest, AFailedMarkStopsTheDealUntilTheEpochIsOpenedAgain) {
  Life life(1);
  ASSERT_TRUE(life.Create());
  life.disk().StopAfter(0);
  EXPECT_THAT(life.epoch().Deal(kDealing), IsFailedDisk());
  life.disk().Kill();
  EXPECT_THAT(life.epoch().Deal(kDealing), IsFailedDisk());
  EXPECT_FALSE(life.epoch().health().ok());
  life.Crash(false);
  ASSERT_TRUE(life.Open());
}

TEST(EpochCrashTest, AFullDiskLeavesNothingBehind) {
  for (uint64_t stop = 0; stop < 20; ++stop) {
    Life life(stop);
    life.disk().Fill(true);
    EXPECT_THAT(Epoch::Create(kFolder, MakeSpec(kTickets, kMinBatch), life.disk()),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("full")));
    EXPECT_EQ(life.disk().Paths(), std::vector<std::string>{"/relay"});
  }
}

}  // namespace
}  // namespace coppice::testing
