// The ticket that admits one report: a random id and the curator's MAC over it.
//
// Guarantee  the ticket is drawn by the curator before it sees anything of the row, and with it the
//            tree that the device answers in. The device chooses neither, so nobody can aim
//            (and the choice leaks nothing: it does not depend on the row).
// Public     all of it.

#ifndef COPPICE_COMMON_STUDY_TICKET_H_
#define COPPICE_COMMON_STUDY_TICKET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice {

inline constexpr size_t kTicketIdBytes = 16;
inline constexpr size_t kTicketMacBytes = 16;

struct Ticket {
  std::array<uint8_t, kTicketIdBytes> id{};
  std::array<uint8_t, kTicketMacBytes> mac{};

  // id then mac, kTicketIdBytes + kTicketMacBytes bytes. InvalidArgument for another length.
  std::string ToBytes() const;
  static absl::StatusOr<Ticket> FromBytes(absl::string_view bytes);

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

// The tree that `ticket` answers in: SHA-256 over a fixed prefix and the ticket's bytes, its first
// 64 bits (big-endian) times num_trees, divided by 2^64. Uniform up to num_trees / 2^64.
// `num_trees` must be at least 1.
uint32_t TreeOfTicket(const Ticket& ticket, uint32_t num_trees);

}  // namespace coppice

#endif  // COPPICE_COMMON_STUDY_TICKET_H_
