#include <bit>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/relay/epoch/pool.h"

namespace coppice::relay {
namespace {

// The memory of a waiting report besides its bytes.
constexpr uint64_t kPendingBytes = 256;

uint64_t WaitingBytes(const SealedReport& report) {
  return kPendingBytes + report.encapsulated.size() + report.ciphertext.size();
}

Status WriteFailed() {
  return UnavailableError("the relay's disk has failed; send the same report again later");
}

SubmitOutcome OutcomeOf(bool same) {
  return same ? SubmitOutcome::kStored : SubmitOutcome::kConflict;
}

}  // namespace

void SlotSet::Add(uint64_t slot) {
  if (Has(slot)) return;
  words_[slot / 64] |= uint64_t{1} << slot % 64;
  ++size_;
}

uint64_t SlotSet::Find(uint64_t index) const {
  size_t word = 0;
  while (static_cast<uint64_t>(std::popcount(words_[word])) <= index) {
    index -= static_cast<uint64_t>(std::popcount(words_[word++]));
  }
  uint64_t bits = words_[word];
  for (; index > 0; --index) bits &= bits - 1;  // clears the lowest one
  return word * 64 + static_cast<uint64_t>(std::countr_zero(bits));
}

Committer::Committer(Pool& pool, absl::Span<const Ticket> tickets, SlotSet full)
    : pool_(pool), tickets_(tickets), full_(std::move(full)), stored_(full_.size()) {
  thread_ = std::thread([this] { Run(); });
}

Committer::~Committer() { Stop(); }

Status Committer::Add(uint64_t slot, SealedReport& report, SubmitDone& done) {
  const uint64_t bytes = WaitingBytes(report);
  MutexLock lock(mutex_);
  if (!health_.ok()) return WriteFailed();
  if (queued_bytes_ + bytes > kMaxQueuedBytes) {
    return ResourceExhaustedError("the relay is busy; send the same report again later");
  }
  // Otherwise copies of one report could fill the queue and block all other devices.
  if (!waiting_slots_.insert(slot).second) {
    return ResourceExhaustedError(
        "a report of this ticket is being stored; send the same report again later");
  }
  queued_bytes_ += bytes;
  queue_.push_back({.slot = slot, .report = std::move(report), .done = std::move(done)});
  changed_.NotifyOne();
  return OkStatus();
}

void Committer::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

uint64_t Committer::stored() const {
  MutexLock lock(mutex_);
  return stored_;
}

Status Committer::health() const {
  MutexLock lock(mutex_);
  return health_;
}

void Committer::Run() {
  while (true) {
    std::vector<Pending> group;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      group.swap(queue_);
      queued_bytes_ = 0;
    }
    Commit(group);
    for (Pending& pending : group) pending.done(std::move(pending.outcome));
  }
}

void Committer::Commit(std::vector<Pending>& group) {
  Status health = this->health();
  if (health.ok()) health = WriteGroup(group);
  for (Pending& pending : group) {
    if (health.ok()) {
      full_.Add(pending.slot);
    } else {
      pending.outcome = WriteFailed();
    }
  }
  MutexLock lock(mutex_);
  for (const Pending& pending : group) waiting_slots_.erase(pending.slot);
  health_ = health;
  stored_ = full_.size();
}

// A slot has one report in a group, and the first report that ever came stays.
Status Committer::WriteGroup(std::vector<Pending>& group) {
  bool wrote = false;
  for (Pending& pending : group) {
    COPPICE_ASSIGN_OR_RETURN(const std::optional<SubmitOutcome> stored, CompareStored(pending));
    if (stored.has_value()) {
      pending.outcome = *stored;
      continue;
    }
    const SealedReport& report = pending.report;
    COPPICE_RETURN_IF_ERROR(
        pool_.Write(pending.slot, tickets_[pending.slot],
                    {.encapsulated = report.encapsulated, .ciphertext = report.ciphertext}));
    wrote = true;
  }
  return wrote ? pool_.Sync() : OkStatus();
}

StatusOr<std::optional<SubmitOutcome>> Committer::CompareStored(const Pending& pending) const {
  std::optional<SubmitOutcome> outcome;
  if (!full_.Has(pending.slot)) return outcome;
  COPPICE_RETURN_IF_ERROR(pool_.Scan(
      pending.slot, tickets_.subspan(pending.slot, 1), [&](uint64_t, const SlotReport& stored) {
        outcome = OutcomeOf(stored.encapsulated == pending.report.encapsulated &&
                            stored.ciphertext == pending.report.ciphertext);
        return OkStatus();
      }));
  return outcome;
}

}  // namespace coppice::relay
