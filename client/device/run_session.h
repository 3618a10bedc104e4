// Carries a session to its end, for programs that keep their journal in a file and may block.

#ifndef COPPICE_CLIENT_DEVICE_RUN_SESSION_H_
#define COPPICE_CLIENT_DEVICE_RUN_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "client/device/journal_store.h"
#include "client/device/session.h"
#include "common/base/status.h"
#include "common/schema/schema.h"

namespace coppice {

// Moves bytes to a curator or a relay, and decides nothing.
//
// Errors     Carry(): those of the transport, after all its tries.
// Threads    safe to share.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual StatusOr<std::string> Carry(const DeviceCall& call) = 0;
};

// Time, as a seam.
class DeviceClock {
 public:
  static DeviceClock& System();
  virtual ~DeviceClock() = default;
  virtual DeviceTime Now() = 0;
  // Returns OK when that much time has passed since boot. An error ends the delivering before its
  // time, so that nothing is sent.
  virtual Status WaitUntil(int64_t milliseconds_since_boot) = 0;
};

// Writes what the session wants written; returns the first step that needs somebody else. An error
// means that this process may not use the journal, which must be the session's.
StatusOr<SessionStep> NextStep(DeviceSession& session, JournalStore& journal,
                               const DeviceTime& now);

struct SessionRun {
  JournalStore& journal;  // the session's
  Carrier& carrier;
  DeviceClock& clock = DeviceClock::System();
  size_t threads = 1;  // calls that are handed out together are carried by so many
};

// `read_row` returns the row of the plan's subject of this number. It is called when nothing can
// decline any more, without the journal's lock, and must not throw; what it leaves out is missing.
using ReadSessionRow = absl::FunctionRef<LabelledRow(size_t subject, const Terms& terms)>;

// Carries the session to its end; its outcome says what came of it. Returns an error only if this
// process may not use the journal.
Status RunSession(DeviceSession& session, const SessionRun& run, ReadSessionRow read_row);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_RUN_SESSION_H_
