// What a device sends to a curator, what a server in between makes of it, and what the device then
// believes.

#include "client/device/direct_reports.h"

#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/calls.h"
#include "coppice/v1/report.pb.h"
#include "coppice/v1/study.pb.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/sealed_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::DirectKeyOf;
using ::coppice::testing::FakeKey;
using ::coppice::testing::SampleManifest;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SealedReportsEnd;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kReportBytes = 16;

PrivateReport ReportOf(uint8_t ticket, std::string payload, std::string shown = "") {
  return {.study = "sample",
          .fingerprint = {1},
          .ticket = SampleTicket(ticket),
          .payload = std::move(payload),
          .public_values = std::move(shown)};
}

class DirectReportsTest : public ::testing::Test {
 protected:
  StatusOr<DirectReports> Seal(const std::vector<PrivateReport>& reports) {
    std::vector<const PrivateReport*> pointers;
    for (const PrivateReport& report : reports) pointers.push_back(&report);
    return DirectReports::Seal(DirectKeyOf(key_), kReportBytes, pointers);
  }
  static v1::SubmitReportsRequest Parse(const DirectReports& call) {
    v1::SubmitReportsRequest request;
    EXPECT_TRUE(request.ParseFromString(call.request()));
    return request;
  }
  // The answer of the curator to the message that it opened last.
  std::string Answer(const std::vector<int>& outcomes) const {
    v1::SubmitReportsResponse response;
    response.set_sealed_outcomes(curator_.Seal(outcomes));
    return response.SerializeAsString();
  }

  const seal::SealingKey key_ = *seal::SealingKey::Generate();
  SealedReportsEnd curator_{key_};
};

TEST_F(DirectReportsTest, TheCuratorReadsTheReportsAndTheDeviceTheirOutcomes) {
  ASSERT_OK_AND_ASSIGN(const DirectReports call,
                       Seal({ReportOf(1, "payload", "shown"), ReportOf(2, "other")}));
  const auto content = curator_.Open(Parse(call));
  ASSERT_TRUE(content.has_value());
  EXPECT_EQ(content->study(), "studies/sample");
  ASSERT_EQ(content->reports_size(), 2);
  EXPECT_EQ(content->reports(0).payload(), "payload");
  EXPECT_EQ(content->reports(0).public_values(), "shown");
  EXPECT_EQ(content->reports(1).ticket(), SampleTicket(2).ToBytes());
  ASSERT_OK_AND_ASSIGN(const auto results, call.Open(Answer({1, 7})));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].delivery, Delivery::kAccepted);
  EXPECT_EQ(results[1].delivery, Delivery::kRefused);
  EXPECT_EQ(results[1].reason, "bad payload");
}

TEST_F(DirectReportsTest, EveryOutcomeIsFinalButAnUnknownStudy) {
  for (int number = 1; number <= 20; ++number) {
    ASSERT_OK_AND_ASSIGN(const DirectReports call, Seal({ReportOf(1, "payload")}));
    ASSERT_TRUE(curator_.Open(Parse(call)).has_value());
    ASSERT_OK_AND_ASSIGN(const auto results, call.Open(Answer({number})));
    const Delivery expected = number == 1   ? Delivery::kAccepted
                              : number == 2 ? Delivery::kDuplicate
                              : number == 3 ? Delivery::kUnknownStudy
                                            : Delivery::kRefused;
    EXPECT_EQ(results[0].delivery, expected) << number;
  }
}

TEST_F(DirectReportsTest, RequestsOfOneStudyHaveOneLengthAndShowNothing) {
  std::set<size_t> lengths;
  for (const PrivateReport& report :
       {ReportOf(1, ""), ReportOf(2, "payload"), ReportOf(3, "p", "a public value"),
        ReportOf(4, std::string(kReportBytes, 'p'))}) {
    ASSERT_OK_AND_ASSIGN(const DirectReports call, Seal({report}));
    lengths.insert(call.request().size());
    for (const std::string& secret : {std::string("sample"), std::string("payload"),
                                      std::string("a public value"), report.ticket.ToBytes()}) {
      EXPECT_FALSE(StrContains(call.request(), secret));
    }
  }
  EXPECT_EQ(lengths.size(), 1u);
}

TEST_F(DirectReportsTest, EachTryIsSealedAnew) {
  const std::vector<PrivateReport> reports = {ReportOf(1, "payload")};
  ASSERT_OK_AND_ASSIGN(const DirectReports first, Seal(reports));
  ASSERT_OK_AND_ASSIGN(const DirectReports second, Seal(reports));
  EXPECT_NE(first.request(), second.request());
  ASSERT_TRUE(curator_.Open(Parse(first)).has_value());
  EXPECT_THAT(second.Open(Answer({1})), StatusIs(StatusCode::kDataLoss, HasSubstr("they wait")));
}

// A lure answers whatever it can make up.
TEST_F(DirectReportsTest, NobodyButTheCuratorCanSayAccepted) {
  ASSERT_OK_AND_ASSIGN(const DirectReports call, Seal({ReportOf(1, "payload")}));
  ASSERT_TRUE(curator_.Open(Parse(call)).has_value());
  const std::string answer = Answer({1});
  EXPECT_OK(call.Open(answer));
  for (size_t i = 0; i < answer.size(); ++i) {
    std::string changed = answer;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(call.Open(changed).ok()) << i;
    EXPECT_FALSE(call.Open(answer.substr(0, i)).ok()) << i;
  }
  const seal::SealingKey lures = *seal::SealingKey::Generate();
  SealedReportsEnd lure(lures);
  EXPECT_FALSE(lure.Open(Parse(call)).has_value());
  const PrivateReport own = ReportOf(1, "payload");
  const DirectReports to_lure = *DirectReports::Seal(DirectKeyOf(lures), kReportBytes, {&own});
  ASSERT_TRUE(lure.Open(Parse(to_lure)).has_value());
  v1::SubmitReportsResponse accepted;
  accepted.set_sealed_outcomes(lure.Seal({1}));
  EXPECT_OK(to_lure.Open(accepted.SerializeAsString()));
  for (const std::string& said : {accepted.SerializeAsString(), std::string(),
                                  std::string("\x0a\x01\x01"), std::string("\xff")}) {
    EXPECT_THAT(call.Open(said), StatusIs(StatusCode::kDataLoss, Not(HasSubstr("sample"))));
  }
}

TEST_F(DirectReportsTest, AnotherNumberOfOutcomesSaysNothing) {
  ASSERT_OK_AND_ASSIGN(const DirectReports call, Seal({ReportOf(1, "p"), ReportOf(2, "p")}));
  ASSERT_TRUE(curator_.Open(Parse(call)).has_value());
  for (const std::vector<int>& outcomes : {std::vector<int>(), {1}, {1, 1, 1}, {1, 0}}) {
    EXPECT_EQ(call.Open(Answer(outcomes)).status().code(), StatusCode::kDataLoss);
  }
}

TEST_F(DirectReportsTest, RefusesWhatWouldTellReportsApart) {
  EXPECT_THAT(Seal({ReportOf(1, std::string(kReportBytes + 1, 'p'))}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("longer than")));
  PrivateReport other = ReportOf(2, "p");
  other.study = "other";
  EXPECT_THAT(Seal({ReportOf(1, "p"), other}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one study")));
  EXPECT_EQ(Seal({}).status().code(), StatusCode::kInvalidArgument);
}

TEST(ReportsPerCallTest, TakesWhatGoesTogetherAndFits) {
  std::vector<PrivateReport> reports(1500, ReportOf(1, "p"));
  std::vector<const PrivateReport*> pointers;
  for (const PrivateReport& report : reports) pointers.push_back(&report);
  EXPECT_EQ(ReportsPerCall(pointers, 8, 2000), 1000u);
  EXPECT_EQ(ReportsPerCall(pointers, 8, 10), 10u);
  EXPECT_EQ(ReportsPerCall(pointers, 100'000, 1000), seal::MaxDirectReports("sample", 100'000));
  reports[3].study = "other";
  EXPECT_EQ(ReportsPerCall(pointers, 8, 1000), 3u);
  EXPECT_EQ(ReportsPerCall({}, 8, 1000), 0u);
}

TEST(CheckReportFitsTest, DeclinesBeforeARowIsRead) {
  const Manifest manifest = SampleManifest();
  EXPECT_OK(CheckReportFits(manifest, manifest.direct->report_bytes));
  EXPECT_THAT(CheckReportFits(manifest, manifest.direct->report_bytes + uint64_t{1}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is declined")));
}

class ProofTest : public ::testing::Test {
 protected:
  v1::GetCuratorKeysResponse Response() const {
    v1::GetCuratorKeysResponse response;
    const PublicKey key = FakeKey().public_key();
    response.set_key(std::string(key.begin(), key.end()));
    response.set_direct_suite(direct_.suite);
    response.set_direct_key(std::string(direct_.key.begin(), direct_.key.end()));
    const Signature proof = *FakeKey().Sign(kCuratorDomain, ProvenBytes(challenge_, direct_));
    response.set_proof(std::string(proof.begin(), proof.end()));
    return response;
  }
  StatusOr<CuratorProof> Open(const v1::GetCuratorKeysResponse& response) const {
    return OpenProof(response.SerializeAsString(), challenge_);
  }

  const std::string challenge_ = std::string(kChallengeBytes, 'c');
  const DirectKey direct_ = DirectKeyOf(*seal::SealingKey::Generate());
};

TEST_F(ProofTest, TellsTheKeyAndTheDirectKey) {
  ASSERT_OK_AND_ASSIGN(const CuratorProof proof, Open(Response()));
  EXPECT_EQ(proof.key, FakeKey().public_key());
  EXPECT_EQ(proof.direct, direct_);
}

// Otherwise who passes the proof on would hand out a key of its own.
TEST_F(ProofTest, CoversTheDirectKey) {
  v1::GetCuratorKeysResponse response = Response();
  response.mutable_direct_key()->back() ^= 1;
  EXPECT_EQ(Open(response).status().code(), StatusCode::kFailedPrecondition);
  response = Response();
  response.set_direct_suite(3);
  EXPECT_EQ(Open(response).status().code(), StatusCode::kFailedPrecondition);
  response = Response();
  response.clear_direct_key();
  EXPECT_FALSE(Open(response).ok());
  response = Response();
  response.clear_proof();
  EXPECT_EQ(Open(response).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(ProofTest, AnswersOneChallenge) {
  EXPECT_EQ(
      OpenProof(Response().SerializeAsString(), std::string(kChallengeBytes, 'd')).status().code(),
      StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace coppice
