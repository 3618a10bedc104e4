#include "client/device/grpc/server_call.h"

#include <openssl/rand.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/strings/cord.h"
#include "absl/time/clock.h"
#include "client/device/grpc/proxy.h"
#include "client/device/grpc/server_address.h"
#include "common/base/printable.h"
#include "common/base/remote_error.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr char kRequestId[] = "x-request-id";

// Waits on the channel. A channel that lost its server connects again only while somebody waits on
// it; calls do not wait: they meet its last error and return at once.
class ChannelClock final : public RetryClock {
 public:
  explicit ChannelClock(grpc::Channel& channel) : channel_(channel) {}

  absl::Time Now() override { return absl::Now(); }
  void Sleep(absl::Duration duration) override {
    const absl::Time until = absl::Now() + duration;
    channel_.WaitForConnected(absl::ToChronoTime(until));
    absl::SleepFor(until - absl::Now());  // connected early or not: the jitter is kept
  }

 private:
  grpc::Channel& channel_;
};

// Uniform in [0, 1]; 1 if OpenSSL fails, which only costs the jitter.
double UnitInterval() {
  uint32_t word = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&word), sizeof word) != 1) return 1;
  return static_cast<double>(word) / UINT32_MAX;
}

absl::Duration Backoff(const RetryOptions& retry, int tries) {
  absl::Duration ceiling = retry.first_backoff;
  for (int i = 1; i < tries && ceiling < retry.max_backoff; ++i) ceiling *= 2;
  return std::min(ceiling, retry.max_backoff) * UnitInterval();
}

// How long the server asked to wait, in addition to the jitter. Empty if it wants no further try; a
// value that is no number means the same, as in gRPC's own retries. A busy server names a wait, so
// ResourceExhausted without one is a limit that stays.
std::optional<absl::Duration> Pushback(const Status& status) {
  const std::optional<int64_t> asked = status.retry_after_milliseconds();
  if (!asked.has_value()) {
    if (status.code() == StatusCode::kResourceExhausted) return std::nullopt;
    return absl::ZeroDuration();
  }
  return *asked < 0 ? std::nullopt : std::optional(absl::Milliseconds(*asked));
}

void KeepPushback(const grpc::ClientContext& context, Status& status) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(kRetryPushback);
  if (status.ok() || found == metadata.end()) return;
  int64_t milliseconds = -1;
  const bool is_number =
      SimpleAtoi(std::string_view(found->second.data(), found->second.size()), &milliseconds);
  status.set_retry_after_milliseconds(is_number ? milliseconds : -1);
}

bool IsTransient(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded ||
         code == StatusCode::kResourceExhausted || code == StatusCode::kAborted;
}

Status WithTries(const Status& status, int tries, absl::Duration passed) {
  if (tries == 1) return status;
  return Status(status.code(),
                StrCat(status.message(), " (tried ", tries, " times in ",
                       absl::FormatDuration(absl::Trunc(passed, absl::Milliseconds(1))), ")"));
}

// Adds the id that this call has in the curator's log, if anybody answered. gRPC has metadata of a
// call only once it has begun.
Status WithRequestId(const Status& status, const grpc::ClientContext& context) {
  if (status.ok()) return status;
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto id = metadata.find(kRequestId);
  if (id == metadata.end()) return status;
  return Status(status.code(),
                StrCat(status.message(), " (request id ",
                       SanitizeRemoteText({id->second.data(), id->second.size()}), ")"));
}

// Nobody here cancels a unary call, so the server did: it took longer than the server allows, or
// the server is stopping. Either is worth another try.
Status EndedByServer(const Status& status, const std::string& server) {
  if (!IsCancelled(status)) return status;
  return DeadlineExceededError(
      StrCat(server,
             " ended the call before it was answered: it took longer than the server "
             "allows, or the server is stopping (",
             status.message(), ")"));
}

// The proxy between here and `server`, an address or a text for people.
std::optional<Proxy> ProxyBefore(const std::string& server) {
  const StatusOr<ServerAddress> address = ParseServerAddress(server);
  return address.ok() ? ProxyFor(*address) : std::nullopt;
}

// "server", and the proxy through which it is asked for.
std::string Asked(const std::string& server) {
  const std::optional<Proxy> proxy = ProxyBefore(server);
  return proxy.has_value() ? StrCat(server, " through ", proxy->Shown()) : server;
}

std::string ConnectionAdvice(const std::string& server) {
  const std::optional<Proxy> proxy = ProxyBefore(server);
  if (!proxy.has_value()) return "check the address and that coppiced runs there";
  return StrCat("check the address, and ", ProxyAdvice(*proxy, *ParseServerAddress(server)));
}

// A server that asks for client certificates ends connections without one in this way, too: gRPC's
// sends no alert.
bool WasEnded(std::string_view detail) {
  return StrContains(detail, "Socket closed") || StrContains(detail, "reset by peer");
}

bool IsAboutTls(std::string_view detail) {
  const std::string text = AsciiStrToLower(detail);
  return StrContains(text, "ssl") || StrContains(text, "handshake") ||
         StrContains(text, "peer name") || StrContains(text, "certificate");
}

}  // namespace

bool IsRetryable(const Status& status) {
  return IsTransient(status.code()) && Pushback(status).has_value();
}

absl::Duration AskedToWait(const Status& status) {
  return Pushback(status).value_or(absl::ZeroDuration());
}

Status CallWithRetry(const RetryOptions& retry, RetryClock& clock,
                     absl::FunctionRef<Status(absl::Time deadline)> attempt) {
  const absl::Time start = clock.Now();
  const absl::Time give_up = start + retry.give_up_after;
  for (int tries = 1;; ++tries) {
    const absl::Time now = clock.Now();
    const absl::Time deadline = now + retry.deadline;
    // The first try always gets its whole deadline: without retries there is no other limit.
    Status status = attempt(tries == 1 ? deadline : std::min(deadline, give_up));
    if (status.ok() || !IsTransient(status.code())) return status;
    if (!IsRetryable(status)) return WithTries(status, tries, clock.Now() - start);
    const absl::Duration wait = AskedToWait(status) + Backoff(retry, tries);
    if (clock.Now() + wait >= give_up) return WithTries(status, tries, clock.Now() - start);
    clock.Sleep(wait);
  }
}

Status FromGrpcStatus(const grpc::Status& status, const std::string& server) {
  if (status.ok()) return OkStatus();
  const auto code = static_cast<StatusCode>(status.error_code());
  const std::string detail = SanitizeRemoteText(status.error_message());
  if (code == StatusCode::kDeadlineExceeded) {
    return Status(code, StrCat(Asked(server), " ", kNotInTime, ": ", detail));
  }
  const bool cannot_connect =
      StrContains(detail, "connect") || StrContains(detail, "DNS") || IsAboutTls(detail);
  if (code != StatusCode::kUnavailable || !cannot_connect) return Status(code, detail);
  if (IsAboutTls(detail)) {
    return Status(code,
                  StrCat("no TLS connection to ", Asked(server), ": ", detail,
                         "; check that the CA certificate is the one that signed the server's, "
                         "that neither has expired, and that the server speaks TLS"));
  }
  if (WasEnded(detail)) {
    return Status(code, StrCat(Asked(server), " ends the connection before it answers: ", detail,
                               "; if it asks for client certificates give one and its key, and "
                               "otherwise ",
                               ConnectionAdvice(server)));
  }
  return Status(code, StrCat("nobody answers at ", Asked(server), ": ", detail, "; ",
                             ConnectionAdvice(server)));
}

Status CallServer(grpc::Channel& channel, const std::string& server, const RetryOptions& retry,
                  absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) {
  ChannelClock clock(channel);
  bool answered = false;  // by the curator, at the last try
  const Status ended = CallWithRetry(retry, clock, [&](absl::Time deadline) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    Status status =
        WithRequestId(EndedByServer(FromGrpcStatus(call(context), server), server), context);
    KeepPushback(context, status);
    answered = context.GetServerTrailingMetadata().count(kRequestId) > 0;
    return status;
  });
  if (!IsUnavailable(ended) || answered || !retry.diagnose) return ended;
  const Status why = retry.diagnose();
  return why.ok() ? ended : why;
}

StatusOr<std::string> RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), static_cast<int>(bytes)) != 1) {
    return UnavailableError("the system random source failed");
  }
  return BytesToHexString(random);
}

}  // namespace coppice
