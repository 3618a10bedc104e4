// Deals whose relay dies, or whose disk fails, at any change of the disk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/calls.h"
#include "tests/server/relay/dealing/relay_fixture.h"
#include "tests/server/relay/epoch/simulated_disk.h"

namespace coppice::relay::testing {
namespace {

using ::coppice::testing::SimulatedDisk;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

class DealCrashTest : public RelayTest {
 protected:
  DealCrashTest() { options_.tickets = 2000; }

  void BeginOn(SimulatedDisk& disk) {
    relay_.reset();
    seams_.disk = &disk;
    std::string folder;
    for (const auto& name : StrSplit(dir_.path() + "/studies/wells", '/', SkipEmpty())) {
      const std::string parent = folder.empty() ? "/" : folder;
      StrAppend(&folder, "/", name);
      EXPECT_OK(disk.CreateFolder(folder));
      EXPECT_OK(disk.SyncFolder(parent));
    }
    curator_.batches.batches.clear();
    curator_.offers.next_ticket = 0;
    curator_.offers.failure = grpc::Status::OK;
    now_ = absl::FromUnixSeconds(kStart);
    held_.clear();
    stored_.clear();
    dealt_.clear();
  }

  // Devices take a few tickets, if there is a deal, and send their reports until they are stored.
  void DevicesAct() {
    for (int i = 0; i < 3 && relay_->Ready().ok(); ++i) {
      const StatusOr<Offered> offered = Take();
      if (!offered.ok()) break;
      EXPECT_TRUE(dealt_.insert(offered->offer.ticket()).second) << "a ticket was dealt twice";
      held_.push_back(*offered);
    }
    for (const Offered& offered : held_) {
      std::promise<StatusOr<SubmitOutcome>> done;
      relay_->Submit(offered.epoch, ReportFor(offered.offer),
                     [&](StatusOr<SubmitOutcome> outcome) { done.set_value(outcome); });
      const StatusOr<SubmitOutcome> outcome = done.get_future().get();
      if (outcome.ok() && *outcome == SubmitOutcome::kStored) {
        stored_[offered.epoch].insert(offered.offer.ticket());
      }
    }
  }

  // One deal from its opening to the curator. The relay may be dead between any two steps.
  void Live() {
    if (!TryOpen().ok()) return;
    Work();
    for (int i = 0; i < 3; ++i) DevicesAct();
    curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
    Advance(absl::Hours(24));
    Work();
  }

  // Checks what must be true however often the relay died.
  void Check() {
    std::set<std::string> epochs;
    for (const auto& [header_bytes, reports] : curator_.batches.batches) {
      const BatchHeader header = *ReadBatchHeader(header_bytes);
      const std::string epoch(header.epoch.begin(), header.epoch.end());
      EXPECT_TRUE(epochs.insert(epoch).second) << "two batches of one deal";
      EXPECT_EQ(reports.size(), header.reports);
      EXPECT_EQ(MakeMerkleTree(reports).root, header.root);
      std::set<std::string> tickets;
      for (const std::string& report : reports) {
        v1::RelayedOffer offer;
        offer.set_ticket(report.substr(0, 32));
        tickets.insert(offer.ticket());
        const SealedReport sent = ReportFor(offer);
        EXPECT_EQ(report, sent.ticket + sent.encapsulated + sent.ciphertext);
      }
      EXPECT_TRUE(std::includes(tickets.begin(), tickets.end(), stored_[epoch].begin(),
                                stored_[epoch].end()))
          << "a report that was stored is lost";
    }
    // A deal with stored reports reaches the curator, unless it has too few.
    for (const auto& [epoch, tickets] : stored_) {
      EXPECT_TRUE(epochs.count(epoch) > 0 || tickets.size() < 3);
    }
  }

  std::vector<Offered> held_;
  std::map<std::string, std::set<std::string>> stored_;  // by epoch
  std::set<std::string> dealt_;
};

TEST_F(DealCrashTest, NoCrashLosesOrRepeatsAnything) {
  int died = 0;
  for (uint64_t changes = 0;; ++changes) {
    SimulatedDisk disk(changes);
    BeginOn(disk);
    disk.StopAfter(changes);
    Live();
    const bool stopped = disk.stopped();
    relay_.reset();
    if (changes % 2 == 0)
      disk.CutPower();
    else
      disk.Kill();
    died += stopped;
    curator_.offers.failure = grpc::Status::OK;
    Live();
    Advance(absl::Hours(24));
    Work();
    Check();
    EXPECT_EQ(Totals().waiting, 0u);
    relay_.reset();
    if (!stopped || HasFailure()) {
      EXPECT_FALSE(HasFailure()) << "after " << changes << " changes";
      break;
    }
  }
  EXPECT_GT(died, 20);
}

// The relay itself opens the deal again, without a restart.
TEST_F(DealCrashTest, ADealGoesOnAfterItsDiskFailed) {
  SimulatedDisk disk(1);
  BeginOn(disk);
  OpenDeal();
  const std::string terms = **relay_->Terms("studies/wells");
  DevicesAct();
  ASSERT_EQ(stored_[OpenEpoch()].size(), 3u);
  const Offered waiting = *Take();
  disk.StopAfter(0);
  StatusOr<SubmitOutcome> failed;
  std::promise<void> done;
  relay_->Submit(waiting.epoch, ReportFor(waiting.offer), [&](StatusOr<SubmitOutcome> outcome) {
    failed = outcome;
    done.set_value();
  });
  done.get_future().wait();
  EXPECT_THAT(failed, StatusIs(StatusCode::kUnavailable, HasSubstr("")));
  Work();
  disk.Kill();
  Advance(absl::Minutes(10));
  Work();
  ASSERT_OK(relay_->Ready());
  EXPECT_EQ(**relay_->Terms("studies/wells"), terms);
  EXPECT_EQ(Submit(waiting), SubmitOutcome::kStored);
  EXPECT_EQ(curator_.offers.next_ticket, 2000u) << "another pool was opened";
  DevicesAct();
  curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
  Advance(absl::Hours(24));
  Work();
  EXPECT_EQ(OnlyBatch().size(), 7u);
  Check();
}

TEST_F(DealCrashTest, ADealIsFrozenAfterItsDiskFailedAtThat) {
  for (const uint64_t changes : {0, 1, 2, 3, 4}) {
    SimulatedDisk disk(changes);
    BeginOn(disk);
    OpenDeal();
    DevicesAct();
    curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
    disk.StopAfter(changes);
    Advance(absl::Hours(24));
    Work();
    disk.Kill();
    for (int i = 0; i < 3; ++i) {
      Advance(absl::Minutes(10));
      Work();
    }
    EXPECT_EQ(OnlyBatch().size(), 3u) << changes;
    Check();
    relay_.reset();
  }
}

TEST_F(DealCrashTest, APoolThatCouldNotBeOpenedIsNotThereBesideTheNext) {
  bool stopped = true;
  for (uint64_t changes = 0; stopped; ++changes) {
    SimulatedDisk disk(changes);
    BeginOn(disk);
    Open();
    disk.StopAfter(changes);
    Work();
    stopped = disk.stopped();
    disk.Kill();
    Advance(absl::Minutes(10));
    Work();
    EXPECT_OK(relay_->Ready()) << changes;
    const std::string epoch = OpenEpoch();
    ASSERT_OK(TryOpen()) << changes;
    EXPECT_EQ(OpenEpoch(), epoch);
    relay_.reset();
  }
}

// An operator who looks for the reports must find why none came.
TEST_F(DealCrashTest, ADealThatWasTooSmallIsSaidWhereverTheRelayDies) {
  bool stopped = true;
  for (uint64_t changes = 0; stopped; ++changes) {
    SimulatedDisk disk(changes);
    BeginOn(disk);
    OpenDeal();
    EXPECT_EQ(Submit(*Take()), SubmitOutcome::kStored);
    curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
    events_.clear();
    disk.StopAfter(changes);
    Advance(absl::Hours(24));
    relay_->Step();
    stopped = disk.stopped();
    relay_.reset();
    disk.Kill();
    Open();
    Work();
    EXPECT_THAT(events_, ::testing::Contains(HasSubstr("fewer than 3"))) << changes;
    EXPECT_EQ(curator_.batches.calls, 0);
    relay_.reset();
  }
}

}  // namespace
}  // namespace coppice::relay::testing
