#include "server/store/audit_log/log_write.h"

#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::audit {

LogWrite::LogWrite(const LogState& before, storage::StoreBatch batch)
    : before_(before),
      end_(before.end),
      batch_(std::move(batch)),
      next_number_(before.open.empty() ? 0 : before.open.rbegin()->first + 1) {}

bool LogWrite::changes_nothing() const {
  return batch_.puts().empty() && batch_.deleted_keys().empty() &&
         batch_.deleted_prefixes().empty();
}

Status LogWrite::Append(v1::AuditEntry entry) {
  COPPICE_RETURN_IF_ERROR(end_.chain.Append(entry));
  batch_.Put(EntryKey(entry.sequence()), entry.SerializeAsString());
  return OkStatus();
}

const v1::AuditOpenRecord* LogWrite::Find(uint64_t number) const {
  const auto changed = open_.find(number);
  if (changed != open_.end()) return changed->second.has_value() ? &*changed->second : nullptr;
  const auto found = before_.open.find(number);
  return found == before_.open.end() ? nullptr : &found->second;
}

uint64_t LogWrite::AddOpen(v1::AuditOpenRecord record) {
  const uint64_t number = next_number_++;
  std::string bytes = record.SerializeAsString();
  end_.open_sum.Add(number, bytes);
  batch_.Put(OpenKey(number), std::move(bytes));
  open_[number] = std::move(record);
  return number;
}

void LogWrite::ReplaceOpen(uint64_t number, v1::AuditOpenRecord record) {
  end_.open_sum.Remove(number, Find(number)->SerializeAsString());
  std::string bytes = record.SerializeAsString();
  end_.open_sum.Add(number, bytes);
  batch_.Put(OpenKey(number), std::move(bytes));
  open_[number] = std::move(record);
}

void LogWrite::RemoveOpen(uint64_t number) {
  end_.open_sum.Remove(number, Find(number)->SerializeAsString());
  batch_.Delete(OpenKey(number));
  open_[number] = std::nullopt;
}

void LogWrite::PutHead() { batch_.Put(std::string(kHeadKey), EncodeHead(end_)); }

void LogWrite::ApplyTo(LogState& state) && {
  state.end = std::move(end_);
  for (auto& [number, record] : open_) {
    if (record.has_value()) {
      state.open[number] = *std::move(record);
    } else {
      state.open.erase(number);
    }
  }
}

}  // namespace coppice::audit
