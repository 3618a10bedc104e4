#include "common/terms/ticket.h"

#include <algorithm>
#include <string_view>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"

namespace coppice {
namespace {

// Separates this use of the hash from all others.
constexpr std::string_view kTreePrefix = "coppice.v1.tree";

uint64_t BigEndian64(const uint8_t* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) value = value << 8 | bytes[i];
  return value;
}

uint32_t Scale(uint64_t bits, uint32_t choices) {
  return static_cast<uint32_t>(absl::Uint128High64(absl::uint128(bits) * choices));
}

}  // namespace

std::string Ticket::ToBytes() const {
  std::string bytes(id.begin(), id.end());
  bytes.append(mac.begin(), mac.end());
  return bytes;
}

StatusOr<Ticket> Ticket::FromBytes(std::string_view bytes) {
  if (bytes.size() != kTicketIdBytes + kTicketMacBytes) {
    return InvalidArgumentError(
        StrCat("ticket: needs ", kTicketIdBytes + kTicketMacBytes, " bytes, has ", bytes.size()));
  }
  Ticket ticket;
  std::copy_n(bytes.begin(), kTicketIdBytes, ticket.id.begin());
  std::copy_n(bytes.begin() + kTicketIdBytes, kTicketMacBytes, ticket.mac.begin());
  return ticket;
}

uint32_t TicketDraw::Tree(uint32_t num_trees) const { return Scale(tree_bits, num_trees); }

uint32_t TicketDraw::Column(uint32_t columns) const { return Scale(column_bits, columns); }

TicketDraw DrawOf(const Ticket& ticket) {
  const Sha256Digest digest = Sha256({kTreePrefix, ticket.ToBytes()});
  return {.tree_bits = BigEndian64(digest.data()),
          .column_bits = BigEndian64(digest.data() + sizeof(uint64_t))};
}

}  // namespace coppice
