// Records every call once, on any transport: it gets an id, a line in the log, and its part in the
// metrics.
//
// The id is the client's x-request-id if that has 8 to 64 characters of A-Z a-z 0-9 -, else a
// random one; it is returned when the call ends, which is also when the line is written. Only calls
// of existing methods are recorded. Calls refused by the access policy do not get here: the
// AccessGate counts them, and they are not logged.

#ifndef COPPICE_SERVER_SERVING_GATE_CALL_RECORD_H_
#define COPPICE_SERVER_SERVING_GATE_CALL_RECORD_H_

#include <chrono>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/process/log.h"
#include "server/serving/metrics/call_metrics.h"

namespace coppice::calls {

inline constexpr char kRequestIdKey[] = "x-request-id";

bool IsRequestId(std::string_view text);
// 32 random hexadecimal digits; not secret.
std::string MakeRequestId();

// The level of an ended call: debug if it succeeded and changed at most counts (reading, reports,
// predictions), warning if the daemon is to blame (INTERNAL, DATA_LOSS, UNKNOWN), info otherwise.
// `method` has no leading slash.
LogLevel LevelOf(std::string_view method, StatusCode code);

// gRPC's name, such as "NOT_FOUND"; "UNKNOWN" for a number that is no code.
std::string CodeName(StatusCode code);

// Both must outlive the transports.
struct CallObservers {
  const Log* log = nullptr;                 // null: calls are neither logged nor counted
  metrics::CallMetrics* metrics = nullptr;  // null: calls are not counted
};

// Writes one line of the log: event "call" with method, code, milliseconds and request_id.
//
// Guarantee  No line contains a message, an address, a certificate, a token, or a private duration.
//            A WatchJob that ends with its job or is cancelled has no line: see
//            server/serving/access/method_table.h.
// Threads    one at a time.
class CallRecord {
 public:
  // Begins a call of `method`, which has no leading slash and must outlive this. `observers` must
  // have a log.
  CallRecord(const CallObservers& observers, std::string_view method, bool is_stream);
  ~CallRecord();
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // Takes the client's x-request-id as the id if it is valid.
  void TakeId(std::string_view shown);
  // The id; makes a random one if none was taken.
  const std::string& id();

  // Call it once.
  void End(StatusCode code);

 private:
  using Clock = std::chrono::steady_clock;

  const Log& log_;
  metrics::CallMetrics* const metrics_;
  const std::string_view method_;
  const bool is_stream_;
  const Clock::time_point begun_ = Clock::now();
  std::string id_;
};

}  // namespace coppice::calls

#endif  // COPPICE_SERVER_SERVING_GATE_CALL_RECORD_H_
