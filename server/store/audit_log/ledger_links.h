// The links from the audit log to ledgers, and the comparison of the two.
//
// Each entry of a ledger, and each hold, is written in one batch with an audit entry that holds its
// link: SHA-256 of a secret salt and of what the ledger stores. The plain hash of a ledger's entry
// would reveal the second in which the job ended, by 86,400 tries.

#ifndef COPPICE_SERVER_STORE_AUDIT_LOG_LEDGER_LINKS_H_
#define COPPICE_SERVER_STORE_AUDIT_LOG_LEDGER_LINKS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "coppice/v1/admin.pb.h"
#include "server/store/audit_log/audit_record.h"
#include "server/store/store.h"

namespace coppice::audit {

// An entry before it is in the log, without sequence, day and hash.
struct AuditEvent {
  v1::AuditEntry entry;
  // The entry waits until its day is over and then stands in an order that reveals no time, because
  // the end of a job follows from private rows.
  bool by_day = false;
};

// The links of one ledger as stored.
struct LinkedLedger {
  std::vector<std::string> entries;
  std::string hold;  // empty: none
  bool is_closed = false;
};
using LinkedLedgers = std::map<std::string, LinkedLedger>;  // by dataset

StatusOr<LinkedLedgers> ReadLedgers(const storage::Store& store, std::string_view salt);

// An event for each ledger entry that `batch` writes and each hold that it writes or ends. Internal
// if it removes ledgers by prefix.
StatusOr<std::vector<AuditEvent>> LedgerEvents(const storage::StoreBatch& batch,
                                               std::string_view salt, std::string_view actor);

// What the log says of a ledger, so far as it was read: AddLogEntry() adds one entry.
struct LoggedLedger {
  v1::AuditBaselineRecord baseline{};
  std::vector<std::string> links{};  // of ledger entries, in the log's order
  std::string hold{};
};
using LoggedLedgers = std::map<std::string, LoggedLedger>;  // by dataset
LoggedLedgers LedgersFromBaselines(const Baselines& baselines);
bool TellsOfLedger(const v1::AuditEntry& entry);
void AddLogEntry(const v1::AuditEntry& entry, LoggedLedgers& logged);

// The baselines with which the log need tell nothing of `ledgers` as they are now.
Baselines BaselinesOf(const LinkedLedgers& ledgers);

struct LedgerMismatch {
  std::string dataset;
  std::string key;   // of the store's record
  std::string what;  // the problem
};
// Entries that ledgers have and the log does not tell of, and the reverse. A closed ledger may lack
// entries.
std::vector<LedgerMismatch> Compare(const LinkedLedgers& ledgers, const LoggedLedgers& logged);

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_STORE_AUDIT_LOG_LEDGER_LINKS_H_
