// Real coppiced processes behind a real HAProxy, with links to the database and to the balancer
// that can fail, and a supervisor that restarts them when they end, as systemd would.
//
// Errors     TakeComplaint() tells of a curator that ended in a way that none may.
// Threads    safe to share.

#ifndef COPPICE_TESTS_FLEET_CURATORS_H_
#define COPPICE_TESTS_FLEET_CURATORS_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "tests/fleet/relay.h"
#include "tests/fleet/schedule.h"
#include "tests/integration/balancer.h"
#include "tests/integration/process.h"

namespace coppice::fleet_faults {

struct CuratorOptions {
  size_t curators = kCurators;
  bool fleet = true;                        // else a single daemon, without a balancer
  absl::Duration lease = absl::Seconds(1);  // whole seconds
  std::vector<std::string> database;        // sockets of its nodes
  std::string database_name;
  std::string clock_library{};  // clock_library.cc; empty: clocks are the machine's
  std::string folder;           // for logs and clocks
};

struct ExitTally {
  uint64_t lost_lease = 0;  // exit code 75
  uint64_t drained = 0;
  uint64_t failed_starts = 0;
};

class Curators {
 public:
  explicit Curators(const CuratorOptions& options);
  ~Curators();

  void StartAll();
  // Restarts what has ended, and checks how it ended. Must be called often.
  void Supervise();

  void Kill(size_t curator, absl::Duration down);
  void Pause(size_t curator);
  void Resume(size_t curator);
  void Drain(size_t curator);
  // Sets its wall clock off by this much from its next start on.
  void SetSkew(size_t curator, absl::Duration skew);
  // Stops its clock since boot, or lets it run again. No real clock does that.
  void FreezeClock(size_t curator, bool frozen);

  Relay& database(size_t curator, size_t node) { return *slots_[curator]->database[node]; }
  size_t nodes() const { return options_.database.size(); }
  // From the balancer to the curator.
  Relay& link(size_t curator) { return *slots_[curator]->link; }
  // The curator that a row of coppice_owner names, if it is one of these.
  std::optional<size_t> CuratorAt(const std::string& address) const;

  size_t size() const { return slots_.size(); }
  // Ways for calls: the first is what clients take, the balancer or the single daemon; the others
  // lead past the balancer to each curator of a fleet.
  size_t doors() const { return options_.fleet ? 1 + size() : 1; }
  ConnectOptions connection(size_t door) const;
  pid_t pid(size_t curator) const { return slots_[curator]->pid; }

  // Ends all by SIGTERM. False if one does not end in time, or not with 0.
  bool StopAll();

  // How a curator ended that should not have, or empty.
  std::string TakeComplaint();
  // The database was in trouble until now, so a curator that has served may also fail.
  void ExcuseFailedStarts();
  ExitTally tally() const;
  const std::string& folder() const { return options_.folder; }

 private:
  struct Slot {
    std::vector<std::unique_ptr<Relay>> database;
    std::unique_ptr<Relay> link;
    int listen_port = 0;
    std::unique_ptr<testing::Process> process;
    std::atomic<pid_t> pid{-1};
    absl::Duration skew;
    absl::Time start_at = absl::InfiniteFuture();
    bool killed = false, draining = false;
    int starts = 0;
  };

  std::vector<std::string> CommandLine(size_t curator) const;
  std::string ClockFile(size_t curator) const;
  void StartLocked(size_t curator);
  void KeepLog(size_t curator);
  bool HasServed(const Slot& slot) const;
  void NoteEnd(size_t curator, int exit_code);

  const CuratorOptions options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<testing::Balancer> balancer_;  // null without a fleet
  mutable std::mutex mutex_;
  bool stopping_ = false;
  absl::Time excused_until_ = absl::InfinitePast();
  std::string complaint_;
  ExitTally tally_;
};

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_CURATORS_H_
