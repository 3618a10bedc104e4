// A count that some threads raise and others wait for.

#ifndef COPPICE_TESTS_SUPPORT_COUNTER_H_
#define COPPICE_TESTS_SUPPORT_COUNTER_H_

#include <condition_variable>
#include <mutex>

namespace coppice::testing {

// Threads    safe to share.
class Counter {
 public:
  void Raise() {
    const std::lock_guard lock(mutex_);
    ++value_;
    raised_.notify_all();
  }
  int value() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void Await(int value) {
    std::unique_lock lock(mutex_);
    raised_.wait(lock, [&] { return value_ >= value; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable raised_;
  int value_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_COUNTER_H_
