// Writes and reads the records of the audit log. docs/storage.md has the format.
//
// audit/entry/N is entry N, an AuditEntry. audit/head is the log's end. audit/open/N is not an
// entry yet: a running call, or one that waits for its day to end. audit/ledger/DATASET is what the
// log need not tell of a ledger, audit/seal where the kept part begins. meta/audit_salt is secret.
//
// Errors  DataLoss, naming the key, for anything in another form.

#ifndef COPPICE_SERVER_STORE_AUDIT_LOG_AUDIT_RECORD_H_
#define COPPICE_SERVER_STORE_AUDIT_LOG_AUDIT_RECORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/audit_chain.h"
#include "coppice/v1/admin.pb.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/audit_log/open_sum.h"
#include "server/store/store.h"

namespace coppice::audit {

inline constexpr std::string_view kAuditPrefix = "audit/";
inline constexpr std::string_view kEntryPrefix = "audit/entry/";
inline constexpr std::string_view kBaselinePrefix = "audit/ledger/";
inline constexpr std::string_view kOpenPrefix = "audit/open/";
inline constexpr std::string_view kHeadKey = "audit/head";
inline constexpr std::string_view kSealKey = "audit/seal";
inline constexpr std::string_view kSaltKey = "meta/audit_salt";
inline constexpr size_t kSaltBytes = 32;

inline std::string EntryKey(uint64_t sequence) {
  return StrCat(kEntryPrefix, ZeroPadded(sequence, 16));
}
inline std::string OpenKey(uint64_t number) { return StrCat(kOpenPrefix, ZeroPadded(number, 16)); }
inline std::string BaselineKey(std::string_view dataset) {
  return StrCat(kBaselinePrefix, dataset, "/");
}

using OpenRecords = std::map<uint64_t, v1::AuditOpenRecord>;
using Baselines = std::map<std::string, v1::AuditBaselineRecord>;  // by dataset

// What audit/head holds: small, whatever waits.
struct LogEnd {
  AuditChain chain{};
  OpenSum open_sum{};           // of LogState::open
  std::string baseline_hash{};  // BaselineHash() of the stored baselines
  uint64_t ledgers_from = 0;    // what earlier entries tell of ledgers does not count
};

// The part of a log held in memory: everything except its entries.
struct LogState {
  std::string salt{};  // empty: the store has no log
  LogEnd end{};
  OpenRecords open{};
};

struct StoredLog {
  LogState state{};
  v1::AuditHead seal{};  // 0 entries: none were dropped
  Baselines baselines{};
  // OK, or the problem and its key; then `state` covers the entries before it.
  Status problem{};
  std::string problem_key{};
};

// A new salt. Unavailable if the system's random source fails.
StatusOr<std::string> MakeSalt();

// Reads and verifies the whole log, and calls `visit` with each verified entry, in order. Errors
// are the Store's; a log that does not verify has a `problem`.
StatusOr<StoredLog> ReadLog(const storage::Store& store,
                            absl::FunctionRef<void(const v1::AuditEntry&)> visit);

// Reads the end of a log that was verified earlier.
StatusOr<LogState> ReadState(const storage::Store& store);

std::string BaselineHash(uint64_t ledgers_from, const Baselines& baselines);

// The record of audit/head.
std::string EncodeHead(const LogEnd& end);

// Parses the record at `key`; DataLoss unless this version would write exactly these bytes.
template <typename Record>
Status ParseExactly(std::string_view key, std::string_view bytes, Record& record);

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_STORE_AUDIT_LOG_AUDIT_RECORD_H_
