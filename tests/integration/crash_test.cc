// SIGKILL in the middle of ingest, again and again, with pauses and full disks: every report is
// counted exactly once.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/device/privatizer.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.grpc.pb.h"
#include "server/curator/estimation/counts/estimator.h"
#include "tests/integration/daemon.h"
#include "tests/integration/randomized_reports.h"
#include "tests/integration/small_disk.h"
#include "tests/support/collector.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::RandomizedReports;
using ::coppice::testing::SmallDisk;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;

constexpr uint32_t kFleetSize = 6000;
constexpr uint32_t kSentTogether = 20;
constexpr int kSenders = 3;
constexpr int kKills = 4;

// What the curator's leaves must be if each report is in the sums exactly once.
std::vector<LeafPrediction> Expected(const Terms& terms, const Tree& tree,
                                     const std::vector<PrivateReport>& reports) {
  const auto mechanisms = *MakeMechanisms(terms, {tree});
  curator::TreeSums sums{.sums = std::vector<int64_t>(mechanisms[0]->sum_size()), .reports = 0};
  for (const PrivateReport& report : reports) {
    EXPECT_OK(mechanisms[0]->Add(report.payload, /*column=*/0, absl::MakeSpan(sums.sums)));
    ++sums.reports;
  }
  const curator::PublicCounts none{.classes = 2,
                                   .leaf = std::vector<uint64_t>(tree.num_leaves()),
                                   .label = std::vector<uint64_t>(2 * tree.num_leaves())};
  return *curator::EstimateTree(tree, *mechanisms[0], sums, none,
                                {.kind = curator::EstimatorKind::kWeighted, .lambda = 0});
}

Model FetchModel(const Daemon& daemon, const std::string& id) {
  const auto stub = v1::ModelService::NewStub(*Connect(daemon.connection()));
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_name("models/" + id);
  v1::GetModelResponse response;
  EXPECT_TRUE(stub->GetModel(&context, request, &response).ok());
  return *ParseModel(response.model());
}

// A curator with one study, and one report per device.
struct Fleet {
  explicit Fleet(Daemon& daemon, const std::string& folder, const RetryOptions& retry) {
    Synthesize(folder + "/rows", "private=1,public=100,test=1");
    daemon.CoppiceJson({"study", "create", "--study", "crash", "--public",
                        folder + "/rows/public.csv", "--schema", folder + "/rows/schema.json",
                        "--epsilon", "1", "--mechanism", "laplace_joint", "--depth", "4"});
    collector.emplace(*Collector::Create(daemon.connection(), retry));
    offer.emplace(*collector->FetchForest("crash", 1));
    reports = RandomizedReports(*collector, *offer, kFleetSize);
  }

  std::optional<Collector> collector;
  std::optional<FetchedOffer> offer;
  std::vector<PrivateReport> reports;
};

RetryOptions Patient(absl::Duration deadline) {
  return {.deadline = deadline,
          .give_up_after = absl::Minutes(15),
          .first_backoff = absl::Milliseconds(20),
          .max_backoff = absl::Milliseconds(200)};
}

// Threads that deliver every report, batch by batch.
class Senders {
 public:
  // For each report `copies` threads send the same bytes.
  Senders(const Fleet& fleet, int copies)
      : fleet_(fleet), copies_(copies), next_(static_cast<size_t>(copies)) {
    for (int i = 0; i < kSenders * copies; ++i) {
      threads_.emplace_back([this, i] { Send(next_[static_cast<size_t>(i % copies_)]); });
    }
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
  }
  uint64_t delivered() const { return delivered_ / static_cast<uint64_t>(copies_); }

 private:
  void Send(std::atomic<size_t>& next) {
    for (size_t at = next.fetch_add(kSentTogether); at < kFleetSize;
         at = next.fetch_add(kSentTogether)) {
      const auto results =
          fleet_.collector->Deliver(absl::MakeConstSpan(&fleet_.reports[at], kSentTogether));
      if (!results.ok()) {
        ADD_FAILURE() << results.status();
        delivered_ += kSentTogether;  // lets the test end
        continue;
      }
      for (const DeliveryResult& result : *results) {
        EXPECT_NE(result.delivery, Delivery::kRefused) << result.reason;
        ++delivered_;
      }
    }
  }

  const Fleet& fleet_;
  const int copies_;
  std::vector<std::atomic<size_t>> next_;
  std::atomic<uint64_t> delivered_{0};
  std::vector<std::thread> threads_;
};

void CheckAllAreCountedOnce(const Daemon& daemon, const Fleet& fleet) {
  // Sent again, all reports are known.
  for (size_t at = 0; at < kFleetSize; at += 1000) {
    ASSERT_OK_AND_ASSIGN(const auto results,
                         fleet.collector->Deliver(absl::MakeConstSpan(&fleet.reports[at], 1000)));
    for (const DeliveryResult& result : results) EXPECT_EQ(result.delivery, Delivery::kDuplicate);
  }
  EXPECT_EQ(daemon.CoppiceJson({"study", "show", "--study", "crash"})["accepted"], kFleetSize);
  // The sums are those of each report once, to the last unit.
  daemon.CoppiceJson({"model", "build", "--study", "crash", "--model", "crash", "--estimator",
                      "weighted", "--lambda", "0"});
  const Model model = FetchModel(daemon, "crash");
  EXPECT_EQ(model.certificate().reports, kFleetSize);
  EXPECT_EQ(model.leaves()[0],
            Expected(fleet.offer->terms, fleet.offer->trees.at(0), fleet.reports));
}

TEST(CrashTest, SigkillDuringIngestLosesNothingAndCountsNothingTwice) {
  const TempDir folder;
  Daemon daemon(folder.path());
  ASSERT_TRUE(daemon.Start());
  const Fleet fleet(daemon, folder.path(), Patient(absl::Seconds(5)));
  Senders senders(fleet, /*copies=*/1);
  for (int i = 1; i <= kKills; ++i) {
    while (senders.delivered() < kFleetSize * i / (kKills + 1)) std::this_thread::yield();
    daemon.Kill();
    ASSERT_TRUE(daemon.Start());
  }
  senders.Join();
  EXPECT_EQ(senders.delivered(), kFleetSize);
  CheckAllAreCountedOnce(daemon, fleet);
}

TEST(CrashTest, KillsPausesAndAFullDiskWhileEachReportIsSentTwiceAtOnceLoseNothing) {
  const TempDir folder;
  const SmallDisk disk(folder.path() + "/disk", 160);
  Daemon daemon(folder.path(), folder.path() + "/disk/store");
  ASSERT_TRUE(daemon.Start());
  // The devices give up a try that a paused daemon answers too late; a running one is far faster.
  const Fleet fleet(daemon, folder.path(), Patient(absl::Seconds(2)));
  Senders senders(fleet, /*copies=*/2);
  std::mt19937 random(1);
  constexpr uint64_t kTroubles = 12;
  for (uint64_t i = 1; i <= kTroubles; ++i) {
    while (senders.delivered() < kFleetSize * i / (kTroubles + 1)) std::this_thread::yield();
    const auto some_time = std::chrono::milliseconds(random() % 800);
    if (i % 3 == 0) {
      daemon.Pause();
      std::this_thread::sleep_for(4 * some_time);
      daemon.Resume();
    } else if (i % 3 == 1) {
      disk.Fill();
      std::this_thread::sleep_for(some_time);
      if (i % 2 == 0) daemon.Kill();  // while the disk is full
      disk.Free();
      if (i % 2 == 0) {
        ASSERT_TRUE(daemon.Start());
      }
    } else {
      std::this_thread::sleep_for(some_time / 40);
      daemon.Kill();
      ASSERT_TRUE(daemon.Start());
    }
  }
  senders.Join();
  EXPECT_EQ(senders.delivered(), kFleetSize);
  CheckAllAreCountedOnce(daemon, fleet);
}

}  // namespace
}  // namespace coppice
