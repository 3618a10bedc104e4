// How the files of an epoch encode numbers and prove that they are whole.

#ifndef COPPICE_SERVER_RELAY_EPOCH_BYTES_H_
#define COPPICE_SERVER_RELAY_EPOCH_BYTES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "common/terms/ticket.h"

namespace coppice::relay {

inline constexpr size_t kTicketBytes = kTicketIdBytes + kTicketMacBytes;
inline constexpr size_t kNumberBytes = 8;
inline constexpr size_t kCheckBytes = 8;
// Disks write a sector whole or not at all: each record that changes alone has its own sector.
inline constexpr size_t kSectorBytes = 512;

// Compares by bytes, id first.
inline bool IsBefore(const Ticket& a, const Ticket& b) {
  return a.id != b.id ? a.id < b.id : a.mac < b.mac;
}

// Returns `number`, big-endian.
inline std::string NumberBytes(uint64_t number) {
  std::string bytes(kNumberBytes, '\0');
  for (size_t i = kNumberBytes; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

// Reads the first kNumberBytes of `bytes`, which must have this many.
inline uint64_t NumberIn(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

inline std::string_view Take(std::string_view& bytes, size_t count) {
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(taken.size());
  return taken;
}

// A checksum that finds torn and decayed bytes, but not forged ones.
inline std::string CheckOf(std::initializer_list<std::string_view> parts) {
  return std::string(AsBytes(Sha256(parts)).substr(0, kCheckBytes));
}

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_BYTES_H_
