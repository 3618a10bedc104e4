#include "server/daemon/transport/calls.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::daemon {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

class CallInterceptor final : public grpc::experimental::Interceptor {
 public:
  // `info` must outlive this, and its method must outlive the server.
  CallInterceptor(const calls::CallObservers& observers, const ServerRpcInfo& info)
      : record_(observers, StripPrefix(info.method(), "/"),
                info.type() != ServerRpcInfo::Type::UNARY) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* call) override {
    if (call->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      const auto& metadata = *call->GetRecvInitialMetadata();
      const auto found = metadata.find(calls::kRequestIdKey);
      if (found != metadata.end()) record_.TakeId({found->second.data(), found->second.size()});
    }
    if (call->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      call->GetSendTrailingMetadata()->emplace(calls::kRequestIdKey, record_.id());
      record_.End(static_cast<StatusCode>(call->GetSendStatus().error_code()));
    }
    call->Proceed();
  }

 private:
  calls::CallRecord record_;
};

class LineWriter final : public calls::CallLog {
 public:
  explicit LineWriter(const Log& log) : log_(log) {}

  bool Writes(calls::CallWeight weight) const override { return log_.Writes(LevelOf(weight)); }
  void Write(calls::CallWeight weight, const calls::EndedCall& call) const override {
    const std::string method(call.method), code(call.code), id(call.request_id);
    if (!call.milliseconds.has_value()) {
      log_.Write(LevelOf(weight), "call", {{"method", method}, {"code", code}, {"request_id", id}});
      return;
    }
    log_.Write(LevelOf(weight), "call",
               {{"method", method},
                {"code", code},
                {"milliseconds", absl::StrFormat("%.3f", *call.milliseconds)},
                {"request_id", id}});
  }

 private:
  static LogLevel LevelOf(calls::CallWeight weight) {
    switch (weight) {
      case calls::CallWeight::kRoutine:
        return LogLevel::kDebug;
      case calls::CallWeight::kNotable:
        return LogLevel::kInfo;
      case calls::CallWeight::kFault:
        break;
    }
    return LogLevel::kWarning;
  }

  const Log& log_;
};

class ObserverFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ObserverFactory(const calls::CallObservers& observers) : observers_(observers) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new CallInterceptor(observers_, *info);
  }

 private:
  const calls::CallObservers observers_;
};

}  // namespace

std::unique_ptr<calls::CallLog> MakeCallLog(const Log& log) {
  return std::make_unique<LineWriter>(log);
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> ObserveCalls(
    const calls::CallObservers& observers) {
  return std::make_unique<ObserverFactory>(observers);
}

}  // namespace coppice::daemon
