#include "server/curator/keys/spent_tickets.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace coppice::curator {
namespace {

TEST(SpentTicketsTest, ATicketIsSpentOnce) {
  SpentTickets spent;
  EXPECT_TRUE(spent.Insert(7));
  EXPECT_FALSE(spent.Insert(7));
  EXPECT_EQ(spent.size(), 1u);
  spent.Erase(7);
  EXPECT_EQ(spent.size(), 0u);
  EXPECT_TRUE(spent.Insert(7)) << "a group that was not stored is taken back";
}

// Neighbours share a cache line, but the same place in another row or run is another ticket.
TEST(SpentTicketsTest, NoTicketStandsForAnother) {
  SpentTickets spent;
  const TicketSerial run = absl::MakeUint128(uint64_t{1} << 63, 0);
  for (const TicketSerial serial :
       {TicketSerial{0}, TicketSerial{1}, TicketSerial{511}, TicketSerial{512},
        TicketSerial{1} << 64, run, run + 511, run + 512, ~TicketSerial{0}}) {
    EXPECT_TRUE(spent.Insert(serial)) << serial;
    EXPECT_FALSE(spent.Insert(serial)) << serial;
  }
  EXPECT_EQ(spent.size(), 9u);
}

TEST(SpentTicketsTest, AgreesWithASet) {
  SpentTickets spent;
  std::set<TicketSerial> set;
  std::mt19937_64 random(1);
  for (int step = 0; step < 20'000; ++step) {
    const TicketSerial serial = absl::MakeUint128(random() % 3, random() % 2000);
    if (random() % 3 == 0 && set.contains(serial)) {
      set.erase(serial);
      spent.Erase(serial);
    } else {
      EXPECT_EQ(spent.Insert(serial), set.insert(serial).second);
    }
    ASSERT_EQ(spent.size(), set.size());
  }
}

TEST(SpentTicketsTest, WhatIsTakenBackTakesNoRoom) {
  SpentTickets spent;
  for (uint64_t i = 0; i < 1000; ++i) {
    spent.Insert(512 * i);
    spent.Erase(512 * i);
  }
  EXPECT_LE(spent.capacity(), 3u);
}

}  // namespace
}  // namespace coppice::curator
