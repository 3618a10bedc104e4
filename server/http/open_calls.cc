#include <algorithm>

#include "absl/time/clock.h"
#include "server/http/call.h"

namespace coppice::http {

OpenCalls::Token::Token(OpenCalls& calls) : calls_(calls) {
  const MutexLock lock(calls_.mutex_);
  ++calls_.count_;
}

OpenCalls::Token::~Token() {
  const MutexLock lock(calls_.mutex_);
  if (--calls_.count_ == 0) calls_.changed_.NotifyAll();
}

bool OpenCalls::AwaitNone(absl::Time deadline) {
  const auto until = After(std::max(deadline - absl::Now(), absl::ZeroDuration()));
  const MutexLock lock(mutex_);
  while (count_ > 0) {
    if (!changed_.WaitUntil(mutex_, until)) return count_ == 0;
  }
  return true;
}

}  // namespace coppice::http
