#include "server/serving/gate/call_record.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/serving/access/method_table.h"

namespace coppice::calls {

CallRecord::CallRecord(const CallObservers& observers, std::string_view method, bool is_stream)
    : log_(*observers.log), metrics_(observers.metrics), method_(method), is_stream_(is_stream) {
  if (metrics_ != nullptr && is_stream_) metrics_->StreamOpened(method_);
}

CallRecord::~CallRecord() {
  if (metrics_ != nullptr && is_stream_) metrics_->StreamClosed(method_);
}

void CallRecord::TakeId(std::string_view shown) {
  if (IsRequestId(shown)) id_ = std::string(shown);
}

const std::string& CallRecord::id() {
  if (id_.empty()) id_ = MakeRequestId();
  return id_;
}

void CallRecord::End(StatusCode code) {
  const std::chrono::duration<double> passed = Clock::now() - begun_;
  const std::string result = CodeName(code);
  if (metrics_ != nullptr) metrics_->Ended(method_, result, passed.count());
  const LogLevel level = LevelOf(method_, code);
  if (!log_.Writes(level)) return;
  // The time of the line itself would reveal the job's.
  if (access::HasPrivateEnd(method_, result)) return;
  const std::string method(method_);
  if (access::HasPrivateDuration(method_)) {
    log_.Write(level, "call", {{"method", method}, {"code", result}, {"request_id", id()}});
    return;
  }
  log_.Write(level, "call",
             {{"method", method},
              {"code", result},
              {"milliseconds", absl::StrFormat("%.3f", passed.count() * 1000)},
              {"request_id", id()}});
}

bool IsRequestId(std::string_view text) {
  return text.size() >= 8 && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return IsAsciiAlnum(c) || c == '-'; });
}

std::string MakeRequestId() {
  constexpr size_t kBytes = 16;
  // Drawn for many calls at once, because a draw costs more than everything else here.
  thread_local std::array<unsigned char, 64 * kBytes> pool;
  thread_local size_t used = pool.size();
  if (used == pool.size()) {
    // If the generator fails, the same ids are used again, which harms only the log.
    RAND_bytes(pool.data(), static_cast<int>(pool.size()));
    used = 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(&pool[used]), kBytes);
  used += kBytes;
  return BytesToHexString(bytes);
}

LogLevel LevelOf(std::string_view method, StatusCode code) {
  if (code == StatusCode::kInternal || code == StatusCode::kDataLoss ||
      code == StatusCode::kUnknown) {
    return LogLevel::kWarning;
  }
  return code == StatusCode::kOk && !access::MayChange(method) ? LogLevel::kDebug : LogLevel::kInfo;
}

std::string CodeName(StatusCode code) {
  const std::string_view name = StatusCodeName(code);
  return std::string(name.empty() ? "UNKNOWN" : name);
}

}  // namespace coppice::calls
