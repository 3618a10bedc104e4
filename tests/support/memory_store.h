// A Store in memory; tests switch its failures and pauses.

#ifndef COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_
#define COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/storage/memory_store.h"

namespace coppice::testing {

class MemoryStore final : public storage::MemoryStore {
 public:
  // Sets what Apply() returns from now on; OK makes it work.
  void FailWrites(absl::Status status) {
    const std::lock_guard lock(mutex_);
    write_status_ = status;
  }

  // Makes Apply() wait until LetWrites(), so that a test decides what is queued meanwhile.
  void HoldWrites() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void AwaitHeldWrite() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }
  // Returns whether this many writes wait at the same time, within some minutes.
  bool AwaitHeldWrites(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(5), [&] { return waiting_ >= count; });
  }
  void LetWrites() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  // The number of batches applied so far.
  size_t writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

  absl::Status Apply(const storage::StoreBatch& batch) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --waiting_;
    if (!write_status_.ok()) return write_status_;
    ++writes_;
    return storage::MemoryStore::Apply(batch);
  }

  // Records what was purged.
  absl::Status Purge(absl::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    if (!write_status_.ok()) return write_status_;
    purged_.emplace_back(prefix);
    return absl::OkStatus();
  }
  std::vector<std::string> purged() const {
    const std::lock_guard lock(mutex_);
    return purged_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> purged_;
  absl::Status write_status_;
  bool held_ = false;
  int waiting_ = 0;
  size_t writes_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_
