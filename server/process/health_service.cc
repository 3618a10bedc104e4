#include "server/process/health_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "common/wire/fields.h"
#include "server/process/grpc_status.h"
#include "server/process/request_bytes.h"

namespace coppice {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::RpcMethod;

// The messages of health.proto.
struct HealthRequestMessage {
  std::string service{};
};
template <typename Fields>
void ListFields(Fields& fields, HealthRequestMessage& request) {
  fields.Of("grpc.health.v1.HealthCheckRequest");
  fields.Text(1, "service", request.service);
}

struct HealthResponseMessage {
  int32_t status = 0;
};
template <typename Fields>
void ListFields(Fields& fields, HealthResponseMessage& response) {
  fields.Of("grpc.health.v1.HealthCheckResponse");
  fields.Number(1, "status", response.status);
}

namespace {

// HealthCheckResponse.ServingStatus.
enum class ServingStatus : uint8_t { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

ByteBuffer HealthAnswer(ServingStatus status) {
  return ToByteBuffer(WriteFields(HealthResponseMessage{.status = static_cast<int32_t>(status)}));
}

// The name of the service that the request asks for.
StatusOr<std::string> ReadServiceName(ByteBuffer request, size_t most_bytes) {
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, TakeRequestBytes(request, most_bytes));
  StatusOr<HealthRequestMessage> read = ReadFields<HealthRequestMessage>(bytes);
  if (!read.ok()) return InField("the request", read.status());
  return std::move(read->service);
}

}  // namespace

// Shared with the watchers, which gRPC may end after the service.
class HealthService::State {
 public:
  explicit State(size_t most_request_bytes) : most_request_bytes_(most_request_bytes) {}

  size_t most_request_bytes() const { return most_request_bytes_; }
  Status Check(const ByteBuffer& request, ByteBuffer& response) const;
  void Change(bool ready, bool lives);

  // A watch is told of changes until Remove().
  void Add(Watch& watch);
  void Remove(Watch& watch);
  // After a write of the watch has ended.
  void TellAgain(Watch& watch);
  // Ends the watch, unless it has ended already.
  void End(Watch& watch, const grpc::Status& status);

 private:
  ServingStatus Find(const std::string& service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!service.empty() && service != kReadyService) return ServingStatus::kServiceUnknown;
    const bool serves = lives_ && (service.empty() || ready_);
    return serves ? ServingStatus::kServing : ServingStatus::kNotServing;
  }
  void Tell(Watch& watch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_request_bytes_;
  mutable Mutex mutex_;
  bool lives_ ABSL_GUARDED_BY(mutex_) = true;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Watch*> watches_ ABSL_GUARDED_BY(mutex_);
};

// gRPC owns it; it deletes itself. The state's lock guards what it holds.
class HealthService::Watch final : public grpc::ServerWriteReactor<ByteBuffer> {
 public:
  Watch(std::shared_ptr<State> state, const ByteBuffer& request) : state_(std::move(state)) {
    StatusOr<std::string> name = ReadServiceName(request, state_->most_request_bytes());
    if (name.ok()) {
      service_ = *std::move(name);
      state_->Add(*this);
    } else {
      state_->End(*this, ToGrpcStatus(name.status()));
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return OnCancel();
    state_->TellAgain(*this);
  }
  void OnCancel() override { state_->End(*this, grpc::Status::CANCELLED); }
  void OnDone() override {
    state_->Remove(*this);
    delete this;
  }

 private:
  friend class State;

  const std::shared_ptr<State> state_;
  std::string service_;
  ByteBuffer answer_;
  ServingStatus told_{};
  bool writing_ = false;
  bool ended_ = false;
};

Status HealthService::State::Check(const ByteBuffer& request, ByteBuffer& response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string name, ReadServiceName(request, most_request_bytes_));
  const MutexLock lock(mutex_);
  const ServingStatus status = Find(name);
  if (status == ServingStatus::kServiceUnknown) {
    return NotFoundError("there is no such service: ask for \"\" or \"ready\"");
  }
  response = HealthAnswer(status);
  return OkStatus();
}

void HealthService::State::Change(bool ready, bool lives) {
  const MutexLock lock(mutex_);
  lives_ = lives_ && lives;
  ready_ = ready && lives_;
  for (Watch* const watch : watches_) Tell(*watch);
}

void HealthService::State::Add(Watch& watch) {
  const MutexLock lock(mutex_);
  watches_.insert(&watch);
  Tell(watch);
}

void HealthService::State::Remove(Watch& watch) {
  const MutexLock lock(mutex_);
  watches_.erase(&watch);
}

void HealthService::State::TellAgain(Watch& watch) {
  const MutexLock lock(mutex_);
  watch.writing_ = false;
  Tell(watch);
}

void HealthService::State::End(Watch& watch, const grpc::Status& status) {
  const MutexLock lock(mutex_);
  if (std::exchange(watch.ended_, true)) return;
  watch.Finish(status);
}

void HealthService::State::Tell(Watch& watch) {
  const ServingStatus status = Find(watch.service_);
  if (watch.writing_ || watch.ended_ || watch.told_ == status) return;
  watch.told_ = status;
  watch.writing_ = true;
  watch.answer_ = HealthAnswer(status);
  watch.StartWrite(&watch.answer_);
}

HealthService::HealthService(size_t most_request_bytes)
    : state_(std::make_shared<State>(most_request_bytes)) {
  AddMethod(new grpc::internal::RpcServiceMethod(kHealthCheckPath, RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodRawCallback(0, new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
                               [state = state_](CallbackServerContext* context,
                                                const ByteBuffer* request, ByteBuffer* response) {
                                 grpc::ServerUnaryReactor* const reactor =
                                     context->DefaultReactor();
                                 reactor->Finish(ToGrpcStatus(state->Check(*request, *response)));
                                 return reactor;
                               }));
  AddMethod(
      new grpc::internal::RpcServiceMethod(kHealthWatchPath, RpcMethod::SERVER_STREAMING, nullptr));
  MarkMethodRawCallback(1,
                        new grpc::internal::CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>(
                            [state = state_](CallbackServerContext*, const ByteBuffer* request) {
                              return new Watch(state, *request);
                            }));
}

HealthService::~HealthService() = default;

void HealthService::SetReady(bool ready) { state_->Change(ready, /*lives=*/true); }
void HealthService::Stop() { state_->Change(/*ready=*/false, /*lives=*/false); }

}  // namespace coppice
