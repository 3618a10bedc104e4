// A write of the audit log in the making.

#ifndef COPPICE_SERVER_STORE_AUDIT_LOG_LOG_WRITE_H_
#define COPPICE_SERVER_STORE_AUDIT_LOG_LOG_WRITE_H_

#include <cstdint>
#include <map>
#include <optional>

#include "common/base/status.h"
#include "coppice/v1/admin.pb.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/audit_log/audit_record.h"
#include "server/store/store.h"

namespace coppice::audit {

// The batch of a write, and what the log becomes by it. It takes the work of what changes, however
// many records wait for their day to end: it copies and hashes none of those.
//
// Threads    not thread-safe. `before` must outlive it, unchanged until ApplyTo().
class LogWrite {
 public:
  LogWrite(const LogState& before, storage::StoreBatch batch);

  LogEnd& end() { return end_; }
  storage::StoreBatch& batch() { return batch_; }
  bool changes_nothing() const;

  // Appends `entry` to the chain.
  Status Append(v1::AuditEntry entry);

  // The open record, as this write leaves it; null if there is none.
  const v1::AuditOpenRecord* Find(uint64_t number) const;
  // Returns the record's number.
  uint64_t AddOpen(v1::AuditOpenRecord record);
  void ReplaceOpen(uint64_t number, v1::AuditOpenRecord record);
  void RemoveOpen(uint64_t number);

  // Adds audit/head to the batch. Nothing may change afterwards.
  void PutHead();
  // Makes `before`, passed as `state`, what the log is once the batch is written.
  void ApplyTo(LogState& state) &&;

 private:
  const LogState& before_;
  LogEnd end_;
  storage::StoreBatch batch_;
  std::map<uint64_t, std::optional<v1::AuditOpenRecord>> open_;  // none: removed
  uint64_t next_number_;
};

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_STORE_AUDIT_LOG_LOG_WRITE_H_
