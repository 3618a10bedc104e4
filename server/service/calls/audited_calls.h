// Enters into the audit log what callers change, in one place for all handlers.

#ifndef COPPICE_SERVER_SERVICE_CALLS_AUDITED_CALLS_H_
#define COPPICE_SERVER_SERVICE_CALLS_AUDITED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "server/access/method_table.h"
#include "server/audit/audit_log.h"
#include "server/owners/caller.h"
#include "server/service/calls/handler_registry.h"

namespace coppice::service {

// A call that changes something, by the method table, is noted before its handler runs and entered
// when that has ended, with the code of its status. Calls of devices change only counts, and are
// not entered; neither is what reads. A call whose duration is private waits for its day to be
// over. Of calls that end well and whose number is private, as there is one per block of rows, a
// name's first of a day on a resource stands for all.
//
// Guarantee  a handler runs only if its call, or one that stands for it, is noted on disk. Whatever
//            a caller sends, an entry names resources by their names alone. Of failed calls that
//            changed nothing, at most kMaxFailures of a name are entered a day; then an entry says
//            so.
// Errors     those of AuditLog::Begin(), as the call's.
// Threads    safe to share. `log` must outlive it.
class CallAuditor {
 public:
  static constexpr uint32_t kMaxFailures = 1000;
  static constexpr size_t kMaxStoodFor = 10'000;  // names and resources a day; then anew

  CallAuditor(audit::AuditLog& log, std::function<int64_t()> clock)
      : log_(log), clock_(std::move(clock)) {}

  // Wraps the handler of a method that changes something. `method` must outlive it.
  AnyHandler Wrap(const access::Method& method, AnyHandler handler);

  // A call that was not let through to its handler.
  void EnterRefusal(const Caller& caller, const access::Method& method, const AnyMessage& request,
                    const absl::Status& refusal);
  // The same, where nothing of the call was read. `name` is of the policy's entry.
  void EnterRefusal(absl::string_view name, const access::Method& method,
                    const absl::Status& refusal);

 private:
  friend class AuditedStream;

  // What a request or a response tells of the resources of a call.
  struct Names {
    std::string resource{};
    std::string related{};
  };
  static Names NamesIn(const access::Method& method, const AnyMessage& request);
  // Those that the curator chose.
  static Names NamesMade(const access::Method& method, const AnyMessage& response);

  static audit::AuditEvent EventOf(const Caller& caller, const access::Method& method, Names names);
  void End(uint64_t call, const audit::AuditEvent& event, const absl::Status& status, Names made);
  void Enter(audit::AuditEvent event, const absl::Status& status);
  // Whether the entry of an earlier call stands for this one today, and notes that one does.
  bool IsStoodFor(const audit::AuditEvent& event);
  void StandsForToday(const audit::AuditEvent& event);
  // Begins a new day if it is one.
  void TurnDay() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether one more failure of this name is entered today. Enters that the next ones are not.
  bool TakesFailure(const std::string& name);

  audit::AuditLog& log_;
  const std::function<int64_t()> clock_;
  Mutex mutex_;
  std::string day_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint32_t> failures_ ABSL_GUARDED_BY(mutex_);  // of this day, by name
  std::set<std::string> entered_ ABSL_GUARDED_BY(mutex_);  // of this day, what stands for others
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLS_AUDITED_CALLS_H_
