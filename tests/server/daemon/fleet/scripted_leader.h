// A server in the leader's place, whose calls do what their method's name says:
//
//   Echo     sends each message back, and ends with OK when the client has sent its last
//   Count    reads all, then answers how many messages and bytes came
//   Flood    writes 64 messages of 1 MiB, as fast as it may
//   Ignore   neither reads nor writes
//   Fail     ends as FAILED_PRECONDITION, with details and trailing metadata
//   Break    ends as INTERNAL
//   Drop     ends as CANCELLED without a word, as calls that a stopping server has not begun
//   Cancel   is cancelled by the leader, as a call that takes too long
//   Abort    ends as ABORTED after one message, whatever the client sends
//   GetModel, GetDataset  answer one message of 1 MiB

#ifndef COPPICE_TESTS_SERVER_DAEMON_FLEET_SCRIPTED_LEADER_H_
#define COPPICE_TESTS_SERVER_DAEMON_FLEET_SCRIPTED_LEADER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "common/base/text.h"
#include "server/daemon/transport/fronts.h"
#include "tests/server/daemon/fleet/front_fixture.h"

namespace coppice::testing {

class ScriptedLeader final : public grpc::CallbackGenericService {
 public:
  static constexpr int kFlood = 64;

  struct Seen {
    std::atomic<int> calls{0}, ended{0}, half_closed{0}, cancelled{0}, read{0}, written{0};
  };

  // Requires mutual TLS. A leader that is `marking` marks answers as its own.
  explicit ScriptedLeader(const Certificate& curators, bool marking = true, int port = 0)
      : marking_(marking) {
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = curators.certificate_pem;
    options.pem_key_cert_pairs.push_back({curators.key_pem, curators.certificate_pem});
    grpc::ServerBuilder builder;
    daemon::SetLimitsBehindFronts({}, builder);
    builder.AddListeningPort(StrCat("127.0.0.1:", port), grpc::SslServerCredentials(options),
                             &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedLeader() override { Kill(); }

  // Ends all calls at once.
  void Kill() { server_->Shutdown(std::chrono::system_clock::now()); }

  int port() const { return port_; }
  std::string address() const { return StrCat("127.0.0.1:", port_); }
  Seen& seen() { return seen_; }

  // The metadata of the last call.
  std::multimap<std::string, std::string> metadata() {
    const std::lock_guard lock(mutex_);
    return metadata_;
  }
  std::chrono::system_clock::time_point deadline() {
    const std::lock_guard lock(mutex_);
    return deadline_;
  }

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(ScriptedLeader& leader, grpc::GenericCallbackServerContext& context)
        : leader_(leader), context_(context), method_(context.method()) {
      ++leader_.seen_.calls;
      Begin();
    }

    void Begin() {
      if (Is("Flood")) return WriteNext();
      if (Is("GetModel") || Is("GetDataset")) return EndWith(std::string(size_t{1} << 20, 'l'));
      if (Is("Fail")) {
        context_.AddTrailingMetadata("why", "for the test");
        return End({grpc::StatusCode::FAILED_PRECONDITION, "it says so", "details"});
      }
      if (Is("Break")) return End({grpc::StatusCode::INTERNAL, "ipv4:127.0.0.1:1: broken"});
      if (Is("Drop")) return End(grpc::Status(grpc::StatusCode::CANCELLED, ""));
      if (Is("Cancel")) context_.TryCancel();
      if (!Is("Ignore")) StartRead(&request_);
    }

    void OnReadDone(bool ok) override {
      if (!ok) {
        if (!context_.IsCancelled()) ++leader_.seen_.half_closed;
        if (Is("Echo") || context_.IsCancelled()) return End(grpc::Status::OK);
        return EndWith(StrCat(messages_, " ", bytes_));
      }
      ++leader_.seen_.read;
      ++messages_;
      bytes_ += request_.Length();
      if (Is("Abort")) return End({grpc::StatusCode::ABORTED, "enough"});
      if (!Is("Echo")) return StartRead(&request_);
      if (messages_ == 1) context_.AddInitialMetadata("first", "of the leader");
      answer_ = request_;
      StartWrite(&answer_);
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return End(grpc::Status::CANCELLED);
      ++leader_.seen_.written;
      if (Is("Flood")) return WriteNext();
      if (last_) return End(grpc::Status::OK);
      StartRead(&request_);
    }
    void OnCancel() override {
      ++leader_.seen_.cancelled;
      if (Is("Ignore")) End(grpc::Status::CANCELLED);
    }
    void OnDone() override {
      ++leader_.seen_.ended;
      delete this;
    }

   private:
    bool Is(const char* name) const { return EndsWith(method_, name); }

    void WriteNext() {
      if (messages_++ == kFlood) return End(grpc::Status::OK);
      std::string text(size_t{1} << 20, 'f');
      text[0] = static_cast<char>(messages_);
      answer_ = BytesOf(text);
      StartWrite(&answer_);
    }
    void EndWith(const std::string& text) {
      last_ = true;
      answer_ = BytesOf(text);
      StartWrite(&answer_);
    }
    void End(const grpc::Status& status) {
      if (leader_.marking_) context_.AddTrailingMetadata(daemon::kAnsweredKey, "1");
      Finish(status);
    }

    ScriptedLeader& leader_;
    grpc::GenericCallbackServerContext& context_;
    const std::string method_;
    grpc::ByteBuffer request_, answer_;
    int messages_ = 0;
    size_t bytes_ = 0;
    bool last_ = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    {
      const std::lock_guard lock(mutex_);
      metadata_ = CopyMetadata(context->client_metadata());
      deadline_ = context->deadline();
    }
    return new Call(*this, *context);
  }

  const bool marking_;
  Seen seen_;
  std::mutex mutex_;
  std::multimap<std::string, std::string> metadata_;
  std::chrono::system_clock::time_point deadline_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_FLEET_SCRIPTED_LEADER_H_
