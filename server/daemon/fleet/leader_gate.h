// Holds the calls of a front that wait for a leader.

#ifndef COPPICE_SERVER_DAEMON_FLEET_LEADER_GATE_H_
#define COPPICE_SERVER_DAEMON_FLEET_LEADER_GATE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "server/process/log.h"
#include "server/daemon/fleet/forwarded_call.h"
#include "server/daemon/fleet/leader_link.h"

namespace coppice::daemon {

// Guarantee  Each admitted call is started or refused, once, unless it leaves before. Of a waiting
//            call only the metadata have been read.
// Threads    safe to share.
class LeaderGate {
 public:
  explicit LeaderGate(const Log* log);
  ~LeaderGate();  // call after Stop(), when all calls are gone
  LeaderGate(const LeaderGate&) = delete;
  LeaderGate& operator=(const LeaderGate&) = delete;

  // Null: nobody leads.
  void SetLeader(std::shared_ptr<LeaderLink> leader);

  void Admit(ForwardedCall& call);

  // Called after the last event of an admitted call.
  void Forget() { calls_.fetch_sub(1, std::memory_order_relaxed); }
  bool has_calls() const { return calls_.load(std::memory_order_relaxed) > 0; }

  // Returns true if the call was waiting; then its caller ends it.
  bool Leave(ForwardedCall& call);

  // Whether the leader was connected a short while ago.
  bool ReachesLeader() const;

  // Refuses waiting and later calls.
  void Stop();

 private:
  using Calls = std::list<ForwardedCall*>;
  using Clock = std::chrono::steady_clock;

  void Run();
  void Note(const LeaderLink* leader, bool connected);
  std::optional<std::shared_ptr<LeaderLink>> AwaitLook();  // none: closing
  void StartAll(LeaderLink& leader);
  void RefuseLate();
  ForwardedCall& TakeFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Log* const log_;
  std::atomic<int64_t> calls_{0};
  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<LeaderLink> leader_ ABSL_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> last_connected_ ABSL_GUARDED_BY(mutex_);
  Calls waiting_ ABSL_GUARDED_BY(mutex_);  // in order of arrival
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_FLEET_LEADER_GATE_H_
