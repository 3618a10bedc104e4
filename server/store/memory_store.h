// A Store in memory, for programs that run the curator's code in their own process.

#ifndef COPPICE_SERVER_STORE_MEMORY_STORE_H_
#define COPPICE_SERVER_STORE_MEMORY_STORE_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
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

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    const MutexLock lock(mutex_);
    const auto it = pairs_.find(std::string(key));
    if (it == pairs_.end()) return std::nullopt;
    return it->second;
  }

  absl::Status Apply(const StoreBatch& batch) override {
    const MutexLock lock(mutex_);
    for (const std::string& prefix : batch.deleted_prefixes()) {
      std::erase_if(pairs_, [&](const auto& pair) { return absl::StartsWith(pair.first, prefix); });
    }
    for (const std::string& key : batch.deleted_keys()) pairs_.erase(key);
    for (const auto& [key, value] : batch.puts()) pairs_[key] = value;
    return absl::OkStatus();
  }

  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    const Pairs snapshot = pairs();
    for (auto it = snapshot.lower_bound(std::string(prefix));
         it != snapshot.end() && absl::StartsWith(it->first, prefix); ++it) {
      const absl::Status status = visit(it->first, it->second);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Does nothing: deleted values are not kept anywhere.
  absl::Status Purge(absl::string_view) override { return absl::OkStatus(); }

 private:
  mutable Mutex mutex_;
  Pairs pairs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_MEMORY_STORE_H_
