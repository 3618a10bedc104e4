// SIGTERM, SIGINT and SIGHUP as something to wait for. No handler runs, so nothing must be
// async-signal-safe.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_SIGNALS_H_
#define COPPICE_SERVER_DAEMON_OPERATION_SIGNALS_H_

#include <csignal>
#include <string>

namespace coppice::daemon {

class StopSignals {
 public:
  // Holds them back, in this thread and in those that it starts from now on: make it first.
  // A broken pipe becomes an error of the write that met it.
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }

  // Waits for the next of them and returns its name. After SIGTERM or SIGINT a second one ends the
  // process at once, for whoever does not want to wait for the orderly end; SIGHUP is then ignored.
  std::string Wait() const {
    int signal = 0;
    while (sigwait(&signals_, &signal) != 0) {
    }
    if (signal == SIGHUP) return "SIGHUP";
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    return signal == SIGTERM ? "SIGTERM" : "SIGINT";
  }

 private:
  sigset_t signals_{};
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_SIGNALS_H_
