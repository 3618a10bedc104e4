// A frozen batch on its way to a curator that is down, forgets, refuses or breaks it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/calls.h"
#include "tests/server/relay/dealing/relay_fixture.h"

namespace coppice::relay::testing {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

const grpc::Status kDown = {grpc::StatusCode::UNAVAILABLE, "not now"};
// Each call has its own request id, as in the curator's log.
grpc::Status Sealed(int call) {
  return {grpc::StatusCode::FAILED_PRECONDITION,
          StrCat("study wells is sealed (request id ", call, ")")};
}

class DeliveryTest : public RelayTest {
 protected:
  // Freezes a batch of `reports`, without a next deal, while the curator is down.
  void Freeze(uint64_t reports) {
    options_.tickets = reports;
    OpenDeal();
    curator_.offers.failure = kDown;
    curator_.batches.failure = kDown;
    SubmitAll(TakeAll());
    Work();
    ASSERT_EQ(Totals().waiting, 1u);
  }
  void LetPausesPass() {
    Advance(absl::Minutes(11));
    Work();
  }
  bool HoldsNothing() { return std::filesystem::is_empty(EpochFolders()); }
  std::vector<v1::DeliverBatchRequest> Requests() {
    std::vector<v1::DeliverBatchRequest> requests;
    for (const std::string& bytes : curator_.batches.requests) {
      requests.emplace_back().ParseFromString(bytes);
    }
    return requests;
  }
};

TEST_F(DeliveryTest, PartsAreCutInTheOrderOfTickets) {
  Freeze(2500);
  curator_.batches.failure = grpc::Status::OK;
  curator_.batches.requests.clear();
  LetPausesPass();
  const auto requests = Requests();
  ASSERT_EQ(requests.size(), 4u);  // one that asks, and three parts
  EXPECT_EQ(requests[0].tickets(), "");
  for (size_t part = 1; part < 4; ++part) {
    EXPECT_EQ(requests[part].first_report(), 1000 * (part - 1));
    EXPECT_EQ(requests[part].tickets().size(), part < 3 ? 32000u : 16000u);
  }
  EXPECT_TRUE(std::is_sorted(OnlyBatch().begin(), OnlyBatch().end()));
  EXPECT_TRUE(HoldsNothing());
}

// A curator may be configured to take only a megabyte (--max-message-bytes).
TEST_F(DeliveryTest, PartsOfLongReportsStayBelowAMegabyte) {
  Manifest manifest = RelayedManifest(RelayedTerms());
  manifest.sealing->payload_bytes = 60'000;
  curator_.offers.manifest = SignManifest(KeyOf(1), manifest);
  options_.tickets = 40;
  OpenDeal();
  for (const Offered& offered : TakeAll()) {
    SealedReport report = ReportFor(offered.offer);
    report.ciphertext.resize(2 + 60'000 + seal::kTagBytes);
    ASSERT_EQ(Submit(offered.epoch, report), SubmitOutcome::kStored);
  }
  Work();
  EXPECT_EQ(OnlyBatch().size(), 40u);
  EXPECT_EQ(curator_.batches.calls, 4);
  for (const std::string& request : curator_.batches.requests) {
    EXPECT_LT(request.size(), size_t{1} << 20);
  }
}

TEST_F(DeliveryTest, PausesGrowAlsoIfItsQuestionsAreAnswered) {
  Freeze(12);
  curator_.batches.failure = grpc::Status::OK;
  curator_.batches.part_failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "the disk is full"};
  for (int i = 0; i < 12; ++i) {
    Advance(absl::Minutes(5));
    Work();
  }
  curator_.batches.calls = 0;
  Advance(absl::Minutes(5));
  Work();
  EXPECT_EQ(curator_.batches.calls, 2);  // one that asks, and one that sends
  EXPECT_EQ(Totals().waiting, 1u);
  curator_.batches.calls = 0;
  Advance(absl::Minutes(4));
  Work();
  EXPECT_EQ(curator_.batches.calls, 0);
}

TEST_F(DeliveryTest, TheHeaderSaysWhatDevicesWereToldAndTheRelaySigns) {
  options_.tickets = 4;
  OpenDeal();
  const RelayTerms promised = Promised();
  SubmitAll(TakeAll());
  Work();
  const auto requests = Requests();
  ASSERT_FALSE(requests.empty());
  ASSERT_OK_AND_ASSIGN(const BatchHeader header, ReadBatchHeader(requests[0].header()));
  std::vector<std::string> leaves = OnlyBatch();
  EXPECT_EQ(header.root, MakeMerkleTree(leaves).root);
  EXPECT_EQ(header.reports, 4u);
  EXPECT_EQ(header.study, promised.study);
  EXPECT_EQ(header.fingerprint, promised.fingerprint);
  EXPECT_EQ(header.sealing_key, promised.sealing_key);
  EXPECT_EQ(header.epoch, promised.epoch);
  EXPECT_EQ(header.min_batch, promised.min_batch);
  EXPECT_EQ(header.relay_key, promised.relay_key);
  Signature signature{};
  for (const auto& request : requests) {
    ASSERT_EQ(request.signature().size(), signature.size());
    std::copy(request.signature().begin(), request.signature().end(), signature.begin());
    EXPECT_TRUE(IsSignedBy(KeyOf(9).public_key(), kBatchDomain, request.header(), signature));
    EXPECT_EQ(request.study(), "studies/wells");
  }
}

TEST_F(DeliveryTest, ACuratorThatIsDownForDaysIsWaitedFor) {
  Freeze(12);
  for (int day = 0; day < 9; ++day) {
    Advance(absl::Hours(24));
    Work();
    if (day % 3 == 0) Open();
  }
  EXPECT_EQ(Totals().waiting, 1u);
  curator_.batches.failure = grpc::Status::OK;
  LetPausesPass();
  EXPECT_EQ(OnlyBatch().size(), 12u);
  EXPECT_EQ(Totals().delivered, 1u);
}

TEST_F(DeliveryTest, NothingIsStoredTwiceIfAnswersAreLost) {
  Freeze(2500);
  curator_.batches.failure = grpc::Status::OK;
  curator_.batches.requests.clear();
  curator_.batches.lose_answers = 3;
  for (int i = 0; i < 6; ++i) LetPausesPass();
  EXPECT_EQ(OnlyBatch().size(), 2500u);
  EXPECT_TRUE(std::is_sorted(OnlyBatch().begin(), OnlyBatch().end()));
  EXPECT_EQ(std::adjacent_find(OnlyBatch().begin(), OnlyBatch().end()), OnlyBatch().end());
  EXPECT_EQ(Totals().delivered, 1u);
  EXPECT_TRUE(HoldsNothing());
}

TEST_F(DeliveryTest, ALostLastAnswerIsAskedForAgain) {
  Freeze(12);
  curator_.batches.failure = grpc::Status::OK;
  Advance(absl::Minutes(11));
  relay_->Step();  // asks
  curator_.batches.lose_answers = 1;
  Work();
  EXPECT_EQ(Totals().waiting, 1u);
  Open();
  Work();
  EXPECT_EQ(Totals().delivered, 1u);
  EXPECT_EQ(OnlyBatch().size(), 12u);
}

TEST_F(DeliveryTest, ARestartInTheMiddleGoesOn) {
  Freeze(2500);
  curator_.batches.failure = grpc::Status::OK;
  curator_.offers.failure = kDown;
  Advance(absl::Minutes(11));
  for (int step = 0; step < 2; ++step) relay_->Step();
  EXPECT_EQ(OnlyBatch().size(), 1000u);
  Open();
  Work();
  EXPECT_EQ(OnlyBatch().size(), 2500u);
  EXPECT_TRUE(HoldsNothing());
}

// The curator lost its spool and asks from the start, so the relay sends the same bytes again.
TEST_F(DeliveryTest, ACuratorThatForgotGetsAllOfItAgain) {
  Freeze(2500);
  curator_.batches.failure = grpc::Status::OK;
  Advance(absl::Minutes(11));
  for (int step = 0; step < 3; ++step) relay_->Step();
  EXPECT_EQ(OnlyBatch().size(), 2000u);
  curator_.batches.batches.clear();
  for (int i = 0; i < 6; ++i) LetPausesPass();
  EXPECT_EQ(OnlyBatch().size(), 2500u);
}

TEST_F(DeliveryTest, AStudyThatIsSealedTakesNoBatch) {
  Freeze(12);
  events_.clear();
  Advance(absl::Minutes(50));
  int call = 0;
  const auto refuse = [&] {
    curator_.batches.failure = Sealed(++call);
    LetPausesPass();
  };
  for (int i = 0; i < 8; ++i) refuse();
  EXPECT_EQ(Totals().waiting, 1u) << "the curator may mend what makes it refuse";
  for (int i = 0; i < 16; ++i) refuse();
  EXPECT_TRUE(HoldsNothing());
  EXPECT_EQ(Totals().refused, 1u);
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("study wells is sealed")));
}

// A store that another daemon has taken over refuses like this for a while.
TEST_F(DeliveryTest, ARefusalThatDoesNotLastErasesNothing) {
  const grpc::Status taken_over = {grpc::StatusCode::FAILED_PRECONDITION, "another has the store"};
  Freeze(12);
  for (int i = 0; i < 60; ++i) {
    curator_.batches.failure = i % 15 == 14 ? kDown : Sealed(i);
    LetPausesPass();
    curator_.batches.failure = i % 10 == 9 ? taken_over : Sealed(i);
    LetPausesPass();
  }
  EXPECT_EQ(Totals().waiting, 1u);
  curator_.batches.failure = grpc::Status::OK;
  LetPausesPass();
  EXPECT_EQ(OnlyBatch().size(), 12u);
}

// The relay may have lost its grant, or a new curator may be at the address.
TEST_F(DeliveryTest, ABatchWaitsWhileTheCuratorShowsNoSuchStudy) {
  Freeze(12);
  curator_.batches.failure = {grpc::StatusCode::NOT_FOUND, "there is no study wells"};
  for (int day = 0; day < 20; ++day) {
    for (int i = 0; i < 30; ++i) LetPausesPass();
    Advance(absl::Hours(18));
  }
  EXPECT_EQ(Totals().waiting, 1u);
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("there is no study wells")));
  Advance(absl::Hours(24 * 20));  // the study has expired
  Work();
  EXPECT_EQ(Totals().refused, 1u);
  EXPECT_TRUE(HoldsNothing());
}

TEST_F(DeliveryTest, ABatchWaitsWhileTheRelayHasNoRole) {
  Freeze(12);
  curator_.batches.failure = {grpc::StatusCode::PERMISSION_DENIED, "it takes the role relay"};
  for (int i = 0; i < 20; ++i) {
    Advance(absl::Hours(24));
    Work();
  }
  EXPECT_EQ(Totals().waiting, 1u);
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("the role relay")));
  Advance(absl::Hours(24 * 20));  // the study has expired
  Work();
  EXPECT_EQ(Totals().waiting, 0u);
  EXPECT_EQ(Totals().refused, 1u);
  EXPECT_TRUE(HoldsNothing());
}

// The curator's clock may be right and the relay's wrong.
TEST_F(DeliveryTest, ABatchThatNobodyAnsweredForIsKeptBeyondTheExpiry) {
  Freeze(12);
  Advance(absl::Hours(24 * 60));
  Work();
  EXPECT_EQ(Totals().waiting, 1u);
}

TEST_F(DeliveryTest, ABrokenBatchIsErasedAndLogged) {
  Freeze(12);
  curator_.batches.failure = grpc::Status::OK;
  curator_.batches.at_the_end = v1::BATCH_STATE_BROKEN;
  LetPausesPass();
  EXPECT_TRUE(HoldsNothing());
  EXPECT_EQ(Totals().refused, 1u);
  EXPECT_EQ(Totals().delivered, 0u);
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("are lost")));
}

TEST_F(DeliveryTest, AnAnswerThatMakesNoSenseErasesNothing) {
  Freeze(12);
  curator_.batches.failure = grpc::Status::OK;
  for (const auto state : {v1::BATCH_STATE_UNSPECIFIED, v1::BATCH_STATE_RECEIVING}) {
    curator_.batches.at_the_end = state;
    LetPausesPass();
    EXPECT_EQ(Totals().waiting, 1u);
  }
  curator_.batches.at_the_end = v1::BATCH_STATE_COUNTED;
  LetPausesPass();
  EXPECT_EQ(Totals().delivered, 1u);
}

TEST_F(DeliveryTest, NoPoolIsOpenedWhileTwoBatchesWait) {
  Freeze(12);
  curator_.offers.failure = grpc::Status::OK;
  LetPausesPass();
  ASSERT_OK(relay_->Ready());
  SubmitAll(TakeAll());
  LetPausesPass();
  EXPECT_EQ(Totals().waiting, 2u);
  EXPECT_EQ(Totals().phase, StudyTotals::Phase::kOpening);
  const uint64_t tickets = curator_.offers.next_ticket;
  Open();
  LetPausesPass();
  EXPECT_EQ(curator_.offers.next_ticket, tickets);
  curator_.batches.failure = grpc::Status::OK;
  LetPausesPass();
  EXPECT_EQ(curator_.batches.batches.size(), 2u);
  EXPECT_OK(relay_->Ready());
}

void Damage(const std::string& path, std::streamoff offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  char byte = 0;
  file.seekg(offset).get(byte);
  file.seekp(offset).put(static_cast<char>(byte ^ 1));
  EXPECT_TRUE(file.good()) << path;
}

TEST_F(DeliveryTest, ABatchThatRotsStopsNoOther) {
  Freeze(12);
  const std::string rotten = StrCat(EpochFolders(), "/01", std::string(30, '0'));
  curator_.offers.failure = grpc::Status::OK;
  LetPausesPass();
  SubmitAll(TakeAll());
  Work();
  ASSERT_EQ(Totals().waiting, 2u);
  Damage(rotten + "/pool", 4096 + 60);
  curator_.batches.failure = grpc::Status::OK;
  for (int i = 0; i < 3; ++i) LetPausesPass();
  EXPECT_EQ(Totals().delivered, 1u);
  EXPECT_EQ(Totals().waiting, 1u);
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("cannot be read")));
  EXPECT_OK(relay_->Ready()) << "the next deal is open";
  for (int start = 0; start < 2; ++start) {
    events_.clear();
    Open();
    Work();
    EXPECT_OK(relay_->Ready());
    EXPECT_EQ(Totals().waiting, 1u);
    EXPECT_THAT(events_, ::testing::Contains(HasSubstr(rotten + ".damaged")));
  }
  EXPECT_TRUE(std::filesystem::exists(rotten + ".damaged/pool"));
}

TEST_F(DeliveryTest, DamagedReportsOfAnOpenDealAreLeftOutWithAWarning) {
  options_.tickets = 5;
  OpenDeal();
  const std::vector<Offered> all = TakeAll();
  SubmitAll({all.begin(), all.end() - 1});
  SealedReport last = ReportFor(all.back().offer);
  const std::string pool = StrCat(EpochFolders(), "/01", std::string(30, '0'), "/pool");
  const std::streamoff slot = 1 + 32 + kCiphertextBytes + 8;
  for (int i = 0; i < 5; ++i) Damage(pool, 4096 + i * slot + 9);
  EXPECT_EQ(Submit(all.back().epoch, last), SubmitOutcome::kStored);
  Work();
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("4 reports that were stored cannot be read")));
}

TEST_F(DeliveryTest, AnOpenDealThatIsDamagedIsSetAside) {
  OpenDeal();
  const Offered offered = *Take();
  relay_.reset();
  Damage(StrCat(EpochFolders(), "/01", std::string(30, '0'), "/tickets"), 5);
  Open();
  Work();
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("is set aside")));
  EXPECT_NE(OpenEpoch(), offered.epoch);
  StatusOr<SubmitOutcome> answer;
  relay_->Submit(offered.epoch, ReportFor(offered.offer),
                 [&](StatusOr<SubmitOutcome> outcome) { answer = outcome; });
  EXPECT_THAT(answer, StatusIs(StatusCode::kUnavailable, HasSubstr("send the report again")));
}

TEST_F(DeliveryTest, TwoRelaysMakeTwoBatches) {
  Freeze(4);
  curator_.batches.failure = grpc::Status::OK;
  LetPausesPass();
  relay_.reset();
  const TempDir other;
  options_.data_dir = other.path();
  key_ = KeyOf(10);
  epochs_ = 0;  // even if both draw the same name
  curator_.offers.failure = grpc::Status::OK;
  OpenDeal();
  SubmitAll(TakeAll());
  Work();
  ASSERT_EQ(curator_.batches.batches.size(), 2u);
  std::vector<BatchHeader> headers;
  for (const auto& [bytes, reports] : curator_.batches.batches) {
    headers.push_back(*ReadBatchHeader(bytes));
    EXPECT_EQ(reports.size(), 4u);
  }
  EXPECT_NE(headers[0].relay_key, headers[1].relay_key);
}

}  // namespace
}  // namespace coppice::relay::testing
