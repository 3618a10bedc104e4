// What a front does when leaders come, go, stall or are absent.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/text.h"
#include "server/daemon/transport/fronts.h"
#include "tests/server/daemon/fleet/forwarding_fixture.h"
#include "tests/server/daemon/fleet/stalling_relay.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::CallOnce;
using ::coppice::testing::Certificate;
using ::coppice::testing::ConnectTo;
using ::coppice::testing::Eventually;
using ::coppice::testing::ExpectLost;
using ::coppice::testing::ForwardingTest;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::PushbackOf;
using ::coppice::testing::ScriptedLeader;
using ::coppice::testing::StallingRelay;
using ::coppice::testing::Stream;
using ::coppice::testing::WholeAnswer;

TEST_F(ForwardingTest, ALostLeaderIsUnavailableWithoutAnAddress) {
  auto leader = std::make_unique<ScriptedLeader>(curators_);
  front_->SetLeader(leader->address());
  Stream echo(channel_, "/t/Echo"), ignore(channel_, "/t/Ignore");
  ASSERT_TRUE(echo.Write("x"));
  ASSERT_TRUE(echo.Read());
  ASSERT_TRUE(Eventually([&] { return leader->seen().calls == 2; }));
  leader->Kill();
  EXPECT_FALSE(echo.Read());
  ExpectLost(echo.End());
  ExpectLost(ignore.End());
}

TEST_F(ForwardingTest, ErrorsThatNoHandlerMadeAreTheConnectionsOrARefusal) {
  ScriptedLeader leader(curators_, /*marking=*/false);
  front_->SetLeader(leader.address());
  EXPECT_EQ(Call("/t/Fail").status.error_message(), "it says so");  // as a refusal of access
  ExpectLost(Call("/t/Break"));
  ExpectLost(Call("/t/Drop"));
}

TEST_F(ForwardingTest, ACallThatTheLeaderCancelsIsCancelled) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  const WholeAnswer direct =
      CallOnce(ConnectTo(leader.port(), curators_, &curators_), "/t/Cancel", {});
  const WholeAnswer answer = Call("/t/Cancel");
  EXPECT_EQ(direct.status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(answer.status.error_code(), direct.status.error_code());
  EXPECT_EQ(answer.status.error_message(), direct.status.error_message());
}

TEST_F(ForwardingTest, AnInternalErrorOfAHandlerStaysOne) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  const WholeAnswer answer = Call("/t/Break");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(PushbackOf(answer), "");
}

TEST_F(ForwardingTest, CallsUnderWayStayWithTheirLeaderAndNewOnesGoToTheNext) {
  ScriptedLeader first(curators_), second(curators_);
  front_->SetLeader(first.address());
  Stream stream(channel_, "/t/Echo");
  ASSERT_TRUE(stream.Write("x"));
  ASSERT_TRUE(stream.Read());
  front_->SetLeader(second.address());
  ASSERT_EQ(Call("/t/Count", "abc").message, "1 3");
  EXPECT_EQ(first.seen().calls, 1);
  EXPECT_EQ(second.seen().calls, 1);
  ASSERT_TRUE(stream.Write("y"));
  ASSERT_TRUE(stream.Read());
  ASSERT_TRUE(stream.HalfClose());
  EXPECT_TRUE(stream.End().status.ok());
  front_->SetLeader("");
  EXPECT_EQ(Call("/t/Count", "abc", absl::Milliseconds(300)).status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(ForwardingTest, ACallWaitsForALeader) {
  Stream stream(channel_, "/t/Echo");
  stream.BeginWrite("waits");
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_FALSE(stream.ended());
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  std::string text;
  ASSERT_TRUE(stream.Read(&text));
}

TEST_F(ForwardingTest, ACallWaitsForALeaderThatIsNotUpYet) {
  int port = 0;
  { port = ScriptedLeader(curators_).port(); }
  front_->SetLeader(StrCat("127.0.0.1:", port));
  Stream stream(channel_, "/t/Echo");
  stream.BeginWrite("waits");
  absl::SleepFor(absl::Milliseconds(1500));
  EXPECT_FALSE(stream.ended());
  ScriptedLeader leader(curators_, true, port);
  ASSERT_EQ(leader.port(), port);
  const absl::Time up = absl::Now();
  ASSERT_TRUE(stream.Read());
  EXPECT_LT(absl::Now() - up, absl::Seconds(60));
}

TEST_F(ForwardingTest, NobodyWaitsForALeaderForEver) {
  const absl::Time begin = absl::Now();
  ExpectLost(Call("/t/Echo"), "1000");
  EXPECT_GE(absl::Now() - begin, kLeaderPatience);
  EXPECT_LT(absl::Now() - begin, kLeaderPatience + absl::Seconds(10));
}

// A front does not use a leader without a certificate of the curators' authority.
TEST_F(ForwardingTest, AnotherAuthoritysLeaderIsNone) {
  ScriptedLeader stranger(MakeCertificate());
  front_->SetLeader(stranger.address());
  ExpectLost(Call("/t/Echo"), "1000");
  EXPECT_EQ(stranger.seen().calls, 0);
}

TEST_F(ForwardingTest, CallsThatWaitAreBoundedAndLeaveRoomWhenTheyGo) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::vector<std::unique_ptr<Stream>> calls;
  for (size_t i = 0; i <= kMaxWaitingCalls; ++i) {
    if (i % 64 == 0) channels.push_back(ConnectTo(front_->port(), server_));
    calls.push_back(std::make_unique<Stream>(channels.back(), "/t/Echo"));
    calls.back()->LetGo();
  }
  const auto has_ended = [](const auto& call) { return call->ended(); };
  const auto refused = [&] { return std::find_if(calls.begin(), calls.end(), has_ended); };
  ASSERT_TRUE(Eventually([&] { return refused() != calls.end(); }, absl::Seconds(9)));
  ExpectLost((*refused())->End(), "1000");
  EXPECT_EQ(std::count_if(calls.begin(), calls.end(), has_ended), 1);
  calls.erase(refused());
  calls.pop_back();  // cancels it, which the front learns a little later
  absl::SleepFor(absl::Milliseconds(500));
  Stream last(channel_, "/t/Echo");
  last.BeginWrite("x");
  absl::SleepFor(absl::Milliseconds(200));
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  EXPECT_TRUE(last.Read());
  EXPECT_TRUE(Eventually([&] { return leader.seen().calls == int{kMaxWaitingCalls}; }));
}

TEST_F(ForwardingTest, StoppingRefusesThoseThatWaitAndLetsOthersEnd) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream under_way(channel_, "/t/Echo");
  ASSERT_TRUE(under_way.Write("x"));
  ASSERT_TRUE(under_way.Read());
  front_->SetLeader("");
  Stream waiting(channel_, "/t/Echo");
  absl::SleepFor(absl::Seconds(1));  // until the call has come
  std::thread stopping([&] { front_->Stop(absl::Minutes(5)); });
  ExpectLost(waiting.End(), "1000");
  ASSERT_TRUE(under_way.Write("y"));
  ASSERT_TRUE(under_way.Read());
  ASSERT_TRUE(under_way.HalfClose());
  EXPECT_TRUE(under_way.End().status.ok());
  stopping.join();
}

TEST_F(ForwardingTest, StoppingCancelsWhatIsLeft) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream stream(channel_, "/t/Ignore");
  ASSERT_TRUE(Eventually([&] { return leader.seen().calls == 1; }));
  const absl::Time begin = absl::Now();
  front_->Stop(absl::Milliseconds(200));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  EXPECT_FALSE(stream.End().status.ok());
  EXPECT_TRUE(Eventually([&] { return leader.seen().ended == 1; }));
}

TEST_F(ForwardingTest, ALeaderIsReachedWhileThereIsAConnectionAndALittleLonger) {
  EXPECT_FALSE(front_->ReachesLeader());
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  EXPECT_TRUE(Eventually([&] { return front_->ReachesLeader(); }));
  leader.Kill();
  absl::SleepFor(absl::Seconds(1));
  EXPECT_TRUE(front_->ReachesLeader());
  EXPECT_TRUE(Eventually([&] { return !front_->ReachesLeader(); }));
}

TEST_F(ForwardingTest, ReplacedCertificatesHoldForNewConnections) {
  const Certificate next = MakeCertificate();
  ScriptedLeader leader(next);
  front_->SetLeader(leader.address());
  EXPECT_EQ(Call("/t/Count", "abc", absl::Milliseconds(500)).status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  front_->Replace(next.certificate_pem, next.certificate_pem, next.key_pem);
  EXPECT_EQ(Call("/t/Count", "abc").message, "1 3");
}

// A paused process, or a machine that is gone, closes no connection.
TEST_F(ForwardingTest, ALeaderThatStallsIsLostWithinFiveSecondsAndFoundAgain) {
  ScriptedLeader leader(curators_);
  StallingRelay relay(leader.port());
  front_->SetLeader(relay.address());
  Stream stream(channel_, "/t/Echo");
  ASSERT_TRUE(stream.Write("x"));
  ASSERT_TRUE(stream.Read());
  relay.Stall(true);
  const absl::Time stalled = absl::Now();
  EXPECT_FALSE(stream.Read());
  ExpectLost(stream.End());
  EXPECT_LT(absl::Now() - stalled, absl::Seconds(25)) << "far beyond five, on a busy machine";
  Stream waiting(channel_, "/t/Echo");
  waiting.BeginWrite("y");
  absl::SleepFor(absl::Seconds(1));
  EXPECT_FALSE(waiting.ended());
  relay.Stall(false);
  EXPECT_TRUE(waiting.Read());
}

// A stall is noticed without calls too, so that the next call is not lost.
TEST_F(ForwardingTest, AnIdleLeaderThatStallsIsNoticed) {
  ScriptedLeader leader(curators_), next(curators_);
  StallingRelay relay(leader.port());
  front_->SetLeader(relay.address());
  ASSERT_EQ(Call("/t/Count", "abc").message, "1 3");
  relay.Stall(true);
  absl::SleepFor(absl::Seconds(5));
  Stream waiting(channel_, "/t/Count");
  ASSERT_TRUE(waiting.HalfClose());
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_FALSE(waiting.ended());
  front_->SetLeader(next.address());
  EXPECT_TRUE(waiting.Read());
  EXPECT_EQ(next.seen().calls, 1);
}

// Idle connections stay up: the leader tolerates frequent pings.
TEST_F(ForwardingTest, AnIdleConnectionStays) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(Call("/t/Count", "abc").message, "1 3");
    absl::SleepFor(absl::Seconds(4));
  }
}

TEST_F(ForwardingTest, HealthIsTheFrontsOwn) {
  // HealthCheckRequest{.service}, HealthCheckResponse{.status = SERVING}.
  const auto check = [&](const std::string& service) {
    const std::string request =
        service.empty() ? "" : std::string{'\x0a', static_cast<char>(service.size())} + service;
    return Call("/grpc.health.v1.Health/Check", request).message == std::string{'\x08', '\x01'};
  };
  EXPECT_TRUE(check(""));
  EXPECT_FALSE(check("ready"));
  front_->SetReady(true);
  EXPECT_TRUE(check("ready"));
  front_->SetReady(false);
  EXPECT_FALSE(check("ready"));
  EXPECT_TRUE(check(""));
}

// While leaders change and are killed, calls of all kinds run at once; each must end, once.
TEST_F(ForwardingTest, EveryCallEndsWhateverLeadersDo) {
  std::vector<std::unique_ptr<ScriptedLeader>> leaders;
  std::atomic<bool> stop{false};
  std::atomic<int> ended{0}, answered{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      const auto channel = ConnectTo(front_->port(), server_);
      for (int n = 0; !stop; ++n) {
        const char* const path = (n % 3 == 0) ? "/t/Flood" : (n % 3 == 1) ? "/t/Count" : "/t/Echo";
        Stream stream(channel, path, absl::Seconds(5));
        bool ok = stream.Write(std::string(1000, 'x'));
        if (n % 7 == i) stream.Cancel();
        if (n % 5 != 0) ok = stream.HalfClose() && ok;
        if (n % 3 != 1 || n % 5 != 0) ok = stream.Read() && ok;
        if (n % 2 == 0 || n % 3 == 0 || n % 5 == 0) stream.Cancel();  // these would not end
        stream.End();
        ++ended;
        if (ok) ++answered;
      }
    });
  }
  for (int i = 0; i < 12; ++i) {
    leaders.push_back(std::make_unique<ScriptedLeader>(curators_));
    front_->SetLeader(leaders.back()->address());
    absl::SleepFor(absl::Milliseconds(200));
    if (i % 2 == 0) leaders.back()->Kill();
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_GT(ended, 100);
  EXPECT_GT(answered, 50);
}

}  // namespace
}  // namespace coppice::daemon
