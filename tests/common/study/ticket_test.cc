#include "common/study/ticket.h"

#include <string>
#include <vector>

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
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ticket: needs 32 bytes")));
  }
}

TEST(TreeOfTicketTest, TheOnlyTreeIsAlwaysTheTree) {
  for (int seed = 0; seed < 256; ++seed) {
    EXPECT_EQ(TreeOfTicket(MakeTicket(static_cast<uint8_t>(seed)), 1), 0u);
  }
}

// The value is fixed by docs/protocol.md: devices and curators of all versions must agree on it.
TEST(TreeOfTicketTest, AgreesWithSha256ComputedElsewhere) {
  // sha256("coppice.v1.tree" + 32 zero bytes), by coreutils, starts with ea86dcc836957806.
  EXPECT_EQ(TreeOfTicket(Ticket{}, 1u << 16), 0xea86u);
  EXPECT_EQ(TreeOfTicket(Ticket{}, ~0u), 0xea86dcc7u);
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
