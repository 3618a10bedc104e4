// A Store in memory whose failures and pauses a test switches.

#ifndef COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_
#define COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/storage/store.h"

namespace coppice::testing {

class MemoryStore final : public storage::Store {
 public:
  // What Apply() returns from now on; OK is to work.
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
  void LetWrites() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  // Batches applied so far.
  size_t writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    const std::lock_guard lock(mutex_);
    const auto it = pairs_.find(std::string(key));
    if (it == pairs_.end()) return std::nullopt;
    return it->second;
  }

  absl::Status Apply(const storage::StoreBatch& batch) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --waiting_;
    if (!write_status_.ok()) return write_status_;
    for (const std::string& prefix : batch.deleted_prefixes()) {
      std::erase_if(pairs_, [&](const auto& pair) { return absl::StartsWith(pair.first, prefix); });
    }
    for (const std::string& key : batch.deleted_keys()) pairs_.erase(key);
    for (const auto& [key, value] : batch.puts()) pairs_[key] = value;
    ++writes_;
    return absl::OkStatus();
  }

  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    std::map<std::string, std::string> snapshot;
    {
      const std::lock_guard lock(mutex_);
      snapshot = pairs_;
    }
    for (auto it = snapshot.lower_bound(std::string(prefix));
         it != snapshot.end() && absl::StartsWith(it->first, prefix); ++it) {
      absl::Status status = visit(it->first, it->second);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Nothing is kept that was deleted; what was purged is noted.
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
  std::map<std::string, std::string> pairs_;
  std::vector<std::string> purged_;
  absl::Status write_status_;
  bool held_ = false;
  int waiting_ = 0;
  size_t writes_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_MEMORY_STORE_H_
