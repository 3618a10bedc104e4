// How a front forwards calls: streams, how they end, and peers that are slow.

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
#include "tests/server/daemon/fleet/raw_client.h"

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
using ::coppice::testing::RawCall;
using ::coppice::testing::ScriptedLeader;
using ::coppice::testing::Stream;
using ::coppice::testing::WholeAnswer;

TEST_F(ForwardingTest, StreamsEchoMessageByMessageAndHalfCloseBothWays) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream stream(channel_, "/t/Echo");
  std::string text;
  for (const std::string& message :
       {std::string("one"), std::string(), std::string(300'000, 'x')}) {
    ASSERT_TRUE(stream.Write(message));
    ASSERT_TRUE(stream.Read(&text));
    EXPECT_EQ(text, message);
  }
  EXPECT_EQ(leader.seen().half_closed, 0);
  ASSERT_TRUE(stream.HalfClose());
  EXPECT_FALSE(stream.Read());
  const WholeAnswer end = stream.End();
  EXPECT_TRUE(end.status.ok()) << end.status.error_message();
  EXPECT_EQ(end.initial.count("first"), 1u);
  EXPECT_EQ(end.trailing.count(kAnsweredKey), 0u);
  EXPECT_EQ(leader.seen().half_closed, 1);
  EXPECT_EQ(leader.seen().cancelled, 0);
}

TEST_F(ForwardingTest, AnErrorComesAsTheLeaderMadeIt) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  const WholeAnswer answer = Call("/t/Fail");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(answer.status.error_message(), "it says so");
  EXPECT_EQ(answer.status.error_details(), "details");
  EXPECT_EQ(answer.trailing, (std::multimap<std::string, std::string>{
                                 {"grpc-status-details-bin", "details"}, {"why", "for the test"}}));
}

TEST_F(ForwardingTest, ALeaderMayEndACallWhoseClientStillSends) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream stream(channel_, "/t/Abort");
  ASSERT_TRUE(stream.Write("one"));
  EXPECT_FALSE(stream.Read());
  EXPECT_EQ(stream.End().status.error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(ForwardingTest, OnlyTwoOfAClientsMetadataGoOn) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  CallOnce(channel_, "/t/Fail",
           {{"authorization", "Bearer a"},
            {"authorization", "Bearer b"},
            {"x-request-id", "request-1"},
            {"x-other", "o"},
            {"coppice-answered", "1"},
            {kClientCertificateKey, std::string(32, 'c')},
            {"grpc-tags-bin", "tags"}});
  std::multimap<std::string, std::string> seen = leader.metadata();
  EXPECT_EQ(seen.count("user-agent"), 1u);  // the front's own
  seen.erase("user-agent");
  EXPECT_EQ(seen, (std::multimap<std::string, std::string>{{"authorization", "Bearer a"},
                                                           {"authorization", "Bearer b"},
                                                           {"x-request-id", "request-1"}}));
}

TEST_F(ForwardingTest, DeadlinesGoOnAndNoneIsNone) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  const auto before = std::chrono::system_clock::now();
  EXPECT_EQ(Call("/t/Ignore", "", absl::Milliseconds(700)).status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_LE(leader.deadline(), before + std::chrono::seconds(2));
  EXPECT_TRUE(Eventually([&] { return leader.seen().ended == 1; }));
  Stream stream(channel_, "/t/Echo");
  ASSERT_TRUE(stream.Write("x"));
  ASSERT_TRUE(stream.Read());
  EXPECT_GT(leader.deadline(), before + std::chrono::hours(24 * 365));
}

TEST_F(ForwardingTest, ACancelledCallIsCancelledAtTheLeaderAndIsNoHalfClose) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream stream(channel_, "/t/Count");
  ASSERT_TRUE(stream.Write("part of all"));
  ASSERT_TRUE(Eventually([&] { return leader.seen().read == 1; }));
  stream.Cancel();
  EXPECT_EQ(stream.End().status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return leader.seen().ended == 1; }));
  EXPECT_EQ(leader.seen().cancelled, 1);
  EXPECT_EQ(leader.seen().half_closed, 0);
}

TEST_F(ForwardingTest, AClientThatVanishesIsNoHalfClose) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  for (int i = 0; i < 50; ++i) {
    auto channel = ConnectTo(front_->port(), server_);
    Stream stream(channel, "/t/Count");
    ASSERT_TRUE(stream.Write("part of all"));
    ASSERT_TRUE(Eventually([&] { return leader.seen().read == i + 1; }));
    stream.Cancel();
  }
  EXPECT_TRUE(Eventually([&] { return leader.seen().ended == 50; }));
  EXPECT_EQ(leader.seen().half_closed, 0);
}

TEST_F(ForwardingTest, AClientThatDoesNotReadIsFeltByTheLeader) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream stream(channel_, "/t/Flood");
  ASSERT_TRUE(stream.HalfClose());
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LE(leader.seen().written, 2);
  for (int i = 1; i <= ScriptedLeader::kFlood; ++i) {
    std::string text;
    ASSERT_TRUE(stream.Read(&text)) << i;
    ASSERT_EQ(text.size(), size_t{1} << 20);
    ASSERT_EQ(text[0], static_cast<char>(i));
  }
  EXPECT_FALSE(stream.Read());
  EXPECT_TRUE(stream.End().status.ok());
}

TEST_F(ForwardingTest, ALeaderThatDoesNotReadIsFeltByTheClient) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream stream(channel_, "/t/Ignore");
  std::atomic<int> written{0};
  std::thread writer([&] {
    const std::string text(size_t{1} << 20, 'x');
    while (written < 64 && stream.Write(text)) ++written;
  });
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LT(written, 16);
  stream.Cancel();
  writer.join();
}

TEST_F(ForwardingTest, SlowReadersTakeOneMessageEachAndHinderNobodyElse) {
  constexpr int kSlow = 64;
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  std::vector<std::unique_ptr<Stream>> slow;
  for (int i = 0; i < kSlow; ++i) slow.push_back(std::make_unique<Stream>(channel_, "/t/Flood"));
  ASSERT_TRUE(Eventually([&] { return leader.seen().calls == kSlow; }));
  const auto other = ConnectTo(front_->port(), server_);
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(CallOnce(other, "/t/Count", {}, std::string(100'000, 'x')).message, "1 100000");
  }
  EXPECT_LT(absl::Now() - begin, absl::Minutes(2));
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LE(leader.seen().written, 100 + 2 * kSlow);
  for (const auto& stream : slow) stream->Cancel();
}

TEST_F(ForwardingTest, LargeMessagesPass) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  const std::string large(DaemonLimits().max_message_bytes, 'x');
  const WholeAnswer answer = Call("/t/Echo", large);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_TRUE(answer.message == large);
}

// Answers of unary methods are bounded too, as by the daemon itself.
TEST_F(ForwardingTest, LargeAnswersThatNobodyReadsAreBoundedInAll) {
  StartFront({.max_answer_bytes = uint64_t{4} << 20});
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  const char* path = "/coppice.v1.ModelService/GetModel";
  std::vector<std::unique_ptr<Stream>> unread;
  for (int i = 0; i < 16; ++i) {
    unread.push_back(std::make_unique<Stream>(channel_, path));
    unread.back()->LetGo();
  }
  const auto refused = [&] {
    return std::count_if(unread.begin(), unread.end(),
                         [](auto& stream) { return stream->ended(); });
  };
  EXPECT_TRUE(Eventually([&] { return refused() == 12; }));
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(refused(), 12);
  for (const auto& stream : unread) {
    if (!stream->ended()) continue;
    const WholeAnswer end = stream->End();
    EXPECT_EQ(end.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(PushbackOf(end), "1000");
  }
  unread.clear();
  EXPECT_TRUE(Eventually([&] { return Call(path).status.ok(); }));
}

TEST_F(ForwardingTest, AnAnswerThatNobodyReadsIsCancelledWhenItsMethodsTimeIsOver) {
  ScriptedLeader leader(curators_);
  front_->SetLeader(leader.address());
  Stream stream(channel_, "/coppice.v1.DatasetService/GetDataset");
  Stream other(channel_, "/coppice.v1.ModelService/GetModel");  // its method has a minute
  absl::SleepFor(absl::Seconds(11));
  EXPECT_TRUE(other.Read());
  EXPECT_FALSE(stream.Read());
  EXPECT_EQ(stream.End().status.error_code(), grpc::StatusCode::CANCELLED);
}

// gRPC's client aborts its process over metadata that its server accepts.
TEST_F(ForwardingTest, HeadersThatNoClientMaySendDoNoHarm) {
  ScriptedLeader leader(curators_);
  const auto plain = *Front::Start({.listen = "127.0.0.1:0",
                                    .certificates = nullptr,
                                    .peer_ca_pem = curators_.certificate_pem,
                                    .certificate_pem = curators_.certificate_pem,
                                    .key_pem = curators_.key_pem});
  plain->SetLeader(leader.address());
  ASSERT_THAT(RawCall(plain->port(), "/t/Count", {}), ::testing::HasSubstr("grpc-status"));
  std::string all_bytes;
  for (int i = 1; i < 120; ++i) all_bytes.push_back(static_cast<char>(i));
  for (const std::string& value :
       {std::string("Bearer \x01"), std::string("\n"), std::string("\0", 1),
        std::string("\xff\xfe"), std::string(" x "), std::string(), all_bytes}) {
    for (const char* name : {"authorization", "x-request-id", "grpc-timeout", "te", "other",
                             "coppice-certificate-sha256-bin", "grpc-encoding", "user-agent"}) {
      RawCall(plain->port(), "/t/Count", {{name, value}});
    }
    RawCall(plain->port(), StrCat("/t/", value), {});
    RawCall(plain->port(), value, {});
  }
  EXPECT_THAT(RawCall(plain->port(), "/t/Count", {}), ::testing::HasSubstr("grpc-status"));
  plain->Stop(absl::ZeroDuration());
}

}  // namespace
}  // namespace coppice::daemon
