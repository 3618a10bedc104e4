// Following a job until it has ended, across broken connections.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_TRAIN_WATCH_H_
#define COPPICE_CLIENT_CLI_CENTRAL_TRAIN_WATCH_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/remote.h"
#include "coppice/v1/training.pb.h"

namespace coppice::cli {

bool HasEnded(const v1::Job& job);
// OK if the job is done. Aborted (failed) or Cancelled with its reason, if it ended so.
absl::Status OutcomeOf(const v1::Job& job);

// To stdout, in the form asked for; people are spared what there is not yet, or not any more.
void PrintJob(const v1::Job& job, bool json);

// Calls `show` with the job as it is now ("jobs/ID") and at each change; returns it as it ended.
// NotFound; what the connection's error was, once several tries in a row broke at once without
// news.
absl::StatusOr<v1::Job> FollowJob(const Remote& remote, const std::string& name,
                                  const std::function<void(const v1::Job&)>& show);

// The same, shown as `train watch` does: with `json` one object a change; otherwise the job at the
// end, and until then, on a terminal, one line on stderr that is rewritten. Whoever interrupts it
// is told that the job goes on. The job's outcome.
absl::Status WatchJob(const Remote& remote, const std::string& name, bool json);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_TRAIN_WATCH_H_
