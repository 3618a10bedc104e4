// The sealing keys of a study with a relay.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_KEYS_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_KEYS_H_

#include <memory>
#include <utility>

#include "common/base/mutex.h"
#include "server/curator/keys/sealing_keys.h"

namespace coppice::curator {

// What one study holds of its keys in memory. SealingKeys says how they are made, rotated and
// erased.
//
// Guarantee  Follows the store: call Set() after the keys are stored, and Drop() after their
// records
//            are deleted.
// Threads    Safe to share. Who got the keys keeps those, whatever is set later.
class StudyKeys {
 public:
  // Null for a study without a relay, and after the retention.
  std::shared_ptr<const SealingKeys> Get() const {
    const MutexLock lock(mutex_);
    return keys_;
  }
  void Set(SealingKeys keys) {
    auto shared = std::make_shared<const SealingKeys>(std::move(keys));
    const MutexLock lock(mutex_);
    keys_ = std::move(shared);
  }
  void Drop() {
    const MutexLock lock(mutex_);
    keys_ = nullptr;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const SealingKeys> keys_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_KEYS_H_
