// SIGKILL in the middle of ingest, again and again: every report is counted exactly once.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "client/privatizer.h"
#include "common/privacy/openssl_random.h"
#include "common/wire/convert.h"
#include "coppice/v1/model.grpc.pb.h"
#include "server/curator/estimator.h"
#include "tests/integration/daemon.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;

constexpr uint32_t kDevices = 6000;
constexpr uint32_t kBatch = 20;
constexpr int kSenders = 3;
constexpr int kKills = 4;

// One report a device, randomized once.
std::vector<PrivateReport> Randomize(const Collector& collector, const Collector::Offers& offer) {
  std::vector<PrivateReport> reports;
  OpenSslRandom random;
  const Privatizer privatizer = *Privatizer::Create(offer.terms, offer.fingerprint, offer.trees);
  while (reports.size() < kDevices) {
    const std::vector<Ticket> tickets =
        *collector.FetchTickets(offer.terms.study, offer.fingerprint, 1000);
    for (const Ticket& ticket : tickets) {
      const double x = static_cast<double>(reports.size() % 100) / 100;
      reports.push_back(*privatizer.Privatize({x, 1 - x}, reports.size() % 2, ticket, random));
    }
  }
  return reports;
}

// What the curator must hold if each report is in the sums exactly once.
std::vector<LeafPrediction> Expected(const Terms& terms, const Tree& tree,
                                     const std::vector<PrivateReport>& reports) {
  const auto mechanisms = *MakeMechanisms(terms, {tree});
  TreeSums sums{.sums = std::vector<int64_t>(mechanisms[0]->sum_size()), .reports = 0};
  for (const PrivateReport& report : reports) {
    EXPECT_OK(mechanisms[0]->Add(report.payload, /*column=*/0, absl::MakeSpan(sums.sums)));
    ++sums.reports;
  }
  const PublicCounts none{.classes = 2,
                          .leaf = std::vector<uint64_t>(tree.num_leaves()),
                          .label = std::vector<uint64_t>(2 * tree.num_leaves())};
  return *EstimateTree(tree, *mechanisms[0], sums, none,
                       {.kind = EstimatorKind::kWeighted, .lambda = 0});
}

Model FetchModel(const Daemon& daemon, const std::string& id) {
  const auto stub = v1::ModelService::NewStub(*Connect(daemon.connection()));
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_name("models/" + id);
  v1::GetModelResponse response;
  EXPECT_TRUE(stub->GetModel(&context, request, &response).ok());
  return *FromProto(response.model());
}

TEST(CrashTest, SigkillDuringIngestLosesNothingAndCountsNothingTwice) {
  const TempDir folder;
  Daemon daemon(folder.path());
  ASSERT_TRUE(daemon.Start());
  Synthesize(folder.path() + "/rows", "private=1,public=100,test=1");
  daemon.CoppiceJson({"study", "create", "--study", "crash", "--public",
                      folder.path() + "/rows/public.csv", "--schema",
                      folder.path() + "/rows/schema.json", "--epsilon", "1", "--mechanism",
                      "laplace_joint", "--depth", "4"});
  const RetryOptions patient{.deadline = absl::Seconds(5),
                             .give_up_after = absl::Seconds(120),
                             .first_backoff = absl::Milliseconds(20),
                             .max_backoff = absl::Milliseconds(200)};
  ASSERT_OK_AND_ASSIGN(const Collector collector, Collector::Create(daemon.connection(), patient));
  ASSERT_OK_AND_ASSIGN(const Collector::Offers offer, collector.FetchForest("crash", 1));
  const std::vector<PrivateReport> reports = Randomize(collector, offer);

  std::atomic<size_t> next{0};
  std::atomic<uint64_t> delivered{0};
  std::vector<std::thread> senders;
  for (int i = 0; i < kSenders; ++i) {
    senders.emplace_back([&] {
      for (size_t at = next.fetch_add(kBatch); at < kDevices; at = next.fetch_add(kBatch)) {
        const auto results = collector.Deliver(absl::MakeConstSpan(&reports[at], kBatch));
        if (!results.ok()) ADD_FAILURE() << results.status();
        for (const DeliveryResult& result : *results) {
          EXPECT_NE(result.delivery, Delivery::kRefused) << result.reason;
          ++delivered;
        }
      }
    });
  }
  for (int i = 1; i <= kKills; ++i) {
    while (delivered < kDevices * i / (kKills + 1)) std::this_thread::yield();
    daemon.Kill();
    ASSERT_TRUE(daemon.Start());
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(delivered, kDevices);

  // Sent once more, all of them are known.
  for (size_t at = 0; at < kDevices; at += 1000) {
    ASSERT_OK_AND_ASSIGN(const auto results,
                         collector.Deliver(absl::MakeConstSpan(&reports[at], 1000)));
    for (const DeliveryResult& result : results) EXPECT_EQ(result.delivery, Delivery::kDuplicate);
  }
  EXPECT_EQ(daemon.CoppiceJson({"study", "show", "--study", "crash"})["accepted"], kDevices);
  // And the sums are those of each report once, to the last unit.
  daemon.CoppiceJson({"model", "build", "--study", "crash", "--model", "crash", "--estimator",
                      "weighted", "--lambda", "0"});
  const Model model = FetchModel(daemon, "crash");
  EXPECT_EQ(model.certificate().reports, kDevices);
  EXPECT_EQ(model.leaves()[0], Expected(offer.terms, offer.trees.at(0), reports));
}

}  // namespace
}  // namespace coppice
