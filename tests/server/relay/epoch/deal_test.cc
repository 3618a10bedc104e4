#include "server/relay/epoch/deal.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "common/base/status.h"
#include "tests/server/relay/epoch/sample_epoch.h"
#include "tests/server/relay/epoch/simulated_disk.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {
namespace {

using relay::Dealer;
using ::testing::HasSubstr;

constexpr char kPath[] = "/deal";

std::vector<uint32_t> DealtBy(Dealer& dealer) {
  std::vector<uint32_t> slots;
  for (auto slot = dealer.DealSlot(); slot.ok(); slot = dealer.DealSlot()) slots.push_back(*slot);
  return slots;
}

// Pearson's statistic of `counts`, which should all be equal.
double UnevennessOf(const std::vector<int>& counts) {
  const double expected =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// With 23 degrees of freedom a fair deal exceeds this once in 10^9 runs; a deal that leaves out an
// order exceeds it by far.
constexpr double kLargestUnevenness = 91;

TEST(DealTest, AllOrdersOfFourTicketsAreEquallyLikely) {
  constexpr int kDeals = 24'000;
  std::map<std::vector<uint32_t>, int> orders;
  for (int i = 0; i < kDeals; ++i) {
    SimulatedDisk disk(1);
    ASSERT_OK(relay::MakeDealFile(kPath, disk));
    ++orders[DealtBy(**Dealer::Open(kPath, 4, disk))];
  }
  ASSERT_EQ(orders.size(), 24u);
  std::vector<int> counts;
  for (const auto& [order, count] : orders) {
    ASSERT_EQ(order.size(), 4u);
    counts.push_back(count);
  }
  EXPECT_LT(UnevennessOf(counts), kLargestUnevenness);
}

// The threshold finds sorting by one byte of the block, and a favourite.
TEST(DealTest, AnUnevenDealIsFound) {
  std::vector<int> counts(24, 1000);
  counts[0] = 1200;
  counts[1] = 800;
  counts[2] = 850;
  EXPECT_GT(UnevennessOf(counts), kLargestUnevenness);
  counts.assign(24, 1000);
  counts[3] = 650;
  EXPECT_GT(UnevennessOf(counts), kLargestUnevenness);
}

// Each slot is equally likely at each place, in a pool of any size; tested for slot 0 of 24.
TEST(DealTest, EveryPlaceOfASlotIsEquallyLikely) {
  std::vector<int> places(24);
  for (int i = 0; i < 24'000; ++i) {
    SimulatedDisk disk(1);
    ASSERT_OK(relay::MakeDealFile(kPath, disk));
    const std::vector<uint32_t> slots = DealtBy(**Dealer::Open(kPath, 24, disk));
    ++places[static_cast<size_t>(std::find(slots.begin(), slots.end(), 0) - slots.begin())];
  }
  EXPECT_LT(UnevennessOf(places), kLargestUnevenness);
}

// A thousand crashes, each at a change that the disk chooses, with or without a power cut.
TEST(DealTest, NothingIsDealtTwiceOverAThousandCrashes) {
  constexpr uint64_t kSlots = 5000;
  std::mt19937_64 random(7);
  uint64_t crashes = 0;
  uint64_t dealt_at_all = 0;
  for (uint64_t history = 0; crashes < 1000; ++history) {
    SimulatedDisk disk(history);
    ASSERT_OK(relay::MakeDealFile(kPath, disk));
    ASSERT_OK(disk.SyncFolder("/"));
    std::set<uint32_t> dealt;
    while (true) {
      StatusOr<std::unique_ptr<Dealer>> dealer = Dealer::Open(kPath, kSlots, disk);
      if (dealer.ok()) {
        if ((*dealer)->dealt() == kSlots) break;
        disk.StopAfter(random() % 3);
        for (uint64_t left = random() % 2500; left > 0; --left) {
          const StatusOr<uint32_t> slot = (*dealer)->DealSlot();
          if (!slot.ok()) break;
          ASSERT_TRUE(dealt.insert(*slot).second) << "slot " << *slot << " was dealt twice";
        }
        dealer->reset();  // writes how far it came, if the disk still works
      } else {
        ASSERT_THAT(dealer, StatusIs(StatusCode::kUnavailable, HasSubstr("disk")));
      }
      random() % 2 == 0 ? disk.Kill() : disk.CutPower();
      ++crashes;
      if (random() % 4 == 0) disk.StopAfter(0);  // while it opens
    }
    dealt_at_all += dealt.size();
  }
  // A crash skips at most a thousand tickets and those of one mark.
  EXPECT_GT(dealt_at_all, 1000u * 200);
}

TEST(DealTest, ADamagedMarkSkipsTickets) {
  SimulatedDisk disk(1);
  ASSERT_OK(relay::MakeDealFile(kPath, disk));
  std::unique_ptr<Dealer> dealer = *Dealer::Open(kPath, 5000, disk);
  std::set<uint32_t> dealt;
  for (int i = 0; i < 1500; ++i) dealt.insert(*dealer->DealSlot());
  const std::string marked = disk.Content(kPath);  // marked up to 2000, as after a crash
  dealer.reset();
  for (const size_t sector : {1, 2}) {
    std::string damaged = marked;
    damaged[sector * 512 + 12] ^= 1;
    disk.Damage(kPath, damaged);
    ASSERT_OK_AND_ASSIGN(dealer, Dealer::Open(kPath, 5000, disk));
    for (const uint32_t slot : DealtBy(*dealer)) EXPECT_EQ(dealt.count(slot), 0u);
    dealer.reset();
  }
  std::string damaged = marked;
  damaged[512 + 12] ^= 1;
  damaged[1024 + 12] ^= 1;
  disk.Damage(kPath, damaged);
  EXPECT_THAT(Dealer::Open(kPath, 5000, disk),
              StatusIs(StatusCode::kDataLoss, HasSubstr("dealt twice")));
}

TEST(DealTest, ClaimsComeBackWithTheKeyAndTellTicketsApart) {
  SimulatedDisk disk(1);
  ASSERT_OK(relay::MakeDealFile(kPath, disk));
  std::set<relay::Claim> claims;
  for (int round = 0; round < 2; ++round) {
    const std::unique_ptr<Dealer> dealer = *Dealer::Open(kPath, 100, disk);
    for (const Ticket& ticket : MakeTickets(100)) {
      claims.insert(*dealer->ClaimOf(ticket.ToBytes()));
    }
    EXPECT_EQ(claims.size(), 100u);
  }
}

TEST(DealTest, AnErasedKeyIsZerosBeforeItIsGone) {
  SimulatedDisk disk(1);
  ASSERT_OK(relay::MakeDealFile(kPath, disk));
  ASSERT_OK(relay::EraseDealFile(kPath, disk));
  EXPECT_FALSE(disk.Exists(kPath));
  EXPECT_EQ(disk.LastContent(kPath), std::string(disk.LastContent(kPath).size(), '\0'));
  EXPECT_OK(relay::EraseDealFile(kPath, disk));
  EXPECT_THAT(Dealer::Open(kPath, 4, disk), StatusIs(StatusCode::kNotFound, HasSubstr(kPath)));
}

}  // namespace
}  // namespace coppice::testing
