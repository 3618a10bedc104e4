// A value that a test and a server's threads share: `guarded->field` holds its lock to the end of
// the expression. T has a member `std::recursive_mutex mutex`, which its own methods lock.

#ifndef COPPICE_TESTS_SUPPORT_GUARDED_H_
#define COPPICE_TESTS_SUPPORT_GUARDED_H_

#include <mutex>

namespace coppice::testing {

template <typename T>
class Guarded {
 public:
  class Access {
   public:
    explicit Access(T& value) : lock_(value.mutex), value_(value) {}
    T* operator->() { return &value_; }

   private:
    std::unique_lock<std::recursive_mutex> lock_;
    T& value_;
  };

  Access operator->() { return Access(value_); }
  // For callers that lock it themselves.
  T& unguarded() { return value_; }

 private:
  T value_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_GUARDED_H_
