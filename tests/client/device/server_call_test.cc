#include "client/device/grpc/server_call.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A clock that only sleeping advances.
class FakeClock final : public RetryClock {
 public:
  absl::Time Now() override { return now_; }
  void Sleep(absl::Duration duration) override {
    now_ += duration;
    sleeps_.push_back(duration);
  }

  const std::vector<absl::Duration>& sleeps() const { return sleeps_; }

 private:
  absl::Time now_ = absl::UnixEpoch();
  std::vector<absl::Duration> sleeps_;
};

const RetryOptions kRetry{.deadline = absl::Seconds(20),
                          .give_up_after = absl::Seconds(60),
                          .first_backoff = absl::Milliseconds(100),
                          .max_backoff = absl::Seconds(10)};

// Negative: come no more, as is said by a value that is no number.
Status Busy(int64_t milliseconds) {
  Status status = ResourceExhaustedError("busy");
  status.set_retry_after_milliseconds(milliseconds);
  return status;
}

TEST(CallWithRetryTest, TriesUntilItWorks) {
  FakeClock clock;
  int tries = 0;
  EXPECT_OK(CallWithRetry(kRetry, clock, [&](absl::Time) {
    return ++tries < 4 ? UnavailableError("busy") : OkStatus();
  }));
  EXPECT_EQ(tries, 4);
  EXPECT_EQ(clock.sleeps().size(), 3);
}

TEST(CallWithRetryTest, EveryTransientCodeIsTriedAgainAndNoOther) {
  for (const Status& transient :
       {UnavailableError(""), DeadlineExceededError(""), AbortedError(""), Busy(1)}) {
    FakeClock clock;
    int tries = 0;
    EXPECT_OK(CallWithRetry(kRetry, clock,
                            [&](absl::Time) { return ++tries < 2 ? transient : OkStatus(); }));
    EXPECT_EQ(tries, 2) << transient;
  }
  for (const Status& final_status :
       {InvalidArgumentError("no"), NotFoundError("no"), InternalError("no"),
        FailedPreconditionError("no"), PermissionDeniedError("no"),
        ResourceExhaustedError("the message is too large")}) {
    FakeClock clock;
    EXPECT_EQ(CallWithRetry(kRetry, clock, [&](absl::Time) { return final_status; }), final_status);
    EXPECT_TRUE(clock.sleeps().empty());
  }
}

TEST(CallWithRetryTest, GivesUpInTimeAndSaysHowOftenItTried) {
  FakeClock clock;
  int tries = 0;
  const Status status = CallWithRetry(kRetry, clock, [&](absl::Time) {
    ++tries;
    return UnavailableError("busy");
  });
  EXPECT_THAT(status,
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("busy (tried "), HasSubstr(StrCat(tries, " times")))));
  EXPECT_GT(tries, 6);
  EXPECT_LE(clock.Now(), absl::UnixEpoch() + kRetry.give_up_after);
}

TEST(CallWithRetryTest, WaitsStayUnderTheirCeilings) {
  FakeClock clock;
  CallWithRetry(kRetry, clock, [](absl::Time) { return AbortedError("again"); }).IgnoreError();
  absl::Duration ceiling = kRetry.first_backoff;
  for (const absl::Duration wait : clock.sleeps()) {
    EXPECT_LE(wait, ceiling);
    ceiling = std::min(ceiling * 2, kRetry.max_backoff);
  }
}

TEST(CallWithRetryTest, WaitsAtLeastAsLongAsTheServerAsks) {
  FakeClock clock;
  int tries = 0;
  EXPECT_OK(CallWithRetry(kRetry, clock,
                          [&](absl::Time) { return ++tries < 9 ? Busy(5000) : OkStatus(); }));
  ASSERT_EQ(clock.sleeps().size(), 8u);
  absl::Duration ceiling = kRetry.first_backoff;
  for (const absl::Duration wait : clock.sleeps()) {
    EXPECT_GE(wait, absl::Seconds(5));
    EXPECT_LE(wait, absl::Seconds(5) + ceiling);
    ceiling = std::min(ceiling * 2, kRetry.max_backoff);
  }
  EXPECT_NE(clock.sleeps()[6], clock.sleeps()[7]) << "not jittered";
}

TEST(CallWithRetryTest, GivesUpAtOnceWhenTheServerAsksToWaitTooLongOrNotToComeAgain) {
  for (const int64_t asked : {61000, -1}) {
    FakeClock clock;
    EXPECT_THAT(CallWithRetry(kRetry, clock, [&](absl::Time) { return Busy(asked); }),
                StatusIs(StatusCode::kResourceExhausted, "busy"));
    EXPECT_TRUE(clock.sleeps().empty()) << asked;
  }
}

TEST(IsRetryableTest, WhatIsExhaustedIsOnlyWhenTheServerSaysWhenToComeAgain) {
  EXPECT_TRUE(IsRetryable(UnavailableError("")));
  EXPECT_EQ(AskedToWait(UnavailableError("")), absl::ZeroDuration());
  EXPECT_TRUE(IsRetryable(Busy(700)));
  EXPECT_EQ(AskedToWait(Busy(700)), absl::Milliseconds(700));
  EXPECT_FALSE(IsRetryable(Busy(-1)));
  EXPECT_FALSE(IsRetryable(ResourceExhaustedError("no budget")));
  EXPECT_FALSE(IsRetryable(NotFoundError("")));
}

TEST(CallWithRetryTest, NoTimeForRetriesMeansOneTryWithItsWholeDeadline) {
  FakeClock clock;
  std::vector<absl::Time> deadlines;
  const RetryOptions once{.deadline = absl::Seconds(7), .give_up_after = absl::ZeroDuration()};
  EXPECT_THAT(CallWithRetry(once, clock,
                            [&](absl::Time deadline) {
                              deadlines.push_back(deadline);
                              return UnavailableError("busy");
                            }),
              StatusIs(StatusCode::kUnavailable, "busy"));
  EXPECT_THAT(deadlines, ::testing::ElementsAre(absl::UnixEpoch() + absl::Seconds(7)));
}

TEST(FromGrpcStatusTest, KeepsTheCodeAndTheServersWords) {
  EXPECT_OK(FromGrpcStatus(grpc::Status::OK, "host:1"));
  EXPECT_EQ(FromGrpcStatus({grpc::StatusCode::NOT_FOUND, "no such study"}, "host:1"),
            NotFoundError("no such study"));
  EXPECT_EQ(FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "shutting down"}, "host:1"),
            UnavailableError("shutting down"));
}

TEST(FromGrpcStatusTest, ServersDoNotSteerTheTerminalNorFillIt) {
  EXPECT_EQ(FromGrpcStatus({grpc::StatusCode::INVALID_ARGUMENT, "\x1b]0;OWNED\x07 red"}, "host:1"),
            InvalidArgumentError("\uFFFD]0;OWNED\uFFFD red"));
  const std::string endless(1 << 20, 'a');
  for (const auto code :
       {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::DEADLINE_EXCEEDED}) {
    EXPECT_LT(FromGrpcStatus({code, endless}, "host:1").message().size(), 3000u);
  }
}

TEST(FromGrpcStatusTest, SaysWhatToCheckWhenThereIsNoConnection) {
  EXPECT_THAT(FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "failed to connect"}, "host:1"),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("nobody answers at host:1"), HasSubstr("coppiced"))));
  EXPECT_THAT(
      FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "failed to connect: Ssl handshake"}, "host:1"),
      StatusIs(StatusCode::kUnavailable,
               AllOf(HasSubstr("no TLS connection"), HasSubstr("expired"))));
}

// As coppiced --client-ca does to those who show no certificate.
TEST(FromGrpcStatusTest, AServerThatEndsTheConnectionIsThere) {
  const Status status = FromGrpcStatus({grpc::StatusCode::UNAVAILABLE,
                                        "failed to connect to all addresses; last error: "
                                        "UNAVAILABLE: ipv4:1.2.3.4:1: Socket closed"},
                                       "host:1");
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable,
                               AllOf(HasSubstr("host:1 ends the connection before it answers"),
                                     HasSubstr("client certificates"), Not(HasSubstr("nobody")))));
}

// Otherwise a proxy that is down reads as a curator that is.
TEST(FromGrpcStatusTest, NamesTheProxyThatWasAsked) {
  setenv("https_proxy", "http://ann:s3cr3t@proxy.example:3128", 1);
  const std::string shown = "the proxy proxy.example:3128 (https_proxy)";
  for (const char* detail : {"failed to connect", "failed to connect: Ssl handshake"}) {
    const Status status = FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, detail}, "host:1");
    EXPECT_THAT(status.message(), HasSubstr("host:1 through " + shown)) << detail;
    EXPECT_THAT(status.message(), Not(HasSubstr("s3cr3t")));
  }
  EXPECT_THAT(FromGrpcStatus({grpc::StatusCode::DEADLINE_EXCEEDED, "gone"}, "host:1").message(),
              HasSubstr("host:1 through " + shown + " did not answer in time"));
  EXPECT_THAT(FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "failed to connect"}, "[::1]:1"),
              StatusIs(StatusCode::kUnavailable, Not(HasSubstr("proxy"))));
  unsetenv("https_proxy");
}

TEST(CallServerTest, WhatNobodyAnsweredIsExplainedOnce) {
  const auto channel = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  int asked = 0;
  RetryOptions once = kRetry;
  once.give_up_after = absl::ZeroDuration();
  once.diagnose = [&asked] {
    ++asked;
    return UnavailableError("the certificate has expired");
  };
  const auto ends_with = [&](grpc::StatusCode code) {
    return CallServer(*channel, "host:1", once,
                      [code](grpc::ClientContext&) { return grpc::Status(code, "gone"); });
  };
  EXPECT_THAT(ends_with(grpc::StatusCode::UNAVAILABLE),
              StatusIs(StatusCode::kUnavailable, "the certificate has expired"));
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(ends_with(grpc::StatusCode::NOT_FOUND), StatusIs(StatusCode::kNotFound, "gone"));
  EXPECT_EQ(asked, 1);
  once.diagnose = [] { return OkStatus(); };
  EXPECT_THAT(ends_with(grpc::StatusCode::UNAVAILABLE), StatusIs(StatusCode::kUnavailable, "gone"));
}

TEST(RandomHexTest, HasTheLengthAndDoesNotRepeat) {
  ASSERT_OK_AND_ASSIGN(const std::string one, RandomHex(16));
  ASSERT_OK_AND_ASSIGN(const std::string two, RandomHex(16));
  EXPECT_EQ(one.size(), 32);
  EXPECT_NE(one, two);
}

}  // namespace
}  // namespace coppice
