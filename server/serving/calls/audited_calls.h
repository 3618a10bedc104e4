// Records callers' changes in the audit log, in one place for all handlers.

#ifndef COPPICE_SERVER_SERVING_CALLS_AUDITED_CALLS_H_
#define COPPICE_SERVER_SERVING_CALLS_AUDITED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/serving/access/caller.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/resource_guard.h"
#include "server/store/audit_log/audit_log.h"

namespace coppice::service {

// A call that changes something, according to the method table, is noted before its handler runs
// and recorded when the handler has ended, with its status code. Not recorded are calls of devices,
// which change only counts, reads, and calls that found all as they asked and whose handler says so
// (unchanged.h). A call whose duration is private is recorded when its day is
// over. Where the number of successful calls is private (one per block of rows), a name's first
// call of a day on a resource stands for the others.
//
// Guarantee  A handler runs only if its call, or one that stands for it, is noted on disk. Whatever
//            a caller sends, an entry has only the names of resources. At most kMaxFailures failed
//            calls of a name that changed nothing are recorded a day; then an entry says so.
//
// Errors     Those of AuditLog::Begin(), as the call's.
// Threads    safe to share. `log` must outlive it.
class CallAuditor {
 public:
  static constexpr uint32_t kMaxFailures = 1000;
  static constexpr size_t kMaxStoodFor = 10'000;  // names and resources a day; cleared if full

  CallAuditor(audit::AuditLog& log, std::function<int64_t()> clock)
      : log_(log), clock_(std::move(clock)) {}

  // Wraps the handler of a method that changes something. `guard` and `method` must outlive it.
  WholeHandler Wrap(const access::Method& method, WholeHandler handler);
  StreamStarter Wrap(const ResourceGuard& guard, const access::Method& method,
                     StreamStarter handler);

  // Records a call that was not let through to its handler.
  void EnterRefusal(const Caller& caller, const access::Method& method, const AnyMessage& request,
                    const Status& refusal);
  // The same if nothing of the call was read. `name` is the policy entry's. Writes nothing itself,
  // so that it may be called on a transport's own thread: WriteLate() does, or the log's next
  // write.
  void EnterRefusalLater(std::string_view name, const access::Method& method,
                         const Status& refusal);
  void WriteLate() { log_.WriteLate().IgnoreError(); }  // the next write enters it instead

 private:
  friend class AuditedStream;

  // The names of a call's resources, from its request or response.
  struct Names {
    std::string resource{};
    std::string related{};
  };
  static Names NamesIn(const access::Method& method, const AnyMessage& request);
  // Names that the curator chose.
  static Names NamesMade(const access::Method& method, const AnyMessage& response);

  static audit::AuditEvent EventOf(const Caller& caller, const access::Method& method, Names names);
  void End(uint64_t call, const audit::AuditEvent& event, const Status& status, Names made);
  void Enter(audit::AuditEvent event, const Status& status);
  // Whether an earlier call's entry stands for this one today; the second notes that one does.
  bool IsStoodFor(const audit::AuditEvent& event);
  void StandsForToday(const audit::AuditEvent& event);
  // Starts a new day if the date has changed.
  void TurnDay() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a failure of this name, and returns whether today records it. When the limit is reached,
  // the log's next write enters that.
  bool CountFailure(const std::string& name);

  audit::AuditLog& log_;
  const std::function<int64_t()> clock_;
  Mutex mutex_;
  std::string day_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint32_t> failures_ ABSL_GUARDED_BY(mutex_);  // today's, by name
  std::set<std::string> entered_ ABSL_GUARDED_BY(mutex_);  // today's entries that stand for others
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_AUDITED_CALLS_H_
