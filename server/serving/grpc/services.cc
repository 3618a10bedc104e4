#include "server/serving/grpc/services.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <map>
#include <string>
#include <utility>

namespace coppice::rpc {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::RpcMethod;

// The equivalent of protoc's generated service for handlers of any type: its methods, each with a
// handler of bytes.
class Services::Service final : public grpc::Service {
 public:
  Service(const service::Lanes& lanes, const CallerFinder& find_caller,
          const AnswerCheck& may_answer)
      : lanes_(lanes), find_caller_(find_caller), may_answer_(may_answer) {}

  void Add(const service::RegisteredMethod& method) {
    const google::protobuf::MethodDescriptor& descriptor = *method.descriptor;
    if (descriptor.client_streaming() && descriptor.server_streaming()) {
      AddHandler(method, RpcMethod::BIDI_STREAMING, MakeBidiHandler(method));
    } else if (descriptor.client_streaming()) {
      AddHandler(method, RpcMethod::CLIENT_STREAMING, MakeClientStreamHandler(method));
    } else if (descriptor.server_streaming()) {
      AddHandler(method, RpcMethod::SERVER_STREAMING, MakeServerStreamHandler(method));
    } else {
      AddHandler(method, RpcMethod::NORMAL_RPC, MakeUnaryHandler(method));
    }
  }

 private:
  using MethodHandler = grpc::internal::MethodHandler;

  void AddHandler(const service::RegisteredMethod& method, RpcMethod::RpcType type,
                  MethodHandler* handler) {
    AddMethod(new grpc::internal::RpcServiceMethod(method.path.c_str(), type, nullptr));
    MarkMethodRawCallback(count_++, handler);
  }

  Route RouteOf(const service::RegisteredMethod& method) const {
    return {.method = method,
            .lane = lanes_.Of(method.path),
            .intake = lanes_.intake,
            .may_answer = may_answer_};
  }

  MethodHandler* MakeUnaryHandler(const service::RegisteredMethod& method) {
    return new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
        [this, route = RouteOf(method)](CallbackServerContext* context, const ByteBuffer* request,
                                        ByteBuffer* response) {
          return AnswerUnaryCall(route, find_caller_(*context, route.method.path), *context,
                                 *request, *response);
        });
  }
  MethodHandler* MakeServerStreamHandler(const service::RegisteredMethod& method) {
    return new grpc::internal::CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>(
        [this, route = RouteOf(method)](CallbackServerContext* context, const ByteBuffer* request) {
          return StartServerStream(route, find_caller_(*context, route.method.path), *context,
                                   *request);
        });
  }
  MethodHandler* MakeClientStreamHandler(const service::RegisteredMethod& method) {
    return new grpc::internal::CallbackClientStreamingHandler<ByteBuffer, ByteBuffer>(
        [this, route = RouteOf(method)](CallbackServerContext* context, ByteBuffer* response) {
          return StartClientStream(route, find_caller_(*context, route.method.path), *context,
                                   *response);
        });
  }
  MethodHandler* MakeBidiHandler(const service::RegisteredMethod& method) {
    return new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
        [this, route = RouteOf(method)](CallbackServerContext* context) {
          return StartBidiStream(route, find_caller_(*context, route.method.path), *context);
        });
  }

  const service::Lanes& lanes_;
  const CallerFinder& find_caller_;
  const AnswerCheck& may_answer_;
  int count_ = 0;
};

Services::Services(const service::HandlerRegistry& registry, const service::Lanes& lanes,
                   CallerFinder find_caller, AnswerCheck may_answer)
    : lanes_(lanes), find_caller_(std::move(find_caller)), may_answer_(std::move(may_answer)) {
  std::map<std::string, Service*> by_name;
  for (const service::RegisteredMethod& method : registry.methods()) {
    Service*& service = by_name[method.descriptor->service()->full_name()];
    if (service == nullptr) {
      services_.push_back(std::make_unique<Service>(lanes_, find_caller_, may_answer_));
      service = services_.back().get();
    }
    service->Add(method);
  }
  std::vector<std::string> names = {"grpc.health.v1.Health"};
  for (const auto& [name, service] : by_name) names.push_back(name);
  reflection_ = std::make_unique<ReflectionService>(std::move(names));
}

Services::~Services() = default;

void Services::RegisterWith(grpc::ServerBuilder& builder) {
  for (const std::unique_ptr<Service>& service : services_) builder.RegisterService(service.get());
  builder.RegisterService(reflection_.get());
}

}  // namespace coppice::rpc
