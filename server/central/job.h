// A training job as its callers see it: what it is asked for, how far it is, what it would cost.

#ifndef COPPICE_SERVER_CENTRAL_JOB_H_
#define COPPICE_SERVER_CENTRAL_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/tree/certificate.h"
#include "server/ledger/accounting.h"
#include "server/trainers/core/settings.h"

namespace coppice::central {

// The numbers are those of the wire.
enum class JobState : uint8_t { kQueued = 1, kRunning = 2, kDone = 3, kFailed = 4, kCancelled = 5 };
inline bool HasEnded(JobState state) { return state >= JobState::kDone; }

struct JobSpec {
  std::string dataset;
  std::string algorithm;
  uint64_t epsilon_nanos = 0;
  uint64_t delta_atto = 0;
  trainers::Settings settings{};
};

struct JobRequest {
  std::string request_id;  // chosen by the caller; repeating it returns the job it made
  std::string id;          // empty: the curator makes one
  std::string model;       // empty: the job's id
  JobSpec spec;
  std::string submitter{};    // name of the policy entry that asks; empty without a policy
  uint64_t most_at_once = 0;  // jobs of the owner that are queued or run; 0: no limit
};

struct JobInfo {
  std::string id;
  JobSpec spec;
  JobState state = JobState::kQueued;
  int64_t created_unix_seconds = 0;
  int64_t started_unix_seconds = 0;
  int64_t ended_unix_seconds = 0;
  std::string model;        // the id that its model has or will have
  double progress = 0;      // while it runs; callers are told 1 once it is done
  double seconds_left = 0;  // while it runs, whole; 0: not known
  std::string reason{};     // why it failed or was cancelled, or what it waits for
  ledger::Cost cost{};
  std::vector<std::string> warnings{};
  std::string submitter{};  // as in JobRequest; also empty of jobs from before it was kept
};

struct JobPreview {
  ledger::Cost cost;
  std::vector<Release> releases;
  absl::Status fits;
  std::vector<std::string> warnings;
};

// What is stored of a job.
struct JobEntry {
  JobInfo info;
  std::vector<Release> planned{};
  std::string request_id{};
  std::string request_hash{};
};

// Told of a job from Watch() on. Calls come one after the other, from any thread, and must not call
// Jobs.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;
  virtual void OnJob(const JobInfo& job) = 0;
  // The daemon stops: no more calls will come.
  virtual void OnStop() = 0;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_JOB_H_
