// Follows a job until it has ended, across broken connections.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_TRAIN_WATCH_H_
#define COPPICE_CLIENT_CLI_CENTRAL_TRAIN_WATCH_H_

#include <functional>
#include <string>

#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "coppice/v1/training.pb.h"

namespace coppice::cli {

bool HasEnded(const v1::Job& job);
// OK if the job is done; otherwise Aborted (failed) or Cancelled, with its reason.
Status OutcomeOf(const v1::Job& job);

// Prints to stdout, as JSON or for people, who do not see empty members.
void PrintJob(const v1::Job& job, bool json);

// Calls `show` with the current state of the job ("jobs/ID") and at each change; returns its final
// state. Errors: NotFound; the connection's error, once several tries in a row broke at once
// without news.
StatusOr<v1::Job> FollowJob(const Remote& remote, const std::string& name,
                            const std::function<void(const v1::Job&)>& show);

// As FollowJob(), shown as `train watch` does: with `json` one object per change; otherwise the
// final job, and until then, on a terminal, one line on stderr that is rewritten. An interrupt says
// that the job goes on. Returns the job's outcome.
Status WatchJob(const Remote& remote, const std::string& name, bool json);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_TRAIN_WATCH_H_
