// A Store over another one, the disk. A chosen write fails like a lost or a late sync.

#ifndef COPPICE_TESTS_SUPPORT_CRASHING_STORE_H_
#define COPPICE_TESTS_SUPPORT_CRASHING_STORE_H_

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::testing {

struct WriteFault {
  size_t write = 0;    // the write that fails; 0 is the first
  bool kept = false;   // its batch reaches the disk all the same
  bool fatal = false;  // nothing works afterwards, as in a dead process
};

class CrashingStore final : public storage::Store {
 public:
  CrashingStore(storage::Store& disk, const WriteFault& fault) : disk_(disk), fault_(fault) {}

  bool dead() const { return dead_; }

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    if (dead_) return Failed();
    return disk_.Get(key);
  }

  Status Apply(const storage::StoreBatch& batch) override {
    if (dead_) return Failed();
    if (writes_++ != fault_.write) return disk_.Apply(batch);
    if (fault_.kept) {
      const Status kept = disk_.Apply(batch);
      if (!kept.ok()) return kept;
    }
    dead_ = fault_.fatal;
    return Failed();
  }

  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    if (dead_) return Failed();
    return disk_.Scan(prefix, visit);
  }

  Status Purge(std::string_view prefix) override {
    if (dead_) return Failed();
    return disk_.Purge(prefix);
  }

 private:
  static Status Failed() { return UnavailableError("the sync failed"); }

  storage::Store& disk_;
  const WriteFault fault_;
  std::atomic<size_t> writes_{0};
  std::atomic<bool> dead_{false};
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_CRASHING_STORE_H_
