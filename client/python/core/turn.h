// Turns of threads at something that one at a time may use.

#ifndef COPPICE_CLIENT_PYTHON_CORE_TURN_H_
#define COPPICE_CLIENT_PYTHON_CORE_TURN_H_

#include <atomic>
#include <mutex>
#include <thread>

#include "absl/time/time.h"
#include "common/base/status.h"

namespace coppice::python {

// How long Ctrl-C may go unnoticed.
inline constexpr absl::Duration kLook = absl::Milliseconds(50);

// Guarantee  A thread waits for its turn without the interpreter, and Ctrl-C ends the wait. A
//            thread that has its turn is refused another one: it would wait for itself.
// Errors     Begin(): FailedPrecondition in a thread that has its turn, Cancelled by a signal.
// Threads    safe to share. The thread that began a turn ends it.
class Turn {
 public:
  Status Begin();
  void End();

 private:
  std::timed_mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

// What `call` returns in a turn, or the error that kept the thread from having it.
template <typename Call>
auto InTurn(Turn& turn, const Call& call) -> decltype(call()) {
  if (const Status begun = turn.Begin(); !begun.ok()) return begun;
  struct Ender {
    Turn& turn;
    ~Ender() { turn.End(); }
  } const ender{turn};
  return call();
}

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_TURN_H_
