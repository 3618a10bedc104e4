// Rewrites a journal with less in it.

#ifndef COPPICE_CLIENT_DEVICE_COMPACTED_JOURNAL_H_
#define COPPICE_CLIENT_DEVICE_COMPACTED_JOURNAL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

// Guarantee  The result has every answer of `bytes` with subject, study, epsilon, fingerprint and
//            curator, and whether it was delivered; the same sums; the same manifests of studies,
//            keys and curators; the same opting out; all reports that wait for delivery. It drops
//            the oldest delivered reports until it has at most `max_bytes` or none is left.
// Errors     DataLoss: `bytes` are no journal, or torn. FailedPrecondition: a newer version wrote
//            them.
// Threads    no state.
StatusOr<std::string> CompactedJournal(std::string_view bytes, uint64_t max_bytes);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_COMPACTED_JOURNAL_H_
