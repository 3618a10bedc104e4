#include "common/study/ticket.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "common/study/sha256.h"

namespace coppice {
namespace {

// Keeps this use of the hash apart from every other one.
constexpr absl::string_view kTreePrefix = "coppice.v1.tree";

}  // namespace

std::string Ticket::ToBytes() const {
  std::string bytes(id.begin(), id.end());
  bytes.append(mac.begin(), mac.end());
  return bytes;
}

absl::StatusOr<Ticket> Ticket::FromBytes(absl::string_view bytes) {
  if (bytes.size() != kTicketIdBytes + kTicketMacBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ticket: needs ", kTicketIdBytes + kTicketMacBytes, " bytes, has ", bytes.size()));
  }
  Ticket ticket;
  std::copy_n(bytes.begin(), kTicketIdBytes, ticket.id.begin());
  std::copy_n(bytes.begin() + kTicketIdBytes, kTicketMacBytes, ticket.mac.begin());
  return ticket;
}

uint32_t TreeOfTicket(const Ticket& ticket, uint32_t num_trees) {
  const Sha256Digest digest = Sha256({kTreePrefix, ticket.ToBytes()});
  uint64_t first = 0;
  for (size_t i = 0; i < sizeof(first); ++i) first = first << 8 | digest[i];
  return static_cast<uint32_t>(absl::Uint128High64(absl::uint128(first) * num_trees));
}

}  // namespace coppice
