#include "client/device/run_session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <variant>
#include <vector>

#include "common/base/status_macros.h"

namespace coppice {
namespace {

class SystemClock final : public DeviceClock {
 public:
  DeviceTime Now() override {
    timespec since_boot{};
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    return {.unix_seconds = static_cast<int64_t>(std::time(nullptr)),
            .milliseconds_since_boot =
                int64_t{since_boot.tv_sec} * 1000 + since_boot.tv_nsec / 1'000'000};
  }
  Status WaitUntil(int64_t milliseconds_since_boot) override {
    // Sleeping stops with the machine, and the time since boot does not: look now and then.
    constexpr int64_t kLookMilliseconds = 1000;
    while (true) {
      const int64_t left = milliseconds_since_boot - Now().milliseconds_since_boot;
      if (left <= 0) return OkStatus();
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left, kLookMilliseconds)));
    }
  }
};

Status Tell(DeviceSession& session, const SessionRun& run, size_t i,
            const StatusOr<std::string>& response) {
  COPPICE_ASSIGN_OR_RETURN(const JournalStore::Held journal, run.journal.Hold());
  return response.ok() ? session.TakeResponse(i, *response, run.clock.Now())
                       : session.CallFailed(i, response.status());
}

// Carries the calls, several at once. After an error no further call begins.
Status CarryAll(DeviceSession& session, const SessionRun& run, absl::Span<const DeviceCall> calls) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::vector<Status> told(calls.size());
  const auto work = [&] {
    for (size_t i = next++; i < calls.size(); i = next++) {
      const StatusOr<std::string> response =
          failed ? StatusOr<std::string>(CancelledError("a call before this one failed"))
                 : run.carrier.Carry(calls[i]);
      if (!response.ok()) failed = true;
      told[i] = Tell(session, run, i, response);
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(run.threads, calls.size()); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (const Status& status : told) COPPICE_RETURN_IF_ERROR(status);
  return OkStatus();
}

Status Carry(DeviceSession& session, const SessionRun& run, const CarryCalls& step) {
  if (step.wait_milliseconds == 0) {
    // A copy, as a call's request may go when the session is told of it.
    return CarryAll(session, run, std::vector<DeviceCall>(step.calls.begin(), step.calls.end()));
  }
  const Status waited =
      run.clock.WaitUntil(run.clock.Now().milliseconds_since_boot + step.wait_milliseconds);
  for (size_t i = 0; !waited.ok() && i < step.calls.size(); ++i) {
    COPPICE_RETURN_IF_ERROR(Tell(session, run, i, waited));
  }
  return OkStatus();
}

}  // namespace

DeviceClock& DeviceClock::System() {
  static SystemClock* const clock = new SystemClock;
  return *clock;
}

StatusOr<SessionStep> NextStep(DeviceSession& session, JournalStore& journal,
                               const DeviceTime& now) {
  COPPICE_ASSIGN_OR_RETURN(const JournalStore::Held held, journal.Hold());
  while (true) {
    const SessionStep step = session.Next(now);
    const auto* records = std::get_if<WriteRecords>(&step);
    if (records == nullptr) return step;
    const Status written = held.Write(*records->write);
    COPPICE_RETURN_IF_ERROR(written.ok() ? session.RecordsDurable()
                                         : session.RecordsFailed(written));
  }
}

Status RunSession(DeviceSession& session, const SessionRun& run, ReadSessionRow read_row) {
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const SessionStep step,
                             NextStep(session, run.journal, run.clock.Now()));
    if (std::holds_alternative<SessionDone>(step)) return OkStatus();
    if (const auto* calls = std::get_if<CarryCalls>(&step)) {
      COPPICE_RETURN_IF_ERROR(Carry(session, run, *calls));
    } else {
      const auto& row = std::get<ReadRow>(step);
      COPPICE_RETURN_IF_ERROR(session.TakeRow(read_row(row.subject, row.terms)));
    }
  }
}

}  // namespace coppice
