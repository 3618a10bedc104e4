// The session's steps, one by one: who is told what, and when.

#include "client/device/session.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "client/device/run_session.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/c/scripted_curator.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::ScriptedServices;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr DeviceTime kNow = {.unix_seconds = 5000};

class SessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<DeviceSession> Visit(SessionPlan plan) {
    plan.server = "curator:1";
    return std::make_unique<DeviceSession>(
        SessionParts{.policy = policy_, .offers = offers_, .journal = *journal_, .random = random_},
        std::move(plan));
  }
  std::unique_ptr<DeviceSession> Answer(std::vector<std::string> subjects) {
    return Visit({.server = {}, .subjects = std::move(subjects), .study = "sample"});
  }
  // Carries the session until `stop` says of a step that it is the wanted one, or to its end.
  template <typename Stop>
  SessionStep CarryUntil(DeviceSession& session, Stop stop) {
    while (true) {
      const SessionStep step = session.Next(kNow);
      if (std::holds_alternative<SessionDone>(step) || stop(step)) return step;
      CarryOut(session, step);
    }
  }
  void CarryOut(DeviceSession& session, const SessionStep& step) {
    if (std::holds_alternative<WriteRecords>(step)) {
      ++written_;
      EXPECT_OK(session.RecordsDurable());
    } else if (std::holds_alternative<ReadRow>(step)) {
      ++read_;
      EXPECT_OK(session.TakeRow({.row = {3}, .label = 1}));
    } else {
      const DeviceCall call = std::get<CarryCalls>(step).calls[0];
      std::string response;
      const int32_t code = curator_.Serve(call.method, call.request, response);
      EXPECT_OK(code == 0 ? session.TakeResponse(0, response, kNow)
                          : session.CallFailed(0, Status(static_cast<StatusCode>(code), "no")));
    }
  }
  void CarryToTheEnd(DeviceSession& session) {
    CarryUntil(session, [](const SessionStep&) { return false; });
  }

  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2)};
  OfferPolicy offers_{.curator_key = FakeKey().public_key()};
  std::unique_ptr<Journal> journal_ = *Journal::Open(Journal::NewBytes());
  OpenSslRandom random_;
  ScriptedServices curator_;
  int written_ = 0;
  int read_ = 0;
};

bool Writes(const SessionStep& step) { return std::holds_alternative<WriteRecords>(step); }
bool Reads(const SessionStep& step) { return std::holds_alternative<ReadRow>(step); }

TEST_F(SessionTest, HandsNoReportOutBeforeItsRecordsAreDurable) {
  const auto session = Answer({"me"});
  CarryUntil(*session, Reads);
  EXPECT_THAT(curator_.calls, ElementsAre("GetOffer"));
  ASSERT_OK(session->TakeRow({.row = {3}, .label = 1}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Writes(session->Next(kNow)));  // nothing else, ever
  EXPECT_THAT(journal_->Entries(), IsEmpty());
  ASSERT_OK(session->RecordsDurable());
  EXPECT_THAT(journal_->Entries(), SizeIs(1));
  CarryToTheEnd(*session);
  EXPECT_EQ(session->outcome().deliveries.accepted, 1u);
}

TEST_F(SessionTest, SendsNothingOfAnAnswerThatCouldNotBeWritten) {
  const auto session = Answer({"me"});
  CarryUntil(*session, Reads);
  ASSERT_OK(session->TakeRow({.row = {3}, .label = 1}));
  ASSERT_TRUE(Writes(session->Next(kNow)));
  ASSERT_OK(session->RecordsFailed(ResourceExhaustedError("the disk is full")));
  CarryToTheEnd(*session);
  EXPECT_THAT(session->outcome().answer,
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("full")));
  EXPECT_THAT(curator_.reports.requests, IsEmpty());
  EXPECT_THAT(journal_->Entries(), IsEmpty());
}

TEST_F(SessionTest, SendsWhatWaitsAlthoughAFullQueueAllowsNoAnswer) {
  curator_.reports.failures = 1;
  CarryToTheEnd(*Answer({"me"}));
  policy_.max_waiting = 1;
  const auto session = Visit({.server = {}, .subjects = {"me"}, .study = "another"});
  CarryToTheEnd(*session);
  EXPECT_THAT(session->outcome().answer,
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("waiting")));
  EXPECT_EQ(session->outcome().deliveries.accepted, 1u);
}

TEST_F(SessionTest, ChecksForOptingOutAtEachCallThatItHandsOut) {
  const auto session = Answer({"me"});
  CarryUntil(*session, [](const SessionStep& step) {
    const auto* carried = std::get_if<CarryCalls>(&step);
    return carried != nullptr && std::string(carried->calls[0].method).ends_with("SubmitReports");
  });
  ASSERT_OK(journal_->SetOptedOut(true));
  journal_->Committed();
  EXPECT_FALSE(std::holds_alternative<CarryCalls>(session->Next(kNow)));
  EXPECT_THAT(session->outcome().delivery,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  CarryToTheEnd(*session);
  EXPECT_THAT(curator_.reports.requests, IsEmpty());
}

TEST_F(SessionTest, TakesACallBackWhoseAnswerWasGivenUp) {
  const auto session = Answer({"me"});
  CarryUntil(*session, [](const SessionStep& step) {
    const auto* carried = std::get_if<CarryCalls>(&step);
    return carried != nullptr && std::string(carried->calls[0].method).ends_with("SubmitReports");
  });
  ASSERT_OK(journal_->MarkDelivered("sample", {"me"}));
  journal_->Committed();
  CarryToTheEnd(*session);
  EXPECT_THAT(curator_.reports.requests, IsEmpty());
}

TEST_F(SessionTest, KeepsAnAnswerToAnUnknownStudyUnlessToldToStop) {
  curator_.reports.outcomes = {v1::REPORT_OUTCOME_UNKNOWN_STUDY};
  const auto session = Answer({"me"});
  CarryToTheEnd(*session);
  EXPECT_THAT(session->outcome().deliveries.unknown, ElementsAre("sample"));
  EXPECT_EQ(journal_->CountUndelivered(), 1u);
  CarryToTheEnd(*Visit({.server = {}, .subjects = {"me"}, .stop_unknown = true}));
  EXPECT_EQ(journal_->CountUndelivered(), 0u);
}

TEST_F(SessionTest, AnswersForManyWithOneOfferOneRecordAndOneMessage) {
  curator_.reports.outcomes.assign(3, v1::REPORT_OUTCOME_ACCEPTED);
  const auto session = Answer({"ann", "bob", "cid"});
  CarryToTheEnd(*session);
  EXPECT_OK(session->outcome().answer);
  EXPECT_EQ(session->outcome().deliveries.accepted, 3u);
  EXPECT_EQ(read_, 3);
  EXPECT_THAT(curator_.calls, ElementsAre("GetOffer", "GetCuratorKeys", "SubmitReports"));
  EXPECT_THAT(journal_->Entries(), SizeIs(3));
  // The next ones need neither terms nor trees.
  curator_.studies.tamper = [](v1::GetOfferResponse& response) {
    EXPECT_EQ(response.terms(), "");
    EXPECT_EQ(response.forest_size(), 0);
  };
  const auto more = Visit({.server = {},
                           .subjects = {"dan", "eve", "fay"},
                           .study = "sample",
                           .known = session->privatizer()});
  CarryToTheEnd(*more);
  EXPECT_OK(more->outcome().answer);
  EXPECT_THAT(journal_->Entries(), SizeIs(6));
}

// A gateway has every tree of the forest, a device the one of its ticket.
TEST_F(SessionTest, DeclinesAnOfferThatItHasNoRoomForBeforeARowIsRead) {
  for (const std::vector<std::string>& subjects :
       {std::vector<std::string>{"me"}, std::vector<std::string>{"ann", "bob"}}) {
    offers_.max_offer_bytes = 20;
    const auto small = Answer(subjects);
    CarryToTheEnd(*small);
    EXPECT_THAT(small->outcome().answer,
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has room for 20")));
    EXPECT_EQ(read_, 0);
    EXPECT_THAT(journal_->Entries(), IsEmpty());
  }
  offers_.max_offer_bytes = 4096;
  const auto answered = Answer({"me"});
  CarryToTheEnd(*answered);
  EXPECT_OK(answered->outcome().answer);
}

TEST_F(SessionTest, RefusesASubjectThatIsNamedTwiceBeforeARowIsRead) {
  const auto session = Answer({"me", "me"});
  CarryToTheEnd(*session);
  EXPECT_THAT(session->outcome().answer, StatusIs(StatusCode::kAlreadyExists, HasSubstr("twice")));
  EXPECT_EQ(read_, 0);
}

TEST_F(SessionTest, RefusesToBeToldWhatItDidNotAskFor) {
  const auto session = Answer({"me"});
  EXPECT_THAT(session->RecordsDurable(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
  EXPECT_THAT(session->TakeRow({}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("row")));
  EXPECT_THAT(session->TakeResponse(0, "", kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("call")));
  ASSERT_TRUE(std::holds_alternative<CarryCalls>(session->Next(kNow)));
  EXPECT_THAT(session->CallFailed(1, UnavailableError("no")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("call")));
}

}  // namespace
}  // namespace coppice
