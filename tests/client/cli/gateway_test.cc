// A gateway: sessions of many devices behind one journal.

#include "client/cli/studies/gateway.h"

#include <memory>
#include <string>
#include <vector>

#include "common/privacy/openssl_random.h"
#include "tests/client/device/c/scripted_curator.h"
#include "tests/client/device/c/scripted_relay.h"
#include "tests/client/device/served_carrier.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::RelayKey;
using ::coppice::testing::ScriptedRelay;
using ::coppice::testing::ScriptedServices;
using ::coppice::testing::ServedCarrier;
using ::coppice::testing::SignDeal;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr size_t kRows = 5;

TableFile MakeFile() {
  auto schema = std::make_shared<const Schema>(testing::SampleSchema());
  TableFile file{Table(schema), {}};
  file.ids = {"ann", "bob", "cid", "dan", "eve"};
  for (size_t row = 0; row < kRows; ++row) {
    file.table.Append({static_cast<double>(row)}, static_cast<uint32_t>(row % 2));
  }
  return file;
}

// Counts the calls of one method, and lets some of them fail.
template <typename Services>
class GatewayTest : public ::testing::Test {
 protected:
  GatewayParts Parts(DeliveryRoute route) {
    return {.device = {.policy = policy_,
                       .offers = offers_,
                       .journal = store_->journal(),
                       .random = random_,
                       .relay = &relay_},
            .journal = *store_,
            .carrier = carrier_,
            .server = "server:1",
            .route = route,
            .stop = [this] { return stops_; }};
  }
  Status AnswerAll(DeliveryRoute route, GatewayCounts& counts, size_t batch = 1000) {
    const std::vector<std::string> no_tokens;
    return AnswerRows(
        Parts(route), {.batch = batch},
        {.study = "sample",
         .known = nullptr,
         .file = file_,
         .rows = kRows,
         .submission_tokens = no_tokens},
        [this](uint64_t done) { progress_.push_back(done); }, counts);
  }

  TempDir dir_;
  const TableFile file_ = MakeFile();
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2)};
  const OfferPolicy offers_{.curator_key = FakeKey().public_key()};
  KnownRelay relay_{.policy = {.relay_key = RelayKey().public_key(), .max_send_delay_seconds = 0}};
  std::unique_ptr<JournalStore> store_ = *JournalStore::Open(dir_.path() + "/journal");
  OpenSslRandom random_;
  Services services_;
  ServedCarrier<Services> carrier_{services_};
  std::vector<uint64_t> progress_;
  bool stops_ = false;
};

using DirectGatewayTest = GatewayTest<ScriptedServices>;

TEST_F(DirectGatewayTest, LetsEveryRowAnswerAsADeviceOfItsOwn) {
  services_.reports.outcomes.assign(2, v1::REPORT_OUTCOME_ACCEPTED);
  GatewayCounts counts;
  EXPECT_THAT(AnswerAll(DeliveryRoute::kDirect, counts, /*batch=*/2),
              StatusIs(StatusCode::kDataLoss, HasSubstr("")));  // the last one has one report
  EXPECT_EQ(counts.accepted, 4u);
  EXPECT_THAT(progress_, ElementsAre(2, 4));
  EXPECT_EQ(store_->journal().CountUndelivered(), 1u);
  services_.reports.outcomes = {v1::REPORT_OUTCOME_DUPLICATE};
  GatewayCounts resumed;
  ASSERT_OK(Resume(Parts(DeliveryRoute::kDirect), {}, /*study=*/"", resumed));
  EXPECT_EQ(resumed.duplicate, 1u);
  GatewayCounts again;
  ASSERT_OK(AnswerAll(DeliveryRoute::kDirect, again));
  EXPECT_EQ(again.answered_before, kRows);
}

TEST_F(DirectGatewayTest, CountsRefusalsByTheirReason) {
  services_.reports.outcomes.assign(kRows, v1::REPORT_OUTCOME_STUDY_SEALED);
  GatewayCounts counts;
  ASSERT_OK(AnswerAll(DeliveryRoute::kDirect, counts));
  EXPECT_THAT(counts.refused, ElementsAre(Pair("study sealed", kRows)));
  EXPECT_EQ(store_->journal().CountUndelivered(), 0u);
}

TEST_F(DirectGatewayTest, StopsBeforeTheNextCall) {
  stops_ = true;
  GatewayCounts counts;
  EXPECT_THAT(AnswerAll(DeliveryRoute::kDirect, counts),
              StatusIs(StatusCode::kCancelled, HasSubstr("stopped")));
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(DirectGatewayTest, SendsNothingThatWaitsOnceTheOwnerOptedOut) {
  services_.reports.failures = 1;
  GatewayCounts counts;
  EXPECT_FALSE(AnswerAll(DeliveryRoute::kDirect, counts).ok());
  ASSERT_OK(store_->Change([](Journal& journal) { return journal.SetOptedOut(true); }));
  services_.calls.clear();
  EXPECT_THAT(Resume(Parts(DeliveryRoute::kDirect), {}, /*study=*/"", counts),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  EXPECT_THAT(services_.calls, IsEmpty());
}

class RelayGatewayTest : public GatewayTest<ScriptedRelay> {
 protected:
  RelayGatewayTest() {
    RelayTerms terms = testing::PromisedTerms();
    terms.deal_until_unix_seconds = terms.freeze_at_unix_seconds = 3'900'000'000;
    services_.relay.offer = SignDeal(terms, testing::Sign(FakeKey(), testing::SealedManifest()));
  }
};

TEST_F(RelayGatewayTest, TakesATicketForEachRow) {
  GatewayCounts counts;
  ASSERT_OK(AnswerAll(DeliveryRoute::kThroughRelay, counts));
  EXPECT_EQ(counts.dealt, kRows);
  EXPECT_EQ(counts.accepted, kRows);
  EXPECT_THAT(services_.relay.requests, SizeIs(kRows));
}

TEST_F(RelayGatewayTest, SendsWhatWaitsWithTheSameBytes) {
  services_.relay.failures = 1000;
  GatewayCounts counts;
  EXPECT_FALSE(AnswerAll(DeliveryRoute::kThroughRelay, counts).ok());
  EXPECT_EQ(store_->journal().CountUndelivered(), kRows);
  services_.relay.failures = 0;
  services_.relay.requests.clear();
  GatewayCounts resumed;
  ASSERT_OK(Resume(Parts(DeliveryRoute::kThroughRelay), {}, /*study=*/"", resumed));
  EXPECT_EQ(resumed.accepted, kRows);
}

TEST_F(RelayGatewayTest, ReturnsTheErrorWhereTicketsEnd) {
  services_.relay.take = {grpc::StatusCode::RESOURCE_EXHAUSTED, "no ticket is left"};
  GatewayCounts counts;
  EXPECT_THAT(AnswerAll(DeliveryRoute::kThroughRelay, counts),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("")));
  EXPECT_THAT(store_->journal().Entries(), IsEmpty());
}

}  // namespace
}  // namespace coppice::cli
