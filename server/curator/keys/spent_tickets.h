// The tickets that a study has counted.

#ifndef COPPICE_SERVER_CURATOR_KEYS_SPENT_TICKETS_H_
#define COPPICE_SERVER_CURATOR_KEYS_SPENT_TICKETS_H_

#include <bitset>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "server/curator/keys/ticket_authority.h"

namespace coppice::curator {

// The tickets that a study has counted, by serial. Tickets issued in sequence are mostly spent in
// sequence. Here they are bits of one cache line, where a set of ids misses the cache twice per
// look-up and grows into memory that the system must clear first.
//
// Threads  one at a time.
// Units    80 bytes for each 512 consecutive serials of which any is spent, in a table at least
//          half full: a quarter of a byte per ticket if all are spent, at most about 180 bytes.
class SpentTickets {
 public:
  // False if it was already spent.
  bool Insert(TicketSerial ticket) {
    Row& row = rows_[ticket / kRow];
    const size_t place = PlaceOf(ticket);
    if (row[place]) return false;
    row.set(place);
    ++size_;
    return true;
  }

  // The ticket must be spent.
  void Erase(TicketSerial ticket) {
    const auto row = rows_.find(ticket / kRow);
    row->second.reset(PlaceOf(ticket));
    if (row->second.none()) rows_.erase(row);
    --size_;
  }

  size_t size() const { return size_; }
  // The number of rows of 512 tickets that the memory has room for.
  size_t capacity() const { return rows_.capacity(); }

 private:
  static constexpr size_t kRow = 512;
  using Row = std::bitset<kRow>;
  static size_t PlaceOf(TicketSerial ticket) { return absl::Uint128Low64(ticket) % kRow; }

  absl::flat_hash_map<absl::uint128, Row> rows_;  // by serial / kRow
  size_t size_ = 0;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_SPENT_TICKETS_H_
