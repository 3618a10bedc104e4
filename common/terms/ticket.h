// The ticket that admits one report: a random id and the curator's MAC over it.
//
// All of it is public.

#ifndef COPPICE_COMMON_TERMS_TICKET_H_
#define COPPICE_COMMON_TERMS_TICKET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

inline constexpr size_t kTicketIdBytes = 16;
inline constexpr size_t kTicketMacBytes = 16;

// Guarantee  the curator draws the ticket before it sees anything of the row, and with it the tree
//            that the device answers in and the column of its mechanism. The device chooses none of
//            them, so nobody can push all leaves one way (and the choice leaks nothing: it does not
//            depend on the row).
struct Ticket {
  std::array<uint8_t, kTicketIdBytes> id{};
  std::array<uint8_t, kTicketMacBytes> mac{};

  // id then mac, kTicketIdBytes + kTicketMacBytes bytes. InvalidArgument for another length.
  std::string ToBytes() const;
  static StatusOr<Ticket> FromBytes(std::string_view bytes);

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

// What a ticket draws, by one SHA-256 over a fixed prefix and the ticket's bytes: the tree from the
// first 64 bits (big-endian), the column from the next 64. Each is those bits times the number of
// choices, divided by 2^64: uniform up to that number / 2^64. There must be at least one choice.
struct TicketDraw {
  uint64_t tree_bits = 0;
  uint64_t column_bits = 0;

  uint32_t Tree(uint32_t num_trees) const;
  uint32_t Column(uint32_t columns) const;
};
TicketDraw DrawOf(const Ticket& ticket);

// The drawn tree alone.
inline uint32_t TreeOfTicket(const Ticket& ticket, uint32_t num_trees) {
  return DrawOf(ticket).Tree(num_trees);
}

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_TICKET_H_
