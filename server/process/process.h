// The daemon as a process: its signals, the files that it reloads, and the file with its port.

#ifndef COPPICE_SERVER_PROCESS_PROCESS_H_
#define COPPICE_SERVER_PROCESS_PROCESS_H_

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/process/log.h"

namespace coppice {

// Waits for SIGTERM, SIGINT and SIGHUP. The only handler forwards a signal to the waiting thread,
// so nothing else must be async-signal-safe.
class StopSignals {
 public:
  // Blocks the signals in this thread and in those that it starts from now on, so construct it
  // first. Older threads of libraries do not block them; what they receive is forwarded here. A
  // broken pipe becomes an error of the write that met it.
  StopSignals() {
    waiting_thread_ = pthread_self();
    sigemptyset(&signals_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&signals_, signal);
      HandOn(signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }

  // Waits for the next signal for at most `wait`; nullopt if none came.
  std::optional<std::string> WaitFor(absl::Duration wait) const {
    const timespec timeout = absl::ToTimespec(wait);
    int signal = -1;
    do {
      signal = sigtimedwait(&signals_, nullptr, &timeout);
    } while (signal < 0 && errno == EINTR);
    if (signal < 0) return std::nullopt;
    return NameOf(signal);
  }

  // Waits for the next signal and returns its name. After SIGTERM or SIGINT a second one ends the
  // process at once, without the orderly end; SIGHUP is then ignored.
  std::string Wait() const {
    int signal = 0;
    while (sigwait(&signals_, &signal) != 0) {
    }
    return NameOf(signal);
  }

 private:
  std::string NameOf(int signal) const {
    if (signal == SIGHUP) return "SIGHUP";
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    return signal == SIGTERM ? "SIGTERM" : "SIGINT";
  }

  // Does nothing if the signal is ignored, as under nohup.
  static void HandOn(int signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = {};
    action.sa_handler = [](int caught) { pthread_kill(waiting_thread_, caught); };
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }

  static inline pthread_t waiting_thread_{};
  sigset_t signals_{};
};

// Files that the daemon reads again while it runs. Each part reloads by itself: a bad file leaves
// its own part unchanged, and the others are reloaded.
class Reloads {
 public:
  // `reload` changes nothing if it fails; its error names the file and what to do.
  void Add(std::string part, std::function<Status()> reload) {
    parts_.emplace_back(std::move(part), std::move(reload));
  }

  // Logs a line per part: event "reloaded", or "kept" with the reason.
  void Run(const Log& log) const {
    for (const auto& [part, reload] : parts_) {
      const Status status = reload();
      if (status.ok()) {
        log.Info("reloaded", {{"part", part}});
      } else {
        log.Error("kept", {{"part", part}, {"reason", std::string(status.message())}});
      }
    }
  }

 private:
  std::vector<std::pair<std::string, std::function<Status()>>> parts_;
};

// The file of a private key, and the flag that names it; an empty path means no key.
struct FlaggedKey {
  std::string_view flag;
  std::string path;
};

// Warns about each private key that everybody on the machine may read or change, and says what to
// do. The program starts all the same, since some file systems show such modes whatever they allow.
void WarnOfOpenKeyFiles(const std::vector<FlaggedKey>& keys, const Log& log);

// Tells systemd the state of the program, such as "READY=1", if it asked for it (Type=notify).
void NotifyServiceManager(std::string_view state);

// For --port-file, which tells the starter of the daemon where it listens. Replaces `path` with a
// complete file with the port, readable by everybody: a port is no secret. Never follows a link, so
// the folder may be writable by others. FailedPrecondition, naming the flag.
Status WritePortFile(const std::string& path, int port);

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_PROCESS_H_
