// A token bucket: how much may be taken at once, and how fast that comes back.
//
// Guarantee  over any time t at most burst + rate * t is taken, and one request more: a request
//            above the burst is let through when the bucket is full, and paid off afterwards, so
//            that no request is refused forever. A clock that is set back gives nothing, and takes
//            nothing.
// Threads    one at a time.

#ifndef COPPICE_COMMON_BASE_RATE_LIMITER_H_
#define COPPICE_COMMON_BASE_RATE_LIMITER_H_

#include <algorithm>

#include "absl/time/time.h"

namespace coppice {

class TokenBucket {
 public:
  // Full at `now`. `rate` a second and `burst` must be above 0.
  TokenBucket(double rate, double burst, absl::Time now)
      : rate_(rate), burst_(burst), level_(burst), filled_(now) {}

  // Takes `amount` and returns zero, or takes nothing and returns how long until it could.
  absl::Duration Take(double amount, absl::Time now) {
    Fill(now);
    const double needed = std::min(amount, burst_);
    if (level_ < needed) return absl::Seconds((needed - level_) / rate_);
    level_ -= amount;
    return absl::ZeroDuration();
  }

 private:
  void Fill(absl::Time now) {
    if (now <= filled_) {
      filled_ = now;
      return;
    }
    level_ = std::min(burst_, level_ + rate_ * absl::ToDoubleSeconds(now - filled_));
    filled_ = now;
  }

  const double rate_;
  const double burst_;
  double level_;
  absl::Time filled_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_RATE_LIMITER_H_
