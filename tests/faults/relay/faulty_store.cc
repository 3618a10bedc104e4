#include "tests/faults/relay/faulty_store.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"

namespace coppice::relay_faults {
namespace {

Status Failed() { return UnavailableError("the sync failed"); }

constexpr std::chrono::seconds kTooLong{60};

std::string BatchOf(std::string_view spool_key) {
  const std::string_view batch = spool_key.substr(0, spool_key.rfind('/'));
  return StrCat("batch", StripPrefix(batch, "spool"));
}

// Whether the batch counts a part of a relay's batch, which takes it out of the spool.
bool Counts(const storage::StoreBatch& batch) {
  return !batch.deleted_keys().empty() && StartsWith(batch.deleted_keys()[0], "spool/");
}

// Whether the batch stores a part that was received.
bool Receives(const storage::StoreBatch& batch) {
  return batch.deleted_keys().empty() && !batch.puts().empty() &&
         StartsWith(batch.puts()[0].first, "spool/");
}

// The batch without the keys that begin with `prefix`.
storage::StoreBatch Without(const storage::StoreBatch& batch, std::string_view prefix) {
  storage::StoreBatch rest;
  for (const std::string& deleted : batch.deleted_prefixes()) rest.DeletePrefix(deleted);
  for (const std::string& key : batch.deleted_keys()) {
    if (!StartsWith(key, prefix)) rest.Delete(key);
  }
  for (const auto& [key, value] : batch.puts()) {
    if (!StartsWith(key, prefix)) rest.Put(key, value);
  }
  return rest;
}

storage::StoreBatch HalfOf(const storage::StoreBatch& batch) {
  storage::StoreBatch half;
  for (const std::string& deleted : batch.deleted_prefixes()) half.DeletePrefix(deleted);
  for (const std::string& key : batch.deleted_keys()) half.Delete(key);
  for (size_t i = 0; 2 * i < batch.puts().size(); ++i) {
    half.Put(batch.puts()[i].first, batch.puts()[i].second);
  }
  return half;
}

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

bool FaultyStore::full() const {
  const std::lock_guard lock(mutex_);
  return full_;
}

uint64_t FaultyStore::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

uint64_t FaultyStore::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

bool FaultyStore::HasStored() const {
  const std::lock_guard lock(mutex_);
  return Waits();
}

bool FaultyStore::Waits() const {
  bool waits = false;
  disk_
      .Scan("batch/",
            [&](std::string_view, std::string_view value) {
              v1::BatchRecord record;
              if (record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
                waits |= record.state() == v1::BATCH_STATE_STORED;
              }
              return OkStatus();
            })
      .IgnoreError();
  return waits;
}

bool FaultyStore::IsIdle() const {
  return dead_ || full_ || (reads_left_ == 0u && at_hand_.empty()) || !Waits();
}

bool FaultyStore::AwaitIdle() const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kTooLong, [this] { return IsIdle(); });
}

// "spool/STUDY/BATCH/POSITION" is read once POSITION reports of "batch/STUDY/BATCH" are judged.
bool FaultyStore::MayRead(std::string_view key) const {
  if (reads_left_ == 0u) return false;
  v1::BatchRecord batch;
  uint64_t position = 0;
  const auto bytes = disk_.Get(BatchOf(key));
  return !bytes.ok() || !bytes->has_value() || !batch.ParseFromString(**bytes) ||
         !SimpleAtoi(key.substr(key.rfind('/') + 1), &position) || batch.judged() >= position;
}

StatusOr<std::optional<std::string>> FaultyStore::Get(std::string_view key) const {
  std::unique_lock lock(mutex_);
  if (StartsWith(key, "spool/")) {
    changed_.wait(lock, [&] { return dead_ || let_all_read_ || MayRead(key); });
    if (reads_left_.has_value() && *reads_left_ > 0) {
      --*reads_left_;
      at_hand_ = std::string(key);
    }
  }
  if (dead_) return Failed();
  return disk_.Get(key);
}

Status FaultyStore::Apply(const storage::StoreBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (dead_) return Failed();
  if (full_) {
    ++failures_;
    return ResourceExhaustedError("the disk is full");
  }
  if (fault_.has_value() && fault_->writes-- == 0) {
    unclear_.reset();
    if (fault_->kept) unclear_ = bug_ == Bug::kTornWrite ? HalfOf(batch) : batch;
    dead_ = fault_->fatal;
    fault_.reset();
    ++failures_;
    changed_.notify_all();
    return Failed();
  }
  unclear_.reset();
  ++writes_;
  for (const auto& [key, value] : batch.puts()) {
    if (!at_hand_.empty() && key == BatchOf(at_hand_)) at_hand_.clear();
  }
  const Status applied = Write(batch);
  changed_.notify_all();
  return applied;
}

Status FaultyStore::Write(const storage::StoreBatch& batch) {
  if (bug_ == Bug::kForgottenTickets) return disk_.Apply(Without(batch, "spent/"));
  if (bug_ == Bug::kKeptSpool && Counts(batch)) return disk_.Apply(Without(batch, "spool/"));
  if (bug_ == Bug::kForgottenCounts && Counts(batch)) return disk_.Apply(Without(batch, "count/"));
  if (bug_ != Bug::kEarlyAnswer) return disk_.Apply(batch);
  const std::optional<storage::StoreBatch> before = std::exchange(late_, std::nullopt);
  if (before.has_value()) disk_.Apply(*before).IgnoreError();
  if (!Receives(batch)) return disk_.Apply(batch);
  late_ = batch;
  return OkStatus();
}

Status FaultyStore::Scan(
    std::string_view prefix,
    absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) const {
  if (dead()) return Failed();
  return disk_.Scan(prefix, visit);
}

Status FaultyStore::Purge(std::string_view prefix) {
  if (dead()) return Failed();
  return disk_.Purge(prefix);
}

}  // namespace coppice::relay_faults
