// A Store whose writes wait for as long as a test says: a slow disk.

#ifndef COPPICE_TESTS_FAULTS_GATED_STORE_H_
#define COPPICE_TESTS_FAULTS_GATED_STORE_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::testing {

class GatedStore final : public storage::Store {
 public:
  explicit GatedStore(storage::Store& store) : store_(store) {}

  void Hold(bool hold) {
    const std::lock_guard lock(mutex_);
    held_ = hold;
    changed_.notify_all();
  }
  bool HasWaiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_ > 0;
  }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return store_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.wait(lock, [this] { return !held_; });
      --waiting_;
    }
    return store_.Apply(batch);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return store_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return store_.Purge(prefix); }

 private:
  storage::Store& store_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int waiting_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_GATED_STORE_H_
