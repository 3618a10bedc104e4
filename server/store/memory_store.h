// A Store in memory, for programs that run the curator's code in their own process.

#ifndef COPPICE_SERVER_STORE_MEMORY_STORE_H_
#define COPPICE_SERVER_STORE_MEMORY_STORE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/store.h"

namespace coppice::storage {

// Guarantee  batches are atomic, as Store says; nothing survives the process.
// Errors     none of its own.
// Threads    safe to share.
class MemoryStore : public Store {
 public:
  using Pairs = std::map<std::string, std::string>;

  MemoryStore() = default;
  explicit MemoryStore(Pairs pairs) : pairs_(std::move(pairs)) {}

  // A copy of all records.
  Pairs pairs() const {
    const MutexLock lock(mutex_);
    return pairs_;
  }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    const MutexLock lock(mutex_);
    const auto it = pairs_.find(std::string(key));
    if (it == pairs_.end()) return std::nullopt;
    return it->second;
  }

  Status Apply(const StoreBatch& batch) override {
    const MutexLock lock(mutex_);
    for (const std::string& prefix : batch.deleted_prefixes()) {
      std::erase_if(pairs_, [&](const auto& pair) { return StartsWith(pair.first, prefix); });
    }
    for (const std::string& key : batch.deleted_keys()) pairs_.erase(key);
    for (const auto& [key, value] : batch.puts()) pairs_[key] = value;
    return OkStatus();
  }

  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    const Pairs snapshot = pairs();
    for (auto it = snapshot.lower_bound(std::string(prefix));
         it != snapshot.end() && StartsWith(it->first, prefix); ++it) {
      const Status status = visit(it->first, it->second);
      if (!status.ok()) return status;
    }
    return OkStatus();
  }

  // Does nothing: deleted values are not kept anywhere.
  Status Purge(std::string_view) override { return OkStatus(); }

 private:
  mutable Mutex mutex_;
  Pairs pairs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_MEMORY_STORE_H_
