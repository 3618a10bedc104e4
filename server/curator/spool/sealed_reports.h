// Sealed reports, as a part of a batch brings them and as the spool stores them.

#ifndef COPPICE_SERVER_CURATOR_SPOOL_SEALED_REPORTS_H_
#define COPPICE_SERVER_CURATOR_SPOOL_SEALED_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/curator/study/study.h"
#include "server/store/store.h"

namespace coppice::curator {

inline constexpr size_t kSpooledTicketBytes = 32;
inline constexpr size_t kEncapsulatedBytes = 32;

// Columns of the same number of reports, in ticket order. Does not own the bytes.
struct SealedReports {
  std::string_view tickets{};
  std::string_view encapsulated{};
  std::string_view ciphertexts{};
  size_t ciphertext_bytes = 1;  // per report

  size_t size() const { return tickets.size() / kSpooledTicketBytes; }
  size_t bytes_each() const { return kSpooledTicketBytes + kEncapsulatedBytes + ciphertext_bytes; }
  std::string_view ticket(size_t i) const {
    return tickets.substr(i * kSpooledTicketBytes, kSpooledTicketBytes);
  }
  std::string_view encapsulation(size_t i) const {
    return encapsulated.substr(i * kEncapsulatedBytes, kEncapsulatedBytes);
  }
  std::string_view ciphertext(size_t i) const {
    return ciphertexts.substr(i * ciphertext_bytes, ciphertext_bytes);
  }
};

// InvalidArgument, naming the field, unless the columns have the same number of reports and their
// tickets increase and follow `after`, which is "" for the first part of a batch.
Status CheckSealedReports(const SealedReports& reports, std::string_view after);

std::string EncodeSpool(const SealedReports& reports);

// Calls `visit` with each record of a batch's spool, in the order of its reports, and the position
// of its first report. Holds one record at a time. DataLoss for a record that does not parse or has
// another length; else what the store or `visit` returns.
Status VisitSpool(
    const storage::Store& store, std::string_view study, const Sha256Digest& batch,
    size_t ciphertext_bytes,
    absl::FunctionRef<Status(uint64_t first_report, const SealedReports& reports)> visit);

// Calls `visit` with the record at this position. Without such a record, because its reports are
// judged, it does nothing. Errors as VisitSpool().
Status VisitSpoolRecord(const storage::Store& store, std::string_view study,
                        const Sha256Digest& batch, uint64_t first_report, size_t ciphertext_bytes,
                        absl::FunctionRef<Status(const SealedReports& reports)> visit);

// DataLoss, naming the batch's record, unless the spool has the number of reports that each of the
// study's batches says are waiting, and no others. Reads the whole spool.
Status CheckSpool(const storage::Store& store, const Study& study);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_SPOOL_SEALED_REPORTS_H_
