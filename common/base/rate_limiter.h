// Rate limits: how much may be taken at once, and how fast it refills.

#ifndef COPPICE_COMMON_BASE_RATE_LIMITER_H_
#define COPPICE_COMMON_BASE_RATE_LIMITER_H_

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace coppice {

struct RateLimit {
  double rate = 0;   // per second; 0: no limit
  double burst = 0;  // how much at once; above 0 if there is a rate

  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

// One bucket of tokens.
//
// Guarantee  over any time t at most burst + rate * t is taken, plus one request: a request above
//            the burst passes when the bucket is full, and is paid off afterwards, so that no
//            request is refused forever. Setting the clock back adds and takes nothing.
// Threads    not thread-safe.
class TokenBucket {
 public:
  // Starts full at `now`. `rate` (per second) and `burst` must be above 0.
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

// A bucket per key. Buckets are in memory only: a restart fills them, and so does a changed limit.
//
// Threads    safe to share, if the clock is.
class RateLimiter {
 public:
  // `limit` applies to keys that are taken from without a limit of their own.
  RateLimiter(const RateLimit& limit, std::function<absl::Time()> clock)
      : limit_(limit), clock_(std::move(clock)) {}

  // Takes `amount` and returns zero, or takes nothing and returns how long to wait. Each key keeps
  // its bucket, so strangers must not choose keys.
  absl::Duration Take(std::string_view key, double amount) { return Take(key, amount, limit_); }
  absl::Duration Take(std::string_view key, double amount, const RateLimit& limit) {
    if (limit.rate == 0) return absl::ZeroDuration();
    const MutexLock lock(mutex_);
    const absl::Time now = clock_();
    auto found = buckets_.find(key);
    if (found == buckets_.end()) found = buckets_.try_emplace(std::string(key)).first;
    Limited& limited = found->second;
    if (!limited.bucket.has_value() || limited.limit != limit) {
      limited.limit = limit;
      limited.bucket.emplace(limit.rate, limit.burst, now);
    }
    return limited.bucket->Take(amount, now);
  }

 private:
  struct Limited {
    RateLimit limit{};
    std::optional<TokenBucket> bucket{};
  };

  const RateLimit limit_;
  const std::function<absl::Time()> clock_;
  Mutex mutex_;
  std::map<std::string, Limited, std::less<>> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_RATE_LIMITER_H_
