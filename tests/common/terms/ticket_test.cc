#include "common/terms/ticket.h"

#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

Ticket MakeTicket(uint8_t seed) {
  Ticket ticket;
  for (size_t i = 0; i < ticket.id.size(); ++i) ticket.id[i] = static_cast<uint8_t>(seed + i);
  ticket.mac.fill(static_cast<uint8_t>(seed ^ 0x5a));
  return ticket;
}

TEST(TicketTest, BytesReadBackToTheSameTicket) {
  const Ticket ticket = MakeTicket(200);
  const std::string bytes = ticket.ToBytes();
  EXPECT_EQ(bytes.size(), kTicketIdBytes + kTicketMacBytes);
  EXPECT_EQ(static_cast<uint8_t>(bytes[0]), 200);
  ASSERT_OK_AND_ASSIGN(const Ticket read, Ticket::FromBytes(bytes));
  EXPECT_EQ(read, ticket);
}

TEST(TicketTest, AnyOtherLengthIsRefused) {
  for (const size_t length : {0, 31, 33}) {
    EXPECT_THAT(Ticket::FromBytes(std::string(length, 'x')),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("ticket: needs 32 bytes")));
  }
}

TEST(TreeOfTicketTest, TheOnlyTreeIsAlwaysTheTree) {
  for (int seed = 0; seed < 256; ++seed) {
    EXPECT_EQ(TreeOfTicket(MakeTicket(static_cast<uint8_t>(seed)), 1), 0u);
  }
}

// docs/protocol.md fixes the value: devices and curators of all versions must agree on it.
TEST(TreeOfTicketTest, AgreesWithSha256ComputedElsewhere) {
  // sha256("coppice.v1.tree" + 32 zero bytes), by coreutils, starts with ea86dcc836957806.
  EXPECT_EQ(TreeOfTicket(Ticket{}, 1u << 16), 0xea86u);
  EXPECT_EQ(TreeOfTicket(Ticket{}, ~0u), 0xea86dcc7u);
}

// The same source: the digest's second 64 bits are b59ec1ea7b168291.
TEST(TicketDrawTest, TheColumnIsTheSecondHalfOfTheSameHash) {
  const TicketDraw zero = DrawOf(Ticket{});
  EXPECT_EQ(zero.tree_bits, 0xea86dcc836957806u);
  EXPECT_EQ(zero.column_bits, 0xb59ec1ea7b168291u);
  EXPECT_EQ(zero.Tree(1u << 16), 0xea86u);
  EXPECT_EQ(zero.Column(1), 0u);
  EXPECT_EQ(zero.Column(1u << 16), 0xb59eu);
  EXPECT_EQ(zero.Column(12345), 8758u);
  EXPECT_EQ(zero.Column(~0u), 3047080425u);
  const TicketDraw other = DrawOf(MakeTicket(0));  // 1e428032acfb3ef32dca7fe073d49e2f
  EXPECT_EQ(other.Tree(7), 0u);
  EXPECT_EQ(other.Column(729), 130u);
}

TEST(TicketDrawTest, UnsetDrawsTheFirst) {
  EXPECT_EQ(TicketDraw().Tree(9), 0u);
  EXPECT_EQ(TicketDraw().Column(9), 0u);
}

TEST(TicketDrawTest, EveryByteOfTheTicketCountsForTheColumn) {
  const uint32_t before = DrawOf(Ticket{}).Column(~0u);
  for (size_t i = 0; i < kTicketIdBytes + kTicketMacBytes; ++i) {
    std::string bytes = Ticket{}.ToBytes();
    bytes[i] = 1;
    EXPECT_NE(DrawOf(*Ticket::FromBytes(bytes)).Column(~0u), before) << "byte " << i;
  }
}

TEST(TicketDrawTest, EveryPairOfTreeAndColumnIsReached) {
  std::vector<int> hits(6, 0);
  for (int seed = 0; seed < 256; ++seed) {
    const TicketDraw draw = DrawOf(MakeTicket(static_cast<uint8_t>(seed)));
    ++hits[2 * draw.Tree(3) + draw.Column(2)];
  }
  EXPECT_THAT(hits, Each(Gt(0)));
}

TEST(TreeOfTicketTest, EveryByteOfTheTicketCounts) {
  const uint32_t before = TreeOfTicket(Ticket{}, ~0u);
  for (size_t i = 0; i < kTicketIdBytes + kTicketMacBytes; ++i) {
    std::string bytes = Ticket{}.ToBytes();
    bytes[i] = 1;
    EXPECT_NE(TreeOfTicket(*Ticket::FromBytes(bytes), ~0u), before) << "byte " << i;
  }
}

TEST(TreeOfTicketTest, EveryTreeIsReached) {
  std::vector<int> hits(7, 0);
  for (int seed = 0; seed < 256; ++seed) {
    const uint32_t tree = TreeOfTicket(MakeTicket(static_cast<uint8_t>(seed)), 7);
    ASSERT_LT(tree, hits.size());
    ++hits[tree];
  }
  EXPECT_THAT(hits, Each(Gt(0)));
}

}  // namespace
}  // namespace coppice
