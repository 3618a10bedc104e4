// A device's journal as Python has it.

#ifndef COPPICE_CLIENT_PYTHON_CORE_JOURNAL_H_
#define COPPICE_CLIENT_PYTHON_CORE_JOURNAL_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "client/device/journal_store.h"
#include "client/python/core/turn.h"
#include "common/base/mutex.h"

namespace coppice::python {

// A journal, and the turns at answering of the devices that share it.
//
// Guarantee  All devices of a subject have one turn, so that what a policy finds spent is still
//            what is spent when the answer is in the journal. Other subjects answer meanwhile.
// Threads    safe to share.
class JournalInPython {
 public:
  explicit JournalInPython(std::unique_ptr<JournalStore> store) : store_(std::move(store)) {}

  JournalStore& store() const { return *store_; }
  // As long as this lives.
  Turn& TurnOf(const std::string& subject) {
    const MutexLock lock(mutex_);
    return turns_[subject];
  }

 private:
  const std::unique_ptr<JournalStore> store_;
  Mutex mutex_;
  std::map<std::string, Turn> turns_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_JOURNAL_H_
