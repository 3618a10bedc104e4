#include "server/store/audit_log/audit_log.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/store_record.h"

namespace coppice::audit {
namespace {

thread_local std::string current_actor;  // empty: no scope

// Orders by content, so the order reveals no time. Links look random without the salt.
bool SortsBefore(const v1::AuditEntry& a, const v1::AuditEntry& b) {
  const auto content = [](const v1::AuditEntry& entry) {
    return std::tie(entry.day(), entry.action(), entry.resource(), entry.related(), entry.actor(),
                    entry.outcome(), entry.ledger_link());
  };
  return content(a) < content(b);
}

}  // namespace

ActorScope::ActorScope(std::string name) : before_(std::exchange(current_actor, std::move(name))) {}
ActorScope::~ActorScope() { current_actor = std::move(before_); }

std::string CodeName(StatusCode code) {
  const std::string_view name = StatusCodeName(code);
  return std::string(name.empty() ? "UNKNOWN" : name);
}

AuditEvent NewAuditEvent(std::string_view actor, std::string_view action, std::string_view resource,
                         std::string_view related) {
  AuditEvent event;
  event.entry.set_actor(std::string(actor));
  event.entry.set_action(std::string(action));
  event.entry.set_resource(std::string(resource));
  event.entry.set_related(std::string(related));
  event.entry.set_outcome("OK");
  return event;
}

StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(storage::Store& store,
                                                   std::function<int64_t()> clock,
                                                   std::string_view actor, uint32_t days_kept) {
  COPPICE_ASSIGN_OR_RETURN(StoredLog stored, ReadLog(store, [](const v1::AuditEntry&) {}));
  COPPICE_RETURN_IF_ERROR(stored.problem);
  const bool is_new = stored.state.salt.empty();
  std::unique_ptr<AuditLog> log(
      new AuditLog(store, std::move(clock), actor, days_kept, std::move(stored)));
  COPPICE_RETURN_IF_ERROR(is_new ? log->BeginLog() : log->EnterInterruptedCalls());
  return log;
}

Status AuditLog::BeginLog() {
  const MutexLock lock(mutex_);
  COPPICE_ASSIGN_OR_RETURN(state_.salt, MakeSalt());
  state_.end.open_sum = OpenSum(state_.salt);
  COPPICE_ASSIGN_OR_RETURN(const LinkedLedgers ledgers, ReadLedgers(store_, state_.salt));
  LogWrite write(state_, {});
  write.batch().Put(std::string(kSaltKey), state_.salt);
  const Baselines baselines = BaselinesOf(ledgers);
  for (const auto& [dataset, baseline] : baselines) {
    write.batch().Put(BaselineKey(dataset), baseline.SerializeAsString());
  }
  write.end().baseline_hash = BaselineHash(write.end().ledgers_from, baselines);
  v1::AuditEntry entry = NewAuditEvent(actor_, "log/begin").entry;
  entry.set_day(AuditDay(clock_()));
  COPPICE_RETURN_IF_ERROR(write.Append(std::move(entry)));
  return Write(std::move(write));
}

Status AuditLog::EnterInterruptedCalls() {
  const MutexLock lock(mutex_);
  for (const auto& [number, record] : state_.open) {
    if (!record.ended()) endings_[number] = {.outcome = "UNKNOWN"};
  }
  return endings_.empty() ? OkStatus() : ApplyLocked({}, {});
}

Status AuditLog::Apply(storage::StoreBatch batch, std::vector<AuditEvent> events) {
  const MutexLock lock(mutex_);
  return ApplyLocked(std::move(batch), std::move(events));
}

void AuditLog::AddLater(AuditEvent event) {
  const MutexLock lock(late_mutex_);
  late_.push_back(std::move(event));
}

std::vector<AuditEvent> AuditLog::Late() const {
  const MutexLock lock(late_mutex_);
  return late_;
}

void AuditLog::DropLate(size_t count) {
  const MutexLock lock(late_mutex_);
  late_.erase(late_.begin(), late_.begin() + static_cast<std::ptrdiff_t>(count));
}

Status AuditLog::ApplyLocked(storage::StoreBatch batch, std::vector<AuditEvent> events) {
  COPPICE_RETURN_IF_ERROR(ResolveFailedWrite());
  COPPICE_ASSIGN_OR_RETURN(
      std::vector<AuditEvent> of_ledgers,
      LedgerEvents(batch, state_.salt, current_actor.empty() ? actor_ : current_actor));
  std::move(of_ledgers.begin(), of_ledgers.end(), std::back_inserter(events));
  std::vector<AuditEvent> late = Late();
  const size_t written_late = late.size();
  std::move(late.begin(), late.end(), std::back_inserter(events));
  const int64_t now = clock_();
  const std::string day = AuditDay(now);
  LogWrite write(state_, std::move(batch));
  v1::AuditHead seal = seal_;
  COPPICE_RETURN_IF_ERROR(EnterEndings(day, write));
  if (day != last_day_) {
    COPPICE_RETURN_IF_ERROR(EnterDaysThatAreOver(day, write));
    COPPICE_RETURN_IF_ERROR(DropOld(now, write, seal));
  }
  for (AuditEvent& event : events) {
    event.entry.set_day(day);
    if (event.by_day) {
      v1::AuditOpenRecord record;
      *record.mutable_entry() = std::move(event.entry);
      record.set_ended(true);
      record.set_by_day(true);
      write.AddOpen(std::move(record));
    } else {
      COPPICE_RETURN_IF_ERROR(write.Append(std::move(event.entry)));
    }
  }
  COPPICE_RETURN_IF_ERROR(Write(std::move(write)));
  DropLate(written_late);
  endings_.clear();
  seal_ = std::move(seal);
  last_day_ = day;
  return OkStatus();
}

Status AuditLog::Write(LogWrite write) {
  if (write.changes_nothing()) return OkStatus();
  write.PutHead();
  const Status written = store_.Apply(write.batch());
  write_failed_ = !written.ok();
  if (written.ok()) std::move(write).ApplyTo(state_);
  return written;
}

Status AuditLog::ResolveFailedWrite() {
  if (!write_failed_) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(state_, ReadState(store_));
  last_day_.clear();
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> seal, store_.Get(kSealKey));
  if (seal.has_value() && !seal_.ParseFromString(*seal)) {
    return storage::CorruptRecord(kSealKey, "does not parse");
  }
  // Drops the endings that were written after all.
  for (auto it = endings_.begin(); it != endings_.end();) {
    const auto open = state_.open.find(it->first);
    const bool written = open == state_.open.end() || open->second.ended();
    it = written ? endings_.erase(it) : std::next(it);
  }
  write_failed_ = false;
  return OkStatus();
}

Status AuditLog::EnterEndings(const std::string& day, LogWrite& write) const {
  for (const auto& [number, ending] : endings_) {
    const v1::AuditOpenRecord* const open = write.Find(number);
    if (open == nullptr) continue;
    v1::AuditOpenRecord record = *open;
    record.mutable_entry()->set_day(day);
    record.mutable_entry()->set_outcome(ending.outcome);
    if (!ending.resource.empty()) record.mutable_entry()->set_resource(ending.resource);
    if (!ending.related.empty()) record.mutable_entry()->set_related(ending.related);
    record.set_ended(true);
    if (record.by_day()) {
      write.ReplaceOpen(number, std::move(record));
      continue;
    }
    write.RemoveOpen(number);
    COPPICE_RETURN_IF_ERROR(write.Append(std::move(*record.mutable_entry())));
  }
  return OkStatus();
}

Status AuditLog::EnterDaysThatAreOver(const std::string& day, LogWrite& write) const {
  std::vector<v1::AuditEntry> over;
  for (const auto& [number, before] : state_.open) {
    const v1::AuditOpenRecord* const record = write.Find(number);
    if (record == nullptr || !record->ended() || record->entry().day() == day) continue;
    over.push_back(record->entry());
    write.RemoveOpen(number);
  }
  std::sort(over.begin(), over.end(), SortsBefore);
  for (v1::AuditEntry& entry : over) COPPICE_RETURN_IF_ERROR(write.Append(std::move(entry)));
  return OkStatus();
}

StatusOr<uint64_t> AuditLog::Begin(const AuditEvent& call) {
  const MutexLock lock(mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveFailedWrite());
  v1::AuditOpenRecord record;
  *record.mutable_entry() = call.entry;
  record.mutable_entry()->clear_outcome();
  record.set_by_day(call.by_day);
  LogWrite write(state_, {});
  const uint64_t number = write.AddOpen(std::move(record));
  COPPICE_RETURN_IF_ERROR(Write(std::move(write)));
  return number;
}

void AuditLog::End(uint64_t call, std::string_view outcome, std::string_view resource,
                   std::string_view related) {
  const MutexLock lock(mutex_);
  endings_[call] = {.outcome = std::string(outcome),
                    .resource = std::string(resource),
                    .related = std::string(related)};
  ApplyLocked({}, {}).IgnoreError();  // on failure it stays in endings_, its record in the store
}

void AuditLog::Forget(uint64_t call) {
  const MutexLock lock(mutex_);
  if (!ResolveFailedWrite().ok()) return;  // the next start enters it as UNKNOWN
  if (!state_.open.contains(call)) return;
  LogWrite write(state_, {});
  write.RemoveOpen(call);
  Write(std::move(write)).IgnoreError();
}

StatusOr<v1::AuditHead> AuditLog::SignedHead(const AuditChain& chain) const {
  v1::AuditHead head = ToProto(chain);
  if (signer_ == nullptr) return head;
  COPPICE_ASSIGN_OR_RETURN(const ModelSignature signature, signer_(SignedHeadBytes(head)));
  *head.mutable_signature() = ToProto(signature);
  return head;
}

StatusOr<v1::ReadAuditLogResponse> AuditLog::Read(uint64_t first, uint32_t max_entries) {
  const MutexLock lock(mutex_);
  COPPICE_RETURN_IF_ERROR(ApplyLocked({}, {}));  // the day may have ended
  v1::ReadAuditLogResponse response;
  COPPICE_ASSIGN_OR_RETURN(*response.mutable_head(), SignedHead(state_.end.chain));
  *response.mutable_sealed() = seal_;
  if (seal_.hash().empty()) *response.mutable_sealed() = ToProto(AuditChain());
  const uint64_t from = std::max(first, seal_.entries());
  const uint64_t most = max_entries == 0 ? kMaxPage : std::min(max_entries, kMaxPage);
  for (uint64_t i = from; i < state_.end.chain.entries() && i - from < most; ++i) {
    COPPICE_ASSIGN_OR_RETURN(*response.add_entries(),
                             storage::ReadRecord<v1::AuditEntry>(store_, EntryKey(i)));
  }
  return response;
}

}  // namespace coppice::audit
