#include "server/daemon/transport/calls.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "server/access/method_table.h"

namespace coppice::daemon {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

class CallInterceptor final : public grpc::experimental::Interceptor {
 public:
  CallInterceptor(const Log& log, metrics::CallMetrics* metrics, absl::string_view method,
                  bool stream)
      : log_(log), metrics_(metrics), method_(method), stream_(stream) {
    if (metrics_ != nullptr && stream_) metrics_->StreamOpened(method_);
  }
  ~CallInterceptor() override {
    if (metrics_ != nullptr && stream_) metrics_->StreamClosed(method_);
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* call) override {
    if (call->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      TakeId(*call->GetRecvInitialMetadata());
    }
    if (call->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      if (id_.empty()) id_ = MakeRequestId();
      call->GetSendTrailingMetadata()->emplace(kRequestIdKey, id_);
      End(call->GetSendStatus().error_code());
    }
    call->Proceed();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void TakeId(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
    const auto found = metadata.find(kRequestIdKey);
    if (found == metadata.end()) return;
    const absl::string_view text(found->second.data(), found->second.size());
    if (IsRequestId(text)) id_ = std::string(text);
  }

  void End(grpc::StatusCode code) {
    const std::chrono::duration<double> passed = Clock::now() - begun_;
    const std::string result = CodeName(code);
    if (metrics_ != nullptr) metrics_->Ended(method_, result, passed.count());
    const LogLevel level = LevelOfCall(method_, code);
    if (!log_.Writes(level)) return;
    // The line's own time would be the job's.
    if (access::HasPrivateEnd(method_, result)) return;
    const std::string method(method_);
    if (access::HasPrivateDuration(method)) {
      log_.Write(level, "call", {{"method", method}, {"code", result}, {"request_id", id_}});
    } else {
      log_.Write(level, "call",
                 {{"method", method},
                  {"code", result},
                  {"milliseconds", absl::StrFormat("%.3f", passed.count() * 1000)},
                  {"request_id", id_}});
    }
  }

  const Log& log_;
  metrics::CallMetrics* const metrics_;
  const absl::string_view method_;  // gRPC's, which lives as long as the server
  const bool stream_;
  const Clock::time_point begun_ = Clock::now();
  std::string id_;
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  Factory(const Log& log, metrics::CallMetrics* metrics) : log_(log), metrics_(metrics) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new CallInterceptor(log_, metrics_, absl::StripPrefix(info->method(), "/"),
                               info->type() != ServerRpcInfo::Type::UNARY);
  }

 private:
  const Log& log_;
  metrics::CallMetrics* const metrics_;
};

class RefusalCounter final : public grpc::AuthMetadataProcessor {
 public:
  RefusalCounter(std::shared_ptr<grpc::AuthMetadataProcessor> processor,
                 metrics::CallMetrics& metrics)
      : processor_(std::move(processor)), metrics_(metrics) {}

  bool IsBlocking() const override { return processor_->IsBlocking(); }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* consumed, OutputMetadata* response) override {
    grpc::Status status = processor_->Process(metadata, context, consumed, response);
    if (!status.ok()) metrics_.Refused(MethodOf(metadata), CodeName(status.error_code()));
    return status;
  }

 private:
  static absl::string_view MethodOf(const InputMetadata& metadata) {
    const auto path = metadata.find(":path");
    if (path == metadata.end()) return "";
    return absl::StripPrefix(absl::string_view(path->second.data(), path->second.size()), "/");
  }

  const std::shared_ptr<grpc::AuthMetadataProcessor> processor_;
  metrics::CallMetrics& metrics_;
};

}  // namespace

bool IsRequestId(absl::string_view text) {
  return text.size() >= 8 && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-'; });
}

std::string MakeRequestId() {
  constexpr size_t kBytes = 16;
  // Drawn for many calls at once: a draw costs more than all else that is done here.
  thread_local std::array<unsigned char, 64 * kBytes> pool;
  thread_local size_t used = pool.size();
  if (used == pool.size()) {
    // A generator that fails gives the same ids again, which does no harm but to the log.
    RAND_bytes(pool.data(), static_cast<int>(pool.size()));
    used = 0;
  }
  const absl::string_view bytes(reinterpret_cast<const char*>(&pool[used]), kBytes);
  used += kBytes;
  return absl::BytesToHexString(bytes);
}

LogLevel LevelOfCall(absl::string_view method, grpc::StatusCode code) {
  if (code == grpc::StatusCode::INTERNAL || code == grpc::StatusCode::DATA_LOSS ||
      code == grpc::StatusCode::UNKNOWN) {
    return LogLevel::kWarning;
  }
  return code == grpc::StatusCode::OK && !access::MayChange(method) ? LogLevel::kDebug
                                                                    : LogLevel::kInfo;
}

std::string CodeName(grpc::StatusCode code) {
  const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
  return name.empty() ? "UNKNOWN" : name;
}

std::shared_ptr<grpc::AuthMetadataProcessor> CountRefusals(
    std::shared_ptr<grpc::AuthMetadataProcessor> processor, metrics::CallMetrics* metrics) {
  if (metrics == nullptr) return processor;
  return std::make_shared<RefusalCounter>(std::move(processor), *metrics);
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> ObserveCalls(
    const Log& log, metrics::CallMetrics* metrics) {
  return std::make_unique<Factory>(log, metrics);
}

}  // namespace coppice::daemon
