// What the daemon reads again while it runs: one part after the other, each by itself, so that a
// bad file leaves its part as it was and the others are read.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_RELOAD_H_
#define COPPICE_SERVER_DAEMON_OPERATION_RELOAD_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/daemon/config/log.h"

namespace coppice::daemon {

class Reloads {
 public:
  // `reload` changes nothing if it fails; its error names the file and what to do.
  void Add(std::string part, std::function<absl::Status()> reload) {
    parts_.emplace_back(std::move(part), std::move(reload));
  }

  // A line for each part: event "reloaded", or "kept" with the reason.
  void Run(const Log& log) const {
    for (const auto& [part, reload] : parts_) {
      const absl::Status status = reload();
      if (status.ok()) {
        log.Info("reloaded", {{"part", part}});
      } else {
        log.Error("kept", {{"part", part}, {"reason", std::string(status.message())}});
      }
    }
  }

 private:
  std::vector<std::pair<std::string, std::function<absl::Status()>>> parts_;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_RELOAD_H_
