// A training job as its callers see it: its request, its progress and its cost.

#ifndef COPPICE_SERVER_DATASETS_JOB_H_
#define COPPICE_SERVER_DATASETS_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/certificate.h"
#include "server/datasets/ledger/accounting.h"
#include "server/datasets/public_rows.h"
#include "server/store/models/ids.h"
#include "server/trainers/core/settings.h"

namespace coppice::central {

// These numbers are the wire's.
enum class JobState : uint8_t { kQueued = 1, kRunning = 2, kDone = 3, kFailed = 4, kCancelled = 5 };
inline bool HasEnded(JobState state) { return state >= JobState::kDone; }

struct JobSpec {
  std::string dataset;
  std::string algorithm;
  uint64_t epsilon_nanos = 0;
  uint64_t delta_atto = 0;
  trainers::Settings settings{};
  uint64_t max_model_bytes = 0;  // a plan that may make a larger model is refused; 0: the curator's
  // To start from in place of the dataset's. A job that has begun no longer has them.
  PublicRowBlock public_rows{};
  bool without_public_rows = false;  // start from none, also if the dataset has some
};

struct JobRequest {
  std::string request_id;  // chosen by the caller; repeating it returns the job it made
  std::string id;          // empty: the curator makes one
  std::string model;       // empty: the job's id
  JobSpec spec;
  std::string submitter{};  // the caller's name in the policy; empty without a policy
  // What the owner may have; 0: no limit.
  uint64_t most_at_once = 0;  // queued and running jobs
  uint64_t most_models = 0;   // with those to come from jobs that are queued or running
  uint64_t most_model_bytes = 0;
  models::DrawnIdCheck may_draw{};
};

struct JobInfo {
  std::string id;
  JobSpec spec;
  JobState state = JobState::kQueued;
  int64_t created_unix_seconds = 0;
  int64_t started_unix_seconds = 0;
  int64_t ended_unix_seconds = 0;
  std::string model;        // the id that its model has or will have
  double progress = 0;      // while it runs; callers see 1 once it is done
  double seconds_left = 0;  // while it runs, whole seconds; 0: not known
  std::string reason{};     // why it failed or was cancelled, or what it waits for
  ledger::Cost cost{};
  std::vector<std::string> warnings{};
  uint64_t model_bytes = 0;    // the most that its model takes; 0: not known
  std::string submitter{};     // as in JobRequest; also empty for jobs older than this field
  PublicRowsId public_rows{};  // that it starts from, its own or the dataset's
};

struct JobPreview {
  ledger::Cost cost;
  std::vector<Release> releases;
  Status fits;
  std::vector<std::string> warnings;
  uint64_t model_bytes = 0;  // as in JobInfo
};

// Where a job that was cut short goes on, and how often it has run on from there without a clean
// end, the run under way included. checkpoints.h has what it names.
struct ResumePoint {
  uint64_t checkpoints = 0;   // 0: only the job's start is there
  std::string last_sha256{};  // of the last checkpoint or, before the first, of the start
  uint32_t runs = 0;
  bool cancel_asked = false;
};

// The stored record of a job.
struct JobEntry {
  JobInfo info;
  std::optional<ResumePoint> resume{};  // set while it runs, if it can go on after a crash
  std::vector<Release> planned{};
  std::string request_id{};
  std::string request_hash{};
};

// Hears about a job from Watch() on. Calls come one at a time, from any thread, and must not call
// Jobs.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;
  virtual void OnJob(const JobInfo& job) = 0;
  // The daemon stops: no more calls follow.
  virtual void OnStop() = 0;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_JOB_H_
