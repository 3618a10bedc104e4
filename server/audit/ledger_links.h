// What the audit log tells of ledgers, and whether both tell the same.
//
// Each entry of a ledger, and each hold, is written in one batch with an entry of the audit log
// that holds its link: SHA-256 of a secret salt and of what the ledger stores. The hash of a
// ledger's entry itself would give away the second of the job's end by 86,400 tries.

#ifndef COPPICE_SERVER_AUDIT_LEDGER_LINKS_H_
#define COPPICE_SERVER_AUDIT_LEDGER_LINKS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coppice/v1/admin.pb.h"
#include "server/audit/audit_record.h"
#include "server/storage/store.h"

namespace coppice::audit {

// An entry before it is in the log: without sequence, day and hash.
struct AuditEvent {
  v1::AuditEntry entry;
  // The entry waits until its day is over, and then stands in an order that tells no time: the end
  // of a job follows from private rows.
  bool by_day = false;
};

// The links of one ledger as it is stored.
struct LinkedLedger {
  std::vector<std::string> entries;
  std::string hold;  // empty: none
  bool is_closed = false;
};
using LinkedLedgers = std::map<std::string, LinkedLedger>;  // by dataset

absl::StatusOr<LinkedLedgers> ReadLedgers(const storage::Store& store, absl::string_view salt);

// An event for each entry of a ledger and each hold that `batch` writes or ends. Internal if it
// removes ledgers by their prefix.
absl::StatusOr<std::vector<AuditEvent>> LedgerEvents(const storage::StoreBatch& batch,
                                                     absl::string_view salt,
                                                     absl::string_view actor);

// Adds what `entry` tells of a ledger to what entries before it told.
struct ToldLedger {
  v1::AuditBaselineRecord baseline{};
  std::vector<std::string> links{};  // of entries, in the log's order
  std::string hold{};
};
using ToldLedgers = std::map<std::string, ToldLedger>;  // by dataset
ToldLedgers Told(const Baselines& baselines);
bool TellsOfLedger(const v1::AuditEntry& entry);
void Tell(const v1::AuditEntry& entry, ToldLedgers& told);

// The baselines after which the log need tell nothing of `ledgers` as they are.
Baselines BaselinesOf(const LinkedLedgers& ledgers);

struct LedgerMismatch {
  std::string dataset;
  std::string key;   // in the store
  std::string what;  // is wrong with it
};
// What ledgers have that the log does not tell, or the other way round. Entries of a closed ledger
// may be missing.
std::vector<LedgerMismatch> Compare(const LinkedLedgers& ledgers, const ToldLedgers& told);

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_AUDIT_LEDGER_LINKS_H_
