// Connections and what stays open on them end, so that a token or a certificate that was taken back
// is not in use for ever, and nobody keeps what a stream holds.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "server/process/health_service.h"
#include "tests/server/daemon/access_fixture.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::TlsServerTest;

class ConnectionAgeTest : public TlsServerTest {
 protected:
  void SetUp() override {
    limits_.connection_age = absl::Milliseconds(100);
    limits_.connection_grace = absl::Milliseconds(100);
    Serve("{}");
  }
  // Far longer than the connection may live.
  static std::chrono::system_clock::time_point InAWhile() {
    return std::chrono::system_clock::now() + std::chrono::minutes(5);
  }
};

TEST_F(ConnectionAgeTest, AnOldConnectionIsClosedAndTheNextCallGetsANewOne) {
  ASSERT_TRUE(Call(kHealthCheckPath, {}).ok());
  grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/false);
  while (state == GRPC_CHANNEL_READY) {
    ASSERT_TRUE(channel_->WaitForStateChange(state, InAWhile()));
    state = channel_->GetState(/*try_to_connect=*/false);
  }
  EXPECT_TRUE(Call(kHealthCheckPath, {}).ok());
}

TEST_F(ConnectionAgeTest, AStreamOnAnOldConnectionIsCutOffAfterTheGrace) {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  context.set_deadline(InAWhile());
  grpc::CompletionQueue queue;
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto watch = stub.PrepareCall(&context, kHealthWatchPath, &queue);
  watch->StartCall(this);
  ASSERT_TRUE(wait());
  const grpc::Slice empty;
  watch->WriteLast(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions(), this);
  ASSERT_TRUE(wait());
  grpc::ByteBuffer answer;
  watch->Read(&answer, this);
  EXPECT_TRUE(wait());
  watch->Read(&answer, this);
  EXPECT_FALSE(wait());  // the state does not change
  grpc::Status status;
  watch->Finish(&status, this);
  wait();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

}  // namespace
}  // namespace coppice::daemon
