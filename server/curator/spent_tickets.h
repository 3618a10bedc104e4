// The tickets that a study has counted, by their ids: in memory while the study is open, and in the
// store as one record a group of reports.
//
// Why memory a look-up in the store costs more than all else about a report; a set of 16-byte ids
//            costs about 30 bytes each, and a sealed study needs none.
// Hash       ids are random and made by the curator: their first bytes are as good as any hash.

#ifndef COPPICE_SERVER_CURATOR_SPENT_TICKETS_H_
#define COPPICE_SERVER_CURATOR_SPENT_TICKETS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "common/study/ticket.h"
#include "server/curator/huge_pages.h"

namespace coppice {

using TicketId = std::array<uint8_t, kTicketIdBytes>;

struct FirstBytes {
  size_t operator()(const TicketId& id) const {
    size_t hash = 0;
    std::memcpy(&hash, id.data(), sizeof(hash));
    return hash;
  }
};

using SpentTickets =
    absl::flat_hash_set<TicketId, FirstBytes, std::equal_to<TicketId>, HugePageAllocator<TicketId>>;

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_SPENT_TICKETS_H_
