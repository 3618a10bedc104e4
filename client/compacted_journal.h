// A journal written anew, with less in it.

#ifndef COPPICE_CLIENT_COMPACTED_JOURNAL_H_
#define COPPICE_CLIENT_COMPACTED_JOURNAL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice {

// Guarantee  Whoever opens the result finds every answer of `bytes` with its subject, study,
//            epsilon, fingerprint and curator, and whether it was delivered; the same sums; the
//            same manifests of studies, keys and curators; the same word of the owner. Reports that
//            wait for delivery are all there. Of delivered ones the oldest are left out, as many as
//            it takes to come down to `max_bytes`.
// Errors     DataLoss for bytes that are no journal, or one that is torn.
// Threads    no state.
absl::StatusOr<std::string> CompactedJournal(absl::string_view bytes, uint64_t max_bytes);

}  // namespace coppice

#endif  // COPPICE_CLIENT_COMPACTED_JOURNAL_H_
