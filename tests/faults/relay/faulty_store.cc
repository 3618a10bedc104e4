#include "tests/faults/relay/faulty_store.h"

#include <chrono>

#include "absl/strings/match.h"
#include "coppice/v1/storage.pb.h"

namespace coppice::relay_faults {
namespace {

absl::Status Failed() { return absl::UnavailableError("the sync failed"); }

}  // namespace

void FaultyStore::FailAt(const Fault& fault) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
}

void FaultyStore::Fill(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
  changed_.notify_all();
}

void FaultyStore::StallOpening(uint32_t records) {
  const std::lock_guard lock(mutex_);
  reads_left_ = records;
  changed_.notify_all();
}

void FaultyStore::GoOnOpening() {
  const std::lock_guard lock(mutex_);
  reads_left_.reset();
  changed_.notify_all();
}

void FaultyStore::Die() {
  const std::lock_guard lock(mutex_);
  dead_ = true;
  changed_.notify_all();
}

void FaultyStore::LetAllRead() {
  const std::lock_guard lock(mutex_);
  let_all_read_ = true;
  changed_.notify_all();
}

void FaultyStore::Close() {
  const std::lock_guard lock(mutex_);
  if (unclear_.has_value()) disk_.Apply(*unclear_).IgnoreError();
  unclear_.reset();
  dead_ = true;
}

bool FaultyStore::dead() const {
  const std::lock_guard lock(mutex_);
  return dead_;
}

bool FaultyStore::holds_batches() const {
  const std::lock_guard lock(mutex_);
  return IsHeld();
}

uint64_t FaultyStore::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

uint64_t FaultyStore::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

bool FaultyStore::IsHeld() const {
  return dead_ || full_ || (reads_left_ == 0u && at_hand_.empty());
}

bool FaultyStore::IsIdle() const {
  if (IsHeld()) return true;
  bool waits = false;
  disk_.Scan("batch/",
             [&](absl::string_view, absl::string_view value) {
               v1::BatchRecord record;
               if (record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
                 waits |= record.state() == v1::BATCH_STATE_STORED;
               }
               return absl::OkStatus();
             })
      .IgnoreError();
  return !waits;
}

void FaultyStore::AwaitIdle() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return IsIdle(); });
}

bool FaultyStore::HasEarlierRecord(absl::string_view key) const {
  const absl::string_view batch = key.substr(0, key.rfind('/') + 1);
  bool found = false;
  disk_.Scan(batch,
             [&](absl::string_view other, absl::string_view) {
               found |= other < key;
               return absl::OkStatus();
             })
      .IgnoreError();
  return found;
}

bool FaultyStore::MayRead(absl::string_view key) const {
  return reads_left_ != 0u && !HasEarlierRecord(key);
}

absl::StatusOr<std::optional<std::string>> FaultyStore::Get(absl::string_view key) const {
  std::unique_lock lock(mutex_);
  if (absl::StartsWith(key, "spool/")) {
    changed_.wait(lock, [&] { return dead_ || let_all_read_ || MayRead(key); });
    if (reads_left_.has_value() && *reads_left_ > 0) {
      --*reads_left_;
      at_hand_ = std::string(key);
    }
  }
  if (dead_) return Failed();
  return disk_.Get(key);
}

absl::Status FaultyStore::Apply(const storage::StoreBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (dead_) return Failed();
  if (full_) {
    ++failures_;
    return absl::ResourceExhaustedError("the disk is full");
  }
  if (fault_.has_value() && fault_->writes-- == 0) {
    unclear_.reset();
    if (fault_->kept) unclear_ = batch;
    dead_ = fault_->fatal;
    fault_.reset();
    ++failures_;
    changed_.notify_all();
    return Failed();
  }
  unclear_.reset();
  ++writes_;
  for (const std::string& key : batch.deleted_keys()) {
    if (key == at_hand_) at_hand_.clear();
  }
  const absl::Status applied = disk_.Apply(batch);
  changed_.notify_all();
  return applied;
}

absl::Status FaultyStore::Scan(
    absl::string_view prefix,
    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> visit) const {
  if (dead()) return Failed();
  return disk_.Scan(prefix, visit);
}

absl::Status FaultyStore::Purge(absl::string_view prefix) {
  if (dead()) return Failed();
  return disk_.Purge(prefix);
}

}  // namespace coppice::relay_faults
