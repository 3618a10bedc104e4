// Reports the daemon's status to an operator (AdminService.GetStatus).

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
#include "coppice/v1/admin.pb.h"
#include "server/daemon/operation/daemon_context.h"
#include "server/process/readiness.h"
#include "server/serving/access/access_control.h"

namespace coppice::daemon {

// The leadership of a curator in its fleet.
struct FleetLead {
  std::string address;  // its --fleet-address
  int64_t epoch = 0;    // of its lease
  absl::Time since;
  absl::Duration lease_length;
};

// Collects the status from the parts that know it: readiness, alarms of standbys and studies, holds
// of ledgers, expiry of certificate and tokens, the disk.
//
// Guarantee  Alarms name resources and say what to do. They reveal no number of rows, no time of a
//            job, and nothing else that follows from private rows. Lists in alarms are bounded.
// Threads    safe to share. Read() goes through all studies and datasets, as the metrics page
//            does.
class StatusReport {
 public:
  // All must outlive it. Null `access` means no policy; no `lead` means not in a fleet.
  StatusReport(const DaemonContext& daemon, const access::AccessControl* access,
               std::optional<FleetLead> lead)
      : daemon_(daemon), access_(access), lead_(std::move(lead)) {}

  // Before this call the daemon has not begun to serve.
  void SetReadiness(const Readiness& readiness) { readiness_ = &readiness; }

  v1::GetStatusResponse Read() const;

 private:
  v1::FleetStatus DescribeFleet() const;

  const DaemonContext& daemon_;
  const access::AccessControl* const access_;
  const std::optional<FleetLead> lead_;
  const absl::Time started_ = absl::Now();
  std::atomic<const Readiness*> readiness_{nullptr};
};

// Alarms for an operator, one or two sentences each. Parts of Read(), for tests.
std::optional<std::string> ExpiryAlarm(absl::Time certificate_expires, absl::Time now);
std::optional<std::string> TokenAlarm(const std::vector<access::PolicyEntry>& tokens,
                                      absl::Time now);
std::optional<std::string> DiskAlarm(uint64_t free_bytes, uint64_t all_bytes);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_STATUS_REPORT_H_
