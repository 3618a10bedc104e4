// Clients, a front, and leaders that follow a script (scripted_leader.h), over TLS.

#ifndef COPPICE_TESTS_SERVER_DAEMON_FLEET_FORWARDING_FIXTURE_H_
#define COPPICE_TESTS_SERVER_DAEMON_FLEET_FORWARDING_FIXTURE_H_

#include <gmock/gmock.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "server/process/certificates.h"
#include "server/daemon/fleet/front.h"
#include "tests/server/daemon/fleet/front_fixture.h"
#include "tests/server/daemon/fleet/scripted_leader.h"

namespace coppice::testing {

// A client's stream, driven step by step.
class Stream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
         absl::Duration deadline = absl::InfiniteDuration()) {
    if (deadline != absl::InfiniteDuration()) {
      context_.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
    }
    grpc::GenericStub(channel).PrepareBidiStreamingCall(&context_, path, {}, this);
    AddHold();
    StartCall();
  }
  // Waits for the call's end.
  ~Stream() override {
    Cancel();
    End();
  }

  bool Write(const std::string& text) {
    request_ = BytesOf(text);
    return Step(writing_, [this] { StartWrite(&request_); });
  }
  // Starts a write and does not wait for it.
  void BeginWrite(const std::string& text) {
    request_ = BytesOf(text);
    StartWrite(&request_);
  }
  bool HalfClose() {
    return Step(closing_, [this] { StartWritesDone(); });
  }
  bool Read(std::string* text = nullptr) {
    const bool read = Step(reading_, [this] { StartRead(&answer_); });
    if (read && text != nullptr) *text = TextOf(answer_);
    return read;
  }
  void Cancel() { context_.TryCancel(); }

  // Ends reading and writing.
  void LetGo() {
    if (!std::exchange(let_go_, true)) RemoveHold();
  }
  WholeAnswer End() {
    LetGo();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_; });
    return {.status = status_,
            .message = "",
            .initial = CopyMetadata(context_.GetServerInitialMetadata()),
            .trailing = CopyMetadata(context_.GetServerTrailingMetadata())};
  }
  bool ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

  void OnReadDone(bool ok) override { Done(reading_, ok); }
  void OnWriteDone(bool ok) override { Done(writing_, ok); }
  void OnWritesDoneDone(bool ok) override { Done(closing_, ok); }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    ended_ = true;
    changed_.notify_all();
  }

 private:
  using Result = std::optional<bool>;

  template <typename Start>
  bool Step(Result& result, Start start) {
    {
      const std::lock_guard lock(mutex_);
      result.reset();
    }
    start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return result.has_value(); });
    return *result;
  }
  void Done(Result& result, bool ok) {
    const std::lock_guard lock(mutex_);
    result = ok;
    changed_.notify_all();
  }

  grpc::ClientContext context_;
  grpc::ByteBuffer request_, answer_;
  bool let_go_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  Result reading_, writing_, closing_;
  bool ended_ = false;
  grpc::Status status_;
};

class ForwardingTest : public ::testing::Test {
 protected:
  ForwardingTest() { StartFront({}); }
  // Every call must have ended by now, at both ends.
  ~ForwardingTest() override {
    const absl::Time begin = absl::Now();
    front_->Stop(absl::Minutes(5));
    EXPECT_LT(absl::Now() - begin, absl::Minutes(2)) << "a call is left";
  }

  void StartFront(const daemon::DaemonLimits& limits) {
    if (front_ != nullptr) front_->Stop(absl::ZeroDuration());
    front_.reset();
    certificates_ = std::make_unique<Certificates>(
        TlsFiles{.certificate = server_.certificate_pem, .key = server_.key_pem, .client_ca = ""});
    front_ = *daemon::Front::Start({.listen = "127.0.0.1:0",
                                    .certificates = certificates_.get(),
                                    .limits = limits,
                                    .peer_ca_pem = curators_.certificate_pem,
                                    .certificate_pem = curators_.certificate_pem,
                                    .key_pem = curators_.key_pem});
    channel_ = ConnectTo(front_->port(), server_);
  }
  WholeAnswer Call(const std::string& path, const std::string& message = "",
                   absl::Duration deadline = absl::Minutes(5)) const {
    return CallOnce(channel_, path, {}, message, deadline);
  }

  const Certificate server_ = MakeCertificate();
  const Certificate curators_ = MakeCertificate();
  std::unique_ptr<Certificates> certificates_;
  std::unique_ptr<daemon::Front> front_;
  std::shared_ptr<grpc::Channel> channel_;
};

// A client that loses its leader is told what to do and when, and no address.
inline void ExpectLost(const WholeAnswer& answer, const char* pushback = "500") {
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(PushbackOf(answer), pushback);
  EXPECT_THAT(answer.status.error_message(), ::testing::HasSubstr("call again"));
  EXPECT_THAT(answer.status.error_message(), ::testing::Not(::testing::HasSubstr("127.0.0.1")));
  EXPECT_THAT(answer.status.error_message(), ::testing::Not(::testing::HasSubstr("ipv4")));
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_FLEET_FORWARDING_FIXTURE_H_
