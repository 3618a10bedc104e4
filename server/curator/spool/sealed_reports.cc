#include "server/curator/spool/sealed_reports.h"

#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/study_sealing.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

Status BadColumn(std::string_view field, size_t bytes_each, size_t reports, size_t bytes) {
  return InvalidArgumentError(StrCat(field, ": must have ", bytes_each, " bytes for each of ",
                                     reports, " reports, has ", bytes));
}

Status VisitRecord(std::string_view key, std::string_view bytes, size_t ciphertext_bytes,
                   absl::FunctionRef<Status(const SealedReports& reports)> visit) {
  COPPICE_ASSIGN_OR_RETURN(const v1::SpoolRecord record,
                           storage::ParseRecord<v1::SpoolRecord>(key, bytes));
  const SealedReports reports{.tickets = record.tickets(),
                              .encapsulated = record.encapsulated(),
                              .ciphertexts = record.ciphertexts(),
                              .ciphertext_bytes = ciphertext_bytes};
  const Status sound = CheckSealedReports(reports, "");
  if (!sound.ok() || reports.size() == 0) {
    return storage::CorruptRecord(key, StrCat("has no sound columns (", sound.message(), ")"));
  }
  return visit(reports);
}

}  // namespace

Status CheckSealedReports(const SealedReports& reports, std::string_view after) {
  const size_t count = reports.size();
  if (reports.tickets.size() != count * kSpooledTicketBytes) {
    return BadColumn("tickets", kSpooledTicketBytes, count, reports.tickets.size());
  }
  if (reports.encapsulated.size() != count * kEncapsulatedBytes) {
    return BadColumn("encapsulated", kEncapsulatedBytes, count, reports.encapsulated.size());
  }
  if (reports.ciphertexts.size() != count * reports.ciphertext_bytes) {
    return BadColumn("ciphertexts", reports.ciphertext_bytes, count, reports.ciphertexts.size());
  }
  for (size_t i = 0; i < count; ++i) {
    // char_traits compares bytes as unsigned.
    if (reports.ticket(i) <= after) {
      return InvalidArgumentError(
          "tickets: must increase over the whole batch, and no two are the same");
    }
    after = reports.ticket(i);
  }
  return OkStatus();
}

std::string EncodeSpool(const SealedReports& reports) {
  v1::SpoolRecord record;
  record.mutable_tickets()->assign(reports.tickets.data(), reports.tickets.size());
  record.mutable_encapsulated()->assign(reports.encapsulated.data(), reports.encapsulated.size());
  record.mutable_ciphertexts()->assign(reports.ciphertexts.data(), reports.ciphertexts.size());
  return record.SerializeAsString();
}

Status VisitSpool(
    const storage::Store& store, std::string_view study, const Sha256Digest& batch,
    size_t ciphertext_bytes,
    absl::FunctionRef<Status(uint64_t first_report, const SealedReports& reports)> visit) {
  const std::string prefix = BatchSpoolPrefix(study, batch);
  return store.Scan(prefix, [&](std::string_view key, std::string_view bytes) {
    uint64_t first_report = 0;
    if (!SimpleAtoi(StripPrefix(key, prefix), &first_report)) {
      return storage::CorruptRecord(key, "is at no position");
    }
    return VisitRecord(key, bytes, ciphertext_bytes,
                       [&](const SealedReports& reports) { return visit(first_report, reports); });
  });
}

Status VisitSpoolRecord(const storage::Store& store, std::string_view study,
                        const Sha256Digest& batch, uint64_t first_report, size_t ciphertext_bytes,
                        absl::FunctionRef<Status(const SealedReports& reports)> visit) {
  const std::string key = SpoolKey(study, batch, first_report);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(key));
  if (!bytes.has_value()) return OkStatus();
  return VisitRecord(key, *bytes, ciphertext_bytes, visit);
}

Status CheckSpool(const storage::Store& store, const Study& study) {
  uint64_t all = 0;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(SpoolPrefix(study.id()), [&](std::string_view, std::string_view) {
        ++all;
        return OkStatus();
      }));
  const size_t bytes = SealingOf(study.definition()).ciphertext_bytes();
  for (const BatchState state : {BatchState::kReceiving, BatchState::kStored}) {
    for (const RelayBatch& batch : study.batches().InState(state)) {
      uint64_t reports = 0;
      COPPICE_RETURN_IF_ERROR(VisitSpool(store, study.id(), batch.id, bytes,
                                         [&](uint64_t, const SealedReports& record) {
                                           reports += record.size();
                                           --all;
                                           return OkStatus();
                                         }));
      if (reports == batch.waiting()) continue;
      return storage::CorruptRecord(
          BatchKey(study.id(), batch.id),
          StrCat("says that ", batch.waiting(), " reports wait, and the spool has ", reports));
    }
  }
  if (all == 0) return OkStatus();
  return storage::CorruptRecord(SpoolPrefix(study.id()), "has reports of no batch that waits");
}

}  // namespace coppice::curator
