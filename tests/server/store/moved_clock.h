// A clock of leases that stands still until the test moves it.

#ifndef COPPICE_TESTS_SERVER_STORE_MOVED_CLOCK_H_
#define COPPICE_TESTS_SERVER_STORE_MOVED_CLOCK_H_

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "server/store/postgres/lease.h"

namespace coppice::testing {

// Threads    safe to share.
class MovedClock final : public storage::LeaseClock {
 public:
  absl::Duration Now() const override {
    const MutexLock lock(mutex_);
    return now_;
  }
  // Whoever moves the clock does not know `changed`: this looks at the clock now and then.
  bool WaitUntil(CondVar& changed, Mutex& mutex, absl::Duration time) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (Now() >= time) return false;
    changed.WaitUntil(mutex, After(absl::Milliseconds(1)));
    return Now() < time;
  }

  void Advance(absl::Duration by) {
    const MutexLock lock(mutex_);
    now_ += by;
    moved_.NotifyAll();
  }
  // Returns once another thread has moved the clock to `time`.
  void Await(absl::Duration time) {
    const MutexLock lock(mutex_);
    while (now_ < time) moved_.Wait(mutex_);
  }

 private:
  mutable Mutex mutex_;
  CondVar moved_;
  absl::Duration now_ ABSL_GUARDED_BY(mutex_) = absl::Hours(1);
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_STORE_MOVED_CLOCK_H_
