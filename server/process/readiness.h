// Decides whether the daemon is fit to serve: one thread runs named checks every few seconds.

#ifndef COPPICE_SERVER_PROCESS_READINESS_H_
#define COPPICE_SERVER_PROCESS_READINESS_H_

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/process/log.h"

namespace coppice {

struct ReadinessCheck {
  std::string name;
  std::function<Status()> run;
};

// Guarantee  not ready before the first round has passed, nor ever again after Stop(). `tell` gets
//            each round's verdict, in order. When a check begins or ceases to fail, the log gets a
//            line with the reason: event "ready" or "not ready".
// Threads    safe to share. Checks run on one thread and may be slow.
class Readiness {
 public:
  // What `checks` and `tell` use must live until Stop(). `tell` must not call this object.
  Readiness(std::vector<ReadinessCheck> checks, absl::Duration period, const Log& log,
            std::function<void(bool ready)> tell);
  ~Readiness() { Stop(); }
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // Tells "not ready" at once, then waits for a running check to end. Idempotent.
  void Stop();

  // Results by check name; empty before the first round.
  std::map<std::string, bool> Passed() const;
  // The reasons of the checks that failed last, by name.
  std::map<std::string, std::string> Failing() const;
  // The last verdict that was told.
  bool IsReady() const;

 private:
  void Run();
  void Judge(const std::string& name, const Status& status);

  const std::vector<ReadinessCheck> checks_;
  const absl::Duration period_;
  const Log& log_;
  const std::function<void(bool)> tell_;
  mutable Mutex mutex_;
  CondVar stopped_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Status> verdicts_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: starts when all other members exist
};

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_READINESS_H_
