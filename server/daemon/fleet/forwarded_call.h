// One call that a front forwards to the leader.

#ifndef COPPICE_SERVER_DAEMON_FLEET_FORWARDED_CALL_H_
#define COPPICE_SERVER_DAEMON_FLEET_FORWARDED_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/terms/sha256.h"
#include "server/daemon/transport/bounds.h"

namespace coppice::daemon {

class LeaderGate;

// Proves that a call comes from this process, which read it over HTTP.
inline constexpr char kHttpSecretKey[] = "coppice-http-secret";

// The value of an authorization in a form that gRPC can send: it accepts header values from clients
// that make the whole process abort when sent.
std::string SendableAuthorization(std::string value);

// Forwards one call. It reads a message after writing the previous one, so a slow reader slows the
// writer. gRPC owns it; it deletes itself when both sides are done.
//
// Threads    LeaderGate, which holds the call, calls Start() or Refuse() once. gRPC calls the
//            rest.
class ForwardedCall final : public grpc::ServerGenericBidiReactor {
 public:
  // All must outlive the server of `context`. A caller that knows the secret with this hash is
  // believed about the certificate that its client showed.
  ForwardedCall(LeaderGate& gate, CallBounds& bounds, grpc::GenericCallbackServerContext& context,
                const std::optional<Sha256Digest>& http_secret);

  // Nothing of the call may be used after either.
  void Start(std::shared_ptr<grpc::Channel> leader);
  void Refuse(const grpc::Status& status, absl::Duration retry_after);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  friend class LeaderGate;

  // The call to the leader.
  class LeaderSide final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit LeaderSide(ForwardedCall& call) : call_(call) {}

    void OnReadInitialMetadataDone(bool ok) override { call_.OnLeaderMetadata(ok); }
    void OnReadDone(bool ok) override { call_.OnAnswer(ok); }
    void OnWriteDone(bool ok) override { call_.OnRequestSent(ok); }
    void OnDone(const grpc::Status& status) override { call_.OnLeaderDone(status); }

   private:
    ForwardedCall& call_;
  };

  // The state of the requests. Until kEnded a hold keeps the leader's side from finishing.
  enum class Requests : uint8_t { kReading, kSending, kEnded };
  enum class Metadata : uint8_t { kAwaited, kNone, kReceived };

  std::optional<Sha256Digest> FindCertificate() const;
  void AddClientMetadata();
  void OnLeaderMetadata(bool ok);
  void OnAnswer(bool ok);
  void OnRequestSent(bool ok);
  void OnLeaderDone(const grpc::Status& status);
  void EndAnswers();
  void SendAnswer();
  void CopyLeaderMetadata();
  bool HoldAnswer();
  grpc::Status StatusForClient(const grpc::Status& status);
  void AskToRetryAfter(absl::Duration wait);

  LeaderGate& gate_;
  CallBounds& bounds_;
  grpc::GenericCallbackServerContext& context_;
  const std::optional<Sha256Digest>& http_secret_;
  const std::string method_;  // cut at a zero byte, as gRPC sends it
  std::shared_ptr<grpc::Channel> leader_;
  grpc::ClientContext leader_context_;
  LeaderSide leader_side_{*this};
  grpc::ByteBuffer request_, answer_;
  CallDeadlines::Call timed_;
  size_t held_bytes_ = 0;
  std::optional<grpc::Status> own_status_;  // replaces the leader's

  Mutex mutex_;
  Requests requests_ ABSL_GUARDED_BY(mutex_) = Requests::kReading;
  Metadata metadata_ ABSL_GUARDED_BY(mutex_) = Metadata::kAwaited;
  bool answer_waits_ ABSL_GUARDED_BY(mutex_) = false;  // for the leader's metadata
  bool leader_ended_ ABSL_GUARDED_BY(mutex_) = false;

  // LeaderGate uses both, under its lock, while the call waits there.
  std::optional<std::list<ForwardedCall*>::iterator> place_;
  std::chrono::steady_clock::time_point refuse_at_;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_FLEET_FORWARDED_CALL_H_
