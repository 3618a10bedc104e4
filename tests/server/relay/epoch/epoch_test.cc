#include "server/relay/epoch/epoch.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "common/base/status.h"
#include "tests/integration/small_disk.h"
#include "tests/server/relay/epoch/sample_epoch.h"
#include "tests/server/relay/epoch/simulated_disk.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {
namespace {

using relay::Dealt;
using relay::Epoch;
using relay::EpochState;
using relay::Frozen;
using relay::SealedColumns;
using relay::SealedReport;
using relay::SubmitOutcome;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Epochs on a real disk.
class EpochTest : public ::testing::Test {
 protected:
  std::unique_ptr<Epoch> Make(uint64_t tickets, uint64_t min_batch) {
    auto epoch = Epoch::Create(folder_, MakeSpec(tickets, min_batch));
    EXPECT_OK(epoch);
    return epoch.ok() ? *std::move(epoch) : nullptr;
  }
  std::unique_ptr<Epoch> Reopen() {
    auto epoch = Epoch::Open(folder_);
    EXPECT_OK(epoch);
    return epoch.ok() ? *std::move(epoch) : nullptr;
  }

  const TempDir dir_;
  const std::string folder_ = dir_.path() + "/epoch";
};

void ExpectColumns(const SealedColumns& columns, const SealedColumns& expected) {
  EXPECT_EQ(columns.reports, expected.reports);
  EXPECT_EQ(columns.tickets, expected.tickets);
  EXPECT_EQ(columns.encapsulated, expected.encapsulated);
  EXPECT_EQ(columns.ciphertexts, expected.ciphertexts);
}

TEST_F(EpochTest, DealsEveryTicketOnce) {
  const auto epoch = Make(1500, 1);
  std::set<std::string> tickets;
  for (const Dealt& dealt : DealAll(*epoch)) tickets.insert(dealt.ticket.ToBytes());
  EXPECT_EQ(tickets.size(), 1500u);
  for (const Ticket& ticket : MakeTickets(1500)) EXPECT_EQ(tickets.count(ticket.ToBytes()), 1u);
  EXPECT_THAT(epoch->Deal(kDealing),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("every ticket")));
}

TEST_F(EpochTest, DealsUntilItsTime) {
  const auto epoch = Make(10, 1);
  EXPECT_OK(epoch->Deal(kDealing));
  EXPECT_THAT(epoch->Deal(absl::FromUnixSeconds(kDealUntil)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("next one")));
}

TEST_F(EpochTest, ACleanEndSkipsNoTicket) {
  auto epoch = Make(3000, 1);
  std::set<std::string> tickets;
  for (int i = 0; i < 17; ++i) tickets.insert((*epoch->Deal(kDealing)).ticket.ToBytes());
  epoch.reset();
  epoch = Reopen();
  EXPECT_EQ(epoch->totals().dealt, 17u);
  for (const Dealt& dealt : DealAll(*epoch)) tickets.insert(dealt.ticket.ToBytes());
  EXPECT_EQ(tickets.size(), 3000u);
}

TEST_F(EpochTest, FirstReportOfATicketStays) {
  auto epoch = Make(4, 1);
  const Dealt dealt = *epoch->Deal(kDealing);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kStored);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kStored);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt, 1)), SubmitOutcome::kConflict);
  SealedReport other_key = ReportFor(dealt);
  other_key.encapsulated = ReportFor(dealt, 1).encapsulated;
  EXPECT_EQ(*SubmitTo(*epoch, other_key), SubmitOutcome::kConflict);
  EXPECT_EQ(epoch->totals().stored, 1u);
  epoch.reset();
  epoch = Reopen();
  EXPECT_EQ(epoch->totals().stored, 1u);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt, 1)), SubmitOutcome::kConflict);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kStored);
}

TEST_F(EpochTest, LengthsAreJudgedFirst) {
  const auto epoch = Make(4, 1);
  const SealedReport good = ReportFor(*epoch->Deal(kDealing));
  for (std::string SealedReport::*field :
       {&SealedReport::ticket, &SealedReport::claim, &SealedReport::encapsulated,
        &SealedReport::ciphertext}) {
    for (const std::string& bytes :
         {std::string(), good.*field + "x", (good.*field).substr(1), std::string(1 << 20, 'x')}) {
      SealedReport report = good;
      report.*field = bytes;
      for (const absl::Time now : {kDealing, kOver}) {
        EXPECT_EQ(*SubmitTo(*epoch, report, now), SubmitOutcome::kBadLength);
      }
    }
  }
}

// The curator drew all tickets, so it could ask about each of them.
TEST_F(EpochTest, WithoutItsClaimATicketHasOneAnswerInEveryState) {
  auto epoch = Make(8, 1);
  const std::vector<Dealt> dealt = {*epoch->Deal(kDealing), *epoch->Deal(kDealing),
                                    *epoch->Deal(kDealing)};
  ASSERT_EQ(*SubmitTo(*epoch, ReportFor(dealt[0])), SubmitOutcome::kStored);
  ASSERT_EQ(*SubmitTo(*epoch, ReportFor(dealt[1])), SubmitOutcome::kStored);

  const auto expect_all = [&](SubmitOutcome outcome, absl::Time now) {
    std::vector<Ticket> tickets = MakeTickets(9);  // the last one is invented
    for (const Ticket& ticket : tickets) {
      for (const Dealt& other : dealt) {  // others' claims, its own but for a bit, and none
        relay::Claim claim = other.claim;
        if (other.ticket == ticket) claim[15] ^= 1;
        const auto answer = SubmitTo(*epoch, ReportFor(ticket.ToBytes(), claim), now);
        EXPECT_EQ(*answer, outcome);
        EXPECT_EQ(*SubmitTo(*epoch, ReportFor(ticket.ToBytes(), {}), now), outcome);
      }
    }
  };
  expect_all(SubmitOutcome::kUnknown, kDealing);
  epoch.reset();
  epoch = Reopen();
  expect_all(SubmitOutcome::kUnknown, kCollecting);
  EXPECT_EQ(epoch->totals().stored, 2u);
  ASSERT_OK(epoch->Freeze(kOver));
  expect_all(SubmitOutcome::kClosed, kOver);
  epoch.reset();
  epoch = Reopen();
  expect_all(SubmitOutcome::kClosed, kCollecting);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt[2])), SubmitOutcome::kClosed);
}

TEST_F(EpochTest, ClaimsAreOfOneDeal) {
  const auto epoch = Make(4, 1);
  const auto other = *Epoch::Create(dir_.path() + "/other", MakeSpec(4, 1));
  for (const Dealt& dealt : DealAll(*other)) {
    EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kUnknown);
  }
}

TEST_F(EpochTest, AClockThatIsSetBackReopensNothing) {
  const auto epoch = Make(4, 1);
  const Dealt dealt = *epoch->Deal(kDealing);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt), kOver), SubmitOutcome::kClosed);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt), kDealing), SubmitOutcome::kClosed);
}

// Otherwise devices would spend epsilon on tickets whose reports are no longer taken.
TEST_F(EpochTest, AClockThatWasAheadEndsTheDeal) {
  const auto epoch = Make(4, 1);
  const Dealt dealt = *epoch->Deal(kDealing);
  ASSERT_EQ(*SubmitTo(*epoch, ReportFor(dealt), kDealing), SubmitOutcome::kStored);
  EXPECT_FALSE(epoch->IsOver(kCollecting));
  EXPECT_TRUE(epoch->IsOver(kOver));
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(*epoch->Deal(kDealing)), kOver), SubmitOutcome::kClosed);
  EXPECT_TRUE(epoch->IsOver(kDealing));
  EXPECT_THAT(epoch->Deal(kDealing),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("next one")));
  ASSERT_OK_AND_ASSIGN(const Frozen frozen, epoch->Freeze(kDealing));
  EXPECT_EQ(frozen.reports, 1u);
}

TEST_F(EpochTest, FreezesTheReportsInTheOrderOfTheirTickets) {
  auto epoch = Make(300, 100);
  Reports reports;
  for (const Dealt& dealt : DealAll(*epoch)) {
    if (reports.size() == 200) break;
    reports[dealt.ticket.ToBytes()] = ReportFor(dealt);
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kStored);
  }
  EXPECT_THAT(epoch->Read(0, 10), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no batch")));
  EXPECT_THAT(epoch->Freeze(kCollecting),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("may still come")));
  ASSERT_OK_AND_ASSIGN(const Frozen frozen, epoch->Freeze(kOver));
  EXPECT_EQ(frozen, BatchOf(reports, 100));
  EXPECT_EQ(frozen.reports, 200u);
  ExpectColumns(*epoch->Read(0, 1000), ColumnsOf(reports));
  ExpectColumns(*epoch->Read(200, 1000), {});
  ExpectColumns(*epoch->Read(~uint64_t{0}, ~uint64_t{0}), {});
  for (int round = 0; round < 2; ++round) {
    SealedColumns joined;
    for (uint64_t first = 0; first < 200; first += 7) {
      ASSERT_OK_AND_ASSIGN(const SealedColumns some, epoch->Read(first, 7));
      EXPECT_EQ(some.reports, std::min<uint64_t>(7, 200 - first));
      joined.reports += some.reports;
      joined.tickets += some.tickets;
      joined.encapsulated += some.encapsulated;
      joined.ciphertexts += some.ciphertexts;
    }
    ExpectColumns(joined, ColumnsOf(reports));
    EXPECT_EQ(epoch->state(), EpochState::kFrozen);
    EXPECT_EQ(*epoch->Freeze(kCollecting), frozen);
    EXPECT_THAT(epoch->Deal(kDealing),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("over")));
    epoch.reset();
    epoch = Reopen();
  }
}

TEST_F(EpochTest, FreezesAtOnceWhenEveryReportIsHere) {
  const auto epoch = Make(5, 5);
  const std::vector<Dealt> dealt = DealAll(*epoch);
  for (const Dealt& one : dealt) {
    EXPECT_THAT(epoch->Freeze(kDealing),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("may still come")));
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(one)), SubmitOutcome::kStored);
  }
  ASSERT_OK_AND_ASSIGN(const Frozen frozen, epoch->Freeze(kDealing));
  EXPECT_FALSE(frozen.dropped);
  EXPECT_EQ(frozen.reports, 5u);
}

TEST_F(EpochTest, DropsABatchThatIsTooSmall) {
  auto epoch = Make(5, 3);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(*epoch->Deal(kDealing))), SubmitOutcome::kStored);
  }
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK_AND_ASSIGN(const Frozen frozen, epoch->Freeze(kOver));
    EXPECT_TRUE(frozen.dropped);
    EXPECT_EQ(frozen.reports, 2u);
    EXPECT_EQ(epoch->state(), EpochState::kDropped);
    EXPECT_THAT(epoch->Read(0, 10),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no batch")));
    EXPECT_THAT(epoch->MarkDelivered(),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no batch")));
    epoch.reset();
    epoch = Reopen();
  }
}

TEST_F(EpochTest, TheKeyOfTheDealGoesWhenItIsFrozen) {
  SimulatedDisk disk(1);
  const auto epoch = *Epoch::Create("/epoch", MakeSpec(4, 1), disk);
  const std::string key = disk.Content("/epoch/deal").substr(16, 32);
  EXPECT_NE(key, std::string(32, '\0'));
  ASSERT_OK(epoch->Freeze(kOver));
  EXPECT_FALSE(disk.Exists("/epoch/deal"));
  const std::string last = disk.LastContent("/epoch/deal");
  EXPECT_EQ(last, std::string(last.size(), '\0'));
  EXPECT_GE(last.size(), 48u);
  for (const std::string& path : disk.Paths()) {
    EXPECT_EQ(disk.Content(path).find(key), std::string::npos) << path;
  }
}

TEST_F(EpochTest, IsDeliveredAndErased) {
  auto epoch = Make(5, 1);
  EXPECT_THAT(epoch->MarkDelivered(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no batch")));
  ASSERT_EQ(*SubmitTo(*epoch, ReportFor(*epoch->Deal(kDealing))), SubmitOutcome::kStored);
  ASSERT_OK(epoch->Freeze(kOver));
  ASSERT_OK(epoch->MarkDelivered());
  epoch.reset();
  epoch = Reopen();
  EXPECT_EQ(epoch->state(), EpochState::kDelivered);
  EXPECT_OK(epoch->MarkDelivered());
  EXPECT_EQ((*epoch->Read(0, 10)).reports, 1u);
  EXPECT_EQ((*epoch->Freeze(kOver)).reports, 1u);
  ASSERT_OK(epoch->Erase());
  EXPECT_TRUE(fs::is_empty(dir_.path()));
  EXPECT_OK(epoch->Erase());
  EXPECT_FALSE(epoch->Read(0, 10).ok());
  EXPECT_FALSE(epoch->ReadDocuments().ok());
  EXPECT_FALSE(epoch->Freeze(kOver).ok());
  EXPECT_THAT(Epoch::Open(folder_), StatusIs(StatusCode::kNotFound, HasSubstr(folder_)));
}

TEST_F(EpochTest, AnOpenEpochCanBeErased) {
  const auto epoch = Make(5, 1);
  const Dealt dealt = *epoch->Deal(kDealing);
  ASSERT_OK(epoch->Erase());
  EXPECT_EQ(epoch->state(), EpochState::kDropped);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kClosed);
  EXPECT_THAT(epoch->Deal(kDealing), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("over")));
  EXPECT_TRUE(fs::is_empty(dir_.path()));
}

TEST_F(EpochTest, KeepsItsRulesAndDocuments) {
  auto epoch = Make(5, 2);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(epoch->rules(), MakeSpec(5, 2).rules);
    EXPECT_EQ(*epoch->ReadDocuments(), MakeSpec(5, 2).documents);
    EXPECT_EQ(epoch->totals().tickets, 5u);
    epoch.reset();
    epoch = Reopen();
  }
}

TEST_F(EpochTest, IsForItsOwnerAlone) {
  const auto epoch = Make(5, 2);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  for (const auto& file : fs::directory_iterator(folder_)) {
    EXPECT_EQ(file.status().permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << file.path();
  }
}

TEST_F(EpochTest, HasAllItsSpaceFromTheStart) {
  const auto epoch = Make(2000, 2);
  struct stat facts {};
  ASSERT_EQ(stat((folder_ + "/pool").c_str(), &facts), 0);
  EXPECT_GE(static_cast<uint64_t>(facts.st_blocks) * 512, 2000 * (41 + kCiphertextBytes));
}

TEST_F(EpochTest, OnlyOneProcessOpensAnEpoch) {
  const auto epoch = Make(5, 2);
  EXPECT_THAT(Epoch::Open(folder_),
              StatusIs(StatusCode::kUnavailable, HasSubstr("another process")));
  EXPECT_THAT(Epoch::Create(folder_, MakeSpec(5, 2)),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr(folder_)));
  EXPECT_OK(epoch->Deal(kDealing));
}

TEST_F(EpochTest, RefusesAPoolThatMayNotBeDealt) {
  const auto expect_refused = [&](const std::function<void(relay::EpochSpec&)>& change,
                                  const std::string& word) {
    relay::EpochSpec spec = MakeSpec(5, 2);
    change(spec);
    EXPECT_THAT(Epoch::Create(folder_, spec),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(word)));
    EXPECT_TRUE(fs::is_empty(dir_.path()));
  };
  expect_refused([](auto& spec) { spec.tickets[4] = spec.tickets[0]; }, "twice");
  expect_refused([](auto& spec) { spec.tickets.resize(1); }, "from min_batch, 2");
  expect_refused([](auto& spec) { spec.tickets.clear(); }, "from min_batch, 2");
  expect_refused([](auto& spec) { spec.rules.min_batch = 0; }, "min_batch");
  expect_refused([](auto& spec) { spec.rules.freeze_at_unix_seconds = kDealUntil - 1; },
                 "freeze_at");
  expect_refused([](auto& spec) { spec.rules.ciphertext_bytes = 0; }, "ciphertext_bytes");
  expect_refused([](auto& spec) { spec.rules.ciphertext_bytes = 1 << 18; }, "ciphertext_bytes");
}

TEST_F(EpochTest, AFullDiskLeavesNothingBehind) {
  const SmallDisk small(dir_.path() + "/small", 1);
  if (!small.mounted()) GTEST_SKIP() << "mounting a disk needs root";
  const std::string parent = dir_.path() + "/small";
  EXPECT_THAT(Epoch::Create(parent + "/epoch", MakeSpec(20'000, 2)),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("/pool")));
  EXPECT_TRUE(fs::is_empty(parent));
  // A deal that already has its space goes on when the disk is full.
  const auto epoch = *Epoch::Create(parent + "/epoch", MakeSpec(1000, 2));
  small.Fill();
  for (const Dealt& dealt : DealAll(*epoch)) {
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kStored);
  }
  EXPECT_EQ((*epoch->Freeze(kOver)).reports, 1000u);
}

TEST_F(EpochTest, ListsEpochsAndRemovesHalves) {
  (void)*Epoch::Create(dir_.path() + "/b", MakeSpec(5, 2));
  (void)*Epoch::Create(dir_.path() + "/a", MakeSpec(5, 2));
  fs::copy(dir_.path() + "/a", dir_.path() + "/c.new");
  fs::copy(dir_.path() + "/a", dir_.path() + "/d.gone");
  fs::remove(dir_.path() + "/d.gone/deal");
  fs::create_directory(dir_.path() + "/e.new");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> folders, Epoch::List(dir_.path()));
  EXPECT_EQ(folders, (std::vector<std::string>{dir_.path() + "/a", dir_.path() + "/b"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 2);
  EXPECT_OK(Epoch::Remove(dir_.path() + "/a"));
  EXPECT_OK(Epoch::Remove(dir_.path() + "/a"));
  EXPECT_EQ(Epoch::List(dir_.path())->size(), 1u);
  EXPECT_THAT(Epoch::List(dir_.path() + "/none"),
              StatusIs(StatusCode::kNotFound, HasSubstr("/none")));
}

// Each file is removed, cut, and changed by a bit in several places.
TEST_F(EpochTest, DamageIsFoundAndNamed) {
  Make(5, 2).reset();
  for (const std::string name : {"terms", "tickets", "pool", "deal"}) {
    const std::string path = folder_ + "/" + name;
    const std::string good = ContentOf(path);
    ASSERT_FALSE(good.empty());
    std::vector<std::string> damaged = {"", good.substr(0, good.size() - 1), good.substr(0, 20)};
    if (name != "deal") damaged.back() = good + "x";
    if (name == "tickets") damaged.back() = good.substr(32);
    for (size_t at : {0, 15, 20, 40, 55, 70}) {
      damaged.push_back(good);
      if (at < good.size() && !(name == "deal" && at > 55)) damaged.back()[at] ^= 4;
    }
    for (const std::string& bytes : damaged) {
      if (bytes == good) continue;
      Overwrite(path, bytes);
      EXPECT_THAT(Epoch::Open(folder_), StatusIs(StatusCode::kDataLoss, HasSubstr(path)))
          << name << " of " << bytes.size() << " bytes";
    }
    Overwrite(path, good);
    fs::rename(path, dir_.path() + "/gone");
    EXPECT_THAT(
        Epoch::Open(folder_),
        StatusIs(name == "deal" ? StatusCode::kDataLoss : StatusCode::kNotFound, HasSubstr(path)));
    fs::rename(dir_.path() + "/gone", path);
  }
  EXPECT_OK(Epoch::Open(folder_));
}

TEST_F(EpochTest, FilesOfAnotherEpochAreFound) {
  Make(5, 2).reset();
  relay::EpochSpec other = MakeSpec(5, 2);
  other.rules.epoch[0] ^= 1;
  (void)*Epoch::Create(dir_.path() + "/other", other);
  for (const std::string name : {"terms", "pool"}) {
    const std::string good = ContentOf(folder_ + "/" + name);
    Overwrite(folder_ + "/" + name, ContentOf(dir_.path() + "/other/" + name));
    EXPECT_THAT(Epoch::Open(folder_), StatusIs(StatusCode::kDataLoss, HasSubstr("another epoch")));
    Overwrite(folder_ + "/" + name, good);
  }
}

// A copy of an open deal would deal its tickets again and make a second batch of them.
TEST_F(EpochTest, ACopyOfAnOpenDealIsNotTakenUp) {
  auto epoch = Make(5, 2);
  const std::vector<Dealt> dealt = {*epoch->Deal(kDealing), *epoch->Deal(kDealing)};
  for (const Dealt& one : dealt) {
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(one)), SubmitOutcome::kStored);
  }
  epoch.reset();
  const std::string original = dir_.path() + "/moved";
  fs::rename(folder_, original);  // moving keeps the files
  fs::copy(original, folder_);
  EXPECT_THAT(Epoch::Open(folder_), StatusIs(StatusCode::kDataLoss, HasSubstr("copies of a deal")));
  fs::remove_all(folder_);
  fs::rename(original, folder_);
  epoch = Reopen();
  ASSERT_NE(epoch, nullptr);
  EXPECT_OK(epoch->Freeze(kOver));
  epoch.reset();
  fs::rename(folder_, original);
  fs::copy(original, folder_);  // a frozen deal never changes
  EXPECT_NE(Reopen(), nullptr);
}

TEST_F(EpochTest, AReportOfABatchThatRotsIsFound) {
  auto epoch = Make(5, 2);
  for (const Dealt& dealt : DealAll(*epoch)) {
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(dealt)), SubmitOutcome::kStored);
  }
  ASSERT_OK(epoch->Freeze(kOver));
  std::string pool = ContentOf(folder_ + "/pool");
  pool[4096 + 60] ^= 1;
  Overwrite(folder_ + "/pool", pool);
  EXPECT_THAT(epoch->Read(0, 5), StatusIs(StatusCode::kDataLoss, HasSubstr("damaged")));
  epoch.reset();
  EXPECT_THAT(Epoch::Open(folder_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("4 of 5 can be read")));
}

TEST_F(EpochTest, ManyMayAskAtOnce) {
  const auto epoch = Make(2000, 2);
  std::atomic<int> answered{0};
  std::atomic<int> stored{0};
  std::atomic<int> busy{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (auto dealt = epoch->Deal(kDealing); dealt.ok(); dealt = epoch->Deal(kDealing)) {
        for (int repeat = 0; repeat < 2; ++repeat) {
          epoch->Submit(ReportFor(*dealt), kCollecting, [&](const auto& outcome) {
            stored += outcome.ok() && *outcome == SubmitOutcome::kStored ? 1 : 0;
            busy += IsResourceExhausted(outcome.status()) ? 1 : 0;
            ++answered;
          });
        }
        (void)epoch->totals();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Freeze() answers all reports that wait.
  ASSERT_OK_AND_ASSIGN(const Frozen frozen, epoch->Freeze(kOver));
  EXPECT_EQ(answered, 4000);
  EXPECT_GE(stored, 2000);
  EXPECT_EQ(stored + busy, 4000);
  EXPECT_EQ(frozen.reports, 2000u);
}

// Otherwise one device could block all others with copies of one report.
TEST_F(EpochTest, AReportWaitsOnce) {
  SimulatedDisk disk(1);
  const auto epoch = *Epoch::Create("/epoch", MakeSpec(4, 1), disk);
  const std::vector<Dealt> dealt = DealAll(*epoch);
  std::atomic<int> stored{0};
  std::atomic<int> busy{0};
  const auto submit = [&](const SealedReport& report) {
    epoch->Submit(report, kCollecting, [&](const auto& outcome) {
      stored += outcome.ok() && *outcome == SubmitOutcome::kStored ? 1 : 0;
      busy += IsResourceExhausted(outcome.status()) ? 1 : 0;
    });
  };
  disk.HoldSyncs(true);
  submit(ReportFor(dealt[0]));
  for (int i = 0; i < 100; ++i) submit(ReportFor(dealt[0], i % 2));
  EXPECT_EQ(busy, 100);
  submit(ReportFor(dealt[1]));
  EXPECT_EQ(busy, 100);
  disk.HoldSyncs(false);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt[2])), SubmitOutcome::kStored);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt[0])), SubmitOutcome::kStored);
  EXPECT_EQ(*SubmitTo(*epoch, ReportFor(dealt[0], 1)), SubmitOutcome::kConflict);
  EXPECT_EQ(stored, 2);
}

TEST_F(EpochTest, ReportsThatWaitTakeBoundedMemory) {
  constexpr int kReports = 700;
  SimulatedDisk disk(1);
  relay::EpochSpec spec = MakeSpec(kReports, 2);
  spec.rules.ciphertext_bytes = relay::kMaxCiphertextBytes;
  const auto epoch = *Epoch::Create("/epoch", spec, disk);
  const std::vector<Dealt> dealt = DealAll(*epoch);
  std::atomic<int> stored{0};
  std::atomic<int> busy{0};
  const auto submit = [&](const Dealt& one) {
    SealedReport report = ReportFor(one);
    report.ciphertext.assign(spec.rules.ciphertext_bytes, 'x');
    epoch->Submit(std::move(report), kCollecting, [&](const auto& outcome) {
      stored += outcome.ok() ? 1 : 0;
      busy += IsResourceExhausted(outcome.status()) ? 1 : 0;
    });
  };
  disk.HoldSyncs(true);
  const uint64_t changes = disk.changes();
  submit(dealt[0]);
  while (disk.changes() < changes + 2) std::this_thread::yield();  // written, and syncing
  for (int i = 1; i < kReports; ++i) submit(dealt[i]);
  EXPECT_EQ(busy, kReports - 1 - 510);  // as many as fit 64 MiB with overhead
  disk.HoldSyncs(false);
  EXPECT_OK(epoch->health());
  ASSERT_OK(epoch->Freeze(kOver));
  EXPECT_EQ(stored + busy, kReports);
}

}  // namespace
}  // namespace coppice::testing
