#include "server/daemon/transport/calls.h"

#include <grpcpp/support/status.h>

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

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> ObserveCalls(
    const calls::CallObservers& observers) {
  return std::make_unique<ObserverFactory>(observers);
}

}  // namespace coppice::daemon
