#include "server/relay/dealing/curator_calls.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "client/device/grpc/server_call.h"
#include "common/base/mutex.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/terms/sha256.h"
#include "coppice/v1/batch.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"

namespace coppice::relay {
namespace {

// Hashes the files' contents. An unreadable file counts as empty: connecting reports the error.
Sha256Digest HashOfFiles(const ConnectOptions& connect) {
  std::string hashes;
  for (const std::string* path :
       {&connect.ca_file, &connect.cert_file, &connect.key_file, &connect.token_file}) {
    const StatusOr<std::string> bytes = path->empty() ? std::string() : ReadFile(*path);
    const Sha256Digest hash = Sha256({bytes.ok() ? *bytes : ""});
    hashes.append(hash.begin(), hash.end());
  }
  return Sha256({hashes});
}

// Kept short, because nothing can interrupt this wait.
constexpr absl::Duration kConnectWithin = absl::Seconds(2);

class GrpcCuratorCalls final : public CuratorCalls {
 public:
  GrpcCuratorCalls(const ConnectOptions& connect, absl::Duration deadline)
      : connect_(connect), once_{.deadline = deadline, .give_up_after = absl::ZeroDuration()} {}

  Status Connect() {
    MutexLock lock(mutex_);
    return ConnectIfChanged();
  }

  StatusOr<v1::GetOfferResponse> GetOffer(const v1::GetOfferRequest& request) override {
    v1::GetOfferResponse response;
    COPPICE_RETURN_IF_ERROR(Call([&](const auto& channel, auto& context) {
      return v1::StudyService::NewStub(channel)->GetOffer(&context, request, &response);
    }));
    return response;
  }

  StatusOr<v1::DeliverBatchResponse> DeliverBatch(const v1::DeliverBatchRequest& request) override {
    v1::DeliverBatchResponse response;
    COPPICE_RETURN_IF_ERROR(Call([&](const auto& channel, auto& context) {
      return v1::SealedReportService::NewStub(channel)->DeliverBatch(&context, request, &response);
    }));
    return response;
  }

  void Cancel() override {
    MutexLock lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : in_progress_) context->TryCancel();
  }

 private:
  using OneCall =
      absl::FunctionRef<grpc::Status(const std::shared_ptr<grpc::Channel>&, grpc::ClientContext&)>;

  Status ConnectIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Sha256Digest files = HashOfFiles(connect_);
    if (channel_ != nullptr && files == files_) return OkStatus();
    COPPICE_ASSIGN_OR_RETURN(channel_, coppice::Connect(connect_));
    files_ = files;
    return OkStatus();
  }

  StatusOr<std::shared_ptr<grpc::Channel>> Channel() {
    MutexLock lock(mutex_);
    COPPICE_RETURN_IF_ERROR(ConnectIfChanged());
    return channel_;
  }

  // Returns false if all calls are cancelled.
  bool Begin(grpc::ClientContext& context) {
    MutexLock lock(mutex_);
    if (!cancelled_) in_progress_.insert(&context);
    return !cancelled_;
  }
  void End(grpc::ClientContext& context) {
    MutexLock lock(mutex_);
    in_progress_.erase(&context);
  }

  Status Call(OneCall call) {
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Channel());
    // A channel that lost its server reconnects only while somebody waits on it.
    channel->WaitForConnected(absl::ToChronoTime(absl::Now() + kConnectWithin));
    return CallServer(*channel, connect_.server, once_, [&](grpc::ClientContext& context) {
      if (!Begin(context)) {
        return grpc::Status(grpc::StatusCode::CANCELLED, "the relay is stopping");
      }
      const grpc::Status status = call(channel, context);
      End(context);
      return status;
    });
  }

  const ConnectOptions connect_;
  const RetryOptions once_;

  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> in_progress_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  Sha256Digest files_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace

StatusOr<std::unique_ptr<CuratorCalls>> MakeCuratorCalls(const ConnectOptions& connect,
                                                         absl::Duration deadline) {
  auto calls = std::make_unique<GrpcCuratorCalls>(connect, deadline);
  COPPICE_RETURN_IF_ERROR(calls->Connect());
  return calls;
}

}  // namespace coppice::relay
