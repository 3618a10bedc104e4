// Every call seen once, whatever carries it: it gets an id, a line in the log, and its place in the
// metrics.
//
// The id is the client's x-request-id if that is 8 to 64 characters of A-Z a-z 0-9 -, else a random
// one; it is sent back with the end of the call. The line is written when the call ends. Calls are
// those of methods that there are. One
// refused by the access policy does not come this far: it is counted by the AccessGate, and not
// logged.

#ifndef COPPICE_SERVER_CALLS_CALL_RECORD_H_
#define COPPICE_SERVER_CALLS_CALL_RECORD_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/metrics/call_metrics.h"

namespace coppice::calls {

inline constexpr char kRequestIdKey[] = "x-request-id";

bool IsRequestId(absl::string_view text);
// 32 random digits; not a secret.
std::string MakeRequestId();

// How much an ended call wants to be seen: one that answered well and changed nothing but counts
// (reading, reports, predictions); any other; and one that ended by our fault (INTERNAL, DATA_LOSS,
// UNKNOWN).
enum class CallWeight : uint8_t { kRoutine, kNotable, kFault };

// `method` without the slash in front.
CallWeight WeightOf(absl::string_view method, absl::StatusCode code);

// gRPC's: "NOT_FOUND". Of a number that is no code, "UNKNOWN".
std::string CodeName(absl::StatusCode code);

struct EndedCall {
  absl::string_view method;
  absl::string_view code;              // gRPC's name
  std::optional<double> milliseconds;  // none: private
  absl::string_view request_id;
};

// Where lines about calls go.
//
// Threads    safe to share.
class CallLog {
 public:
  virtual ~CallLog() = default;
  virtual bool Writes(CallWeight weight) const = 0;
  virtual void Write(CallWeight weight, const EndedCall& call) const = 0;
};

// Both must outlive the transports.
struct CallObservers {
  const CallLog* log = nullptr;             // null: calls are neither logged nor counted
  metrics::CallMetrics* metrics = nullptr;  // null: calls are not counted
};

// Guarantee  no line has a message, an address, a certificate, a token, or a duration that is
//            private, and a WatchJob that ends with its job, or is cancelled, has none: see
//            server/access/method_table.h.
// Threads    for one at a time.
class CallRecord {
 public:
  // Begins a call of `method`, which has no slash in front and must outlive this. `observers` has a
  // log.
  CallRecord(const CallObservers& observers, absl::string_view method, bool is_stream);
  ~CallRecord();
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // What the client sent as x-request-id; it is not taken unless it is one.
  void TakeId(absl::string_view shown);
  // One is made if none was taken.
  const std::string& id();

  // Once.
  void End(absl::StatusCode code);

 private:
  using Clock = std::chrono::steady_clock;

  const CallLog& log_;
  metrics::CallMetrics* const metrics_;
  const absl::string_view method_;
  const bool is_stream_;
  const Clock::time_point begun_ = Clock::now();
  std::string id_;
};

}  // namespace coppice::calls

#endif  // COPPICE_SERVER_CALLS_CALL_RECORD_H_
