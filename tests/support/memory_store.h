// A Store in memory; tests switch its failures and pauses.

#ifndef COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_
#define COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/memory_store.h"

namespace coppice::testing {

class MemoryStore final : public storage::MemoryStore {
 public:
  // Sets what Apply() returns from now on; OK makes it work.
  void FailWrites(Status status) {
    const std::lock_guard lock(mutex_);
    write_status_ = status;
  }

  // Makes Apply() wait until LetWrites(), so that a test decides what is queued meanwhile: all
  // batches, or those that put a key with this prefix.
  void HoldWrites(std::string prefix = "") {
    const std::lock_guard lock(mutex_);
    held_prefix_ = std::move(prefix);
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
    held_prefix_.reset();
    changed_.notify_all();
  }

  // The number of batches applied so far.
  size_t writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

  // The number of keys looked up so far.
  size_t reads() const { return reads_.load(); }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    ++reads_;
    return storage::MemoryStore::Get(key);
  }

  Status Apply(const storage::StoreBatch& batch) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !IsHeld(batch); });
    --waiting_;
    if (!write_status_.ok()) return write_status_;
    ++writes_;
    return storage::MemoryStore::Apply(batch);
  }

  // Records what was purged.
  Status Purge(std::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    if (!write_status_.ok()) return write_status_;
    purged_.emplace_back(prefix);
    return OkStatus();
  }
  std::vector<std::string> purged() const {
    const std::lock_guard lock(mutex_);
    return purged_;
  }

 private:
  bool IsHeld(const storage::StoreBatch& batch) const {
    if (!held_prefix_.has_value() || held_prefix_->empty()) return held_prefix_.has_value();
    const auto& puts = batch.puts();
    return std::any_of(puts.begin(), puts.end(),
                       [this](const auto& put) { return StartsWith(put.first, *held_prefix_); });
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> purged_;
  Status write_status_;
  std::optional<std::string> held_prefix_;  // empty: all are held
  int waiting_ = 0;
  size_t writes_ = 0;
  mutable std::atomic<size_t> reads_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_
