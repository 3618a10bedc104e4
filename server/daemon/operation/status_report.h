// How the daemon is, for an operator who asks (AdminService.GetStatus).

#ifndef COPPICE_SERVER_DAEMON_OPERATION_STATUS_REPORT_H_
#define COPPICE_SERVER_DAEMON_OPERATION_STATUS_REPORT_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/process/readiness.h"
#include "coppice/v1/admin.pb.h"
#include "server/access/access_control.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/daemon/transport/peer_calls.h"

namespace coppice::daemon {

// How a curator leads its fleet.
struct FleetLead {
  std::string address;  // where its fellows reach it
  int64_t epoch = 0;    // of its lease
  absl::Time since;
  absl::Duration lease_length;
};

// Reads the status off the parts that know it: readiness, alarms of standbys and studies, holds of
// ledgers, dates of certificate and tokens, the disk.
//
// Guarantee  an alarm names resources and says what to do. It tells no number of rows, no time of a
//            job, and nothing else that follows from private rows. Lists in alarms are bounded.
// Threads    safe to share. Read() goes through all studies and datasets, as a page of metrics
//            does.
class StatusReport {
 public:
  // All must outlive it. Null `access`: there is no policy. No `lead`: the curator is alone.
  StatusReport(const DaemonContext& daemon, const access::AccessControl* access,
               std::optional<FleetLead> lead, const PeerCalls& peers)
      : daemon_(daemon), access_(access), lead_(std::move(lead)), peers_(peers) {}

  // Until this is called the daemon has not begun to serve.
  void SetReadiness(const Readiness& readiness) { readiness_ = &readiness; }

  v1::GetStatusResponse Read() const;

 private:
  v1::FleetStatus DescribeFleet() const;

  const DaemonContext& daemon_;
  const access::AccessControl* const access_;
  const std::optional<FleetLead> lead_;
  const PeerCalls& peers_;
  const absl::Time started_ = absl::Now();
  std::atomic<const Readiness*> readiness_{nullptr};
};

// What an operator should look at, one sentence or two each. Parts of Read(), for tests.
std::optional<std::string> ExpiryAlarm(absl::Time certificate_expires, absl::Time now);
std::optional<std::string> TokenAlarm(const std::vector<access::PolicyEntry>& tokens,
                                      absl::Time now);
std::optional<std::string> DiskAlarm(uint64_t free_bytes, uint64_t all_bytes);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_STATUS_REPORT_H_
