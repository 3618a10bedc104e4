// Sealed reports, as a part of a batch brings them and as the spool keeps them.

#ifndef COPPICE_SERVER_CURATOR_SPOOL_SEALED_REPORTS_H_
#define COPPICE_SERVER_CURATOR_SPOOL_SEALED_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/sha256.h"
#include "server/curator/study/study.h"
#include "server/storage/store.h"

namespace coppice::curator {

inline constexpr size_t kSpooledTicketBytes = 32;
inline constexpr size_t kEncapsulatedBytes = 32;

// Columns of equally many reports, in the order of their tickets. The bytes are somebody else's.
struct SealedReports {
  absl::string_view tickets{};
  absl::string_view encapsulated{};
  absl::string_view ciphertexts{};
  size_t ciphertext_bytes = 1;  // of each

  size_t size() const { return tickets.size() / kSpooledTicketBytes; }
  size_t bytes_each() const { return kSpooledTicketBytes + kEncapsulatedBytes + ciphertext_bytes; }
  absl::string_view ticket(size_t i) const {
    return tickets.substr(i * kSpooledTicketBytes, kSpooledTicketBytes);
  }
  absl::string_view encapsulation(size_t i) const {
    return encapsulated.substr(i * kEncapsulatedBytes, kEncapsulatedBytes);
  }
  absl::string_view ciphertext(size_t i) const {
    return ciphertexts.substr(i * ciphertext_bytes, ciphertext_bytes);
  }
};

// InvalidArgument, naming the field, unless the columns are of equally many reports and their
// tickets increase, from `after` on; the first of a batch comes after "".
absl::Status CheckSealedReports(const SealedReports& reports, absl::string_view after);

std::string EncodeSpool(const SealedReports& reports);

// Calls `visit` with each record of a batch's spool, in the order of its reports, and the position
// of its first report. Holds one record at a time. DataLoss for one that does not parse or is not
// of this length; else what the store or `visit` returns.
absl::Status VisitSpool(
    const storage::Store& store, absl::string_view study, const Sha256Digest& batch,
    size_t ciphertext_bytes,
    absl::FunctionRef<absl::Status(uint64_t first_report, const SealedReports& reports)> visit);

// Calls `visit` with the record at this position; not at all if there is none, since its reports
// are judged. Errors as VisitSpool().
absl::Status VisitSpoolRecord(const storage::Store& store, absl::string_view study,
                              const Sha256Digest& batch, uint64_t first_report,
                              size_t ciphertext_bytes,
                              absl::FunctionRef<absl::Status(const SealedReports& reports)> visit);

// DataLoss, naming the batch's record, unless the spool has as many reports of each of the study's
// batches as are said to wait, and none of another. Reads all of the spool.
absl::Status CheckSpool(const storage::Store& store, const Study& study);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_SPOOL_SEALED_REPORTS_H_
