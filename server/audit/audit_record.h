// How the audit log is stored, and read back. docs/storage.md has the format.
//
// audit/entry/N is entry N, an AuditEntry. audit/head is its end. audit/open/N is what is no entry
// yet: a call that runs, or one that waits for its day to be over. audit/ledger/DATASET is what the
// log need not tell of a ledger, audit/seal where the kept part begins. meta/audit_salt is secret.
//
// Errors  DataLoss for anything that was not written so, naming the key.

#ifndef COPPICE_SERVER_AUDIT_AUDIT_RECORD_H_
#define COPPICE_SERVER_AUDIT_AUDIT_RECORD_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/wire/audit_chain.h"
#include "coppice/v1/admin.pb.h"
#include "coppice/v1/storage.pb.h"
#include "server/storage/store.h"

namespace coppice::audit {

inline constexpr absl::string_view kAuditPrefix = "audit/";
inline constexpr absl::string_view kEntryPrefix = "audit/entry/";
inline constexpr absl::string_view kBaselinePrefix = "audit/ledger/";
inline constexpr absl::string_view kOpenPrefix = "audit/open/";
inline constexpr absl::string_view kHeadKey = "audit/head";
inline constexpr absl::string_view kSealKey = "audit/seal";
inline constexpr absl::string_view kSaltKey = "meta/audit_salt";
inline constexpr size_t kSaltBytes = 32;

inline std::string EntryKey(uint64_t sequence) {
  return absl::StrCat(kEntryPrefix, absl::Dec(sequence, absl::kZeroPad16));
}
inline std::string OpenKey(uint64_t number) {
  return absl::StrCat(kOpenPrefix, absl::Dec(number, absl::kZeroPad16));
}
inline std::string BaselineKey(absl::string_view dataset) {
  return absl::StrCat(kBaselinePrefix, dataset, "/");
}

using OpenRecords = std::map<uint64_t, v1::AuditOpenRecord>;
using Baselines = std::map<std::string, v1::AuditBaselineRecord>;  // by dataset

// What is in memory of a log: all but its entries.
struct LogState {
  std::string salt{};  // empty: the store has no log
  AuditChain chain{};
  OpenRecords open{};
  std::string baseline_hash{};  // BaselineHash() of those in the store
  uint64_t ledgers_from = 0;    // what entries before this one tell of ledgers does not count
};

struct StoredLog {
  LogState state{};
  v1::AuditHead seal{};  // 0 entries: none was dropped
  Baselines baselines{};
  // OK, or what does not hold, and its key; then `state` is as far as the entries before it go.
  absl::Status problem{};
  std::string problem_key{};
};

// A new salt. Unavailable if the system's random source fails.
absl::StatusOr<std::string> MakeSalt();

// Reads and verifies all of it, and calls `visit` with each entry that holds, in order. An error is
// one of the Store; a log that does not hold is a `problem`.
absl::StatusOr<StoredLog> ReadLog(const storage::Store& store,
                                  absl::FunctionRef<void(const v1::AuditEntry&)> visit);

// Reads the end of a log that was verified before.
absl::StatusOr<LogState> ReadState(const storage::Store& store);

std::string BaselineHash(uint64_t ledgers_from, const Baselines& baselines);

// The record of audit/head.
std::string EncodeHead(const LogState& state);

// `bytes` as the record at `key`, if this version would write it just so.
template <typename Record>
absl::Status ParseExactly(absl::string_view key, absl::string_view bytes, Record& record);

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_AUDIT_AUDIT_RECORD_H_
