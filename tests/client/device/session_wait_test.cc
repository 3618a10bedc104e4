// When a device sends what it encrypted for a relay: by a clock and draws that the test holds.

#include <cstdio>
#include <memory>
#include <string>
#include <variant>

#include "client/device/run_session.h"
#include "tests/client/device/c/scripted_relay.h"
#include "tests/client/device/first_draw.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::FirstDraw;
using ::coppice::testing::kDealNow;
using ::coppice::testing::OfferOf;
using ::coppice::testing::RelayKey;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::ScriptedRelay;
using ::coppice::testing::TempDir;

constexpr int64_t kSecond = 1000;

class SessionWaitTest : public ::testing::Test {
 protected:
  void SetUp() override { OpenAnew(); }
  void OpenAnew() {
    store_.reset();
    std::remove((dir_.path() + "/journal").c_str());
    Open();
  }
  // The same device after a restart.
  void Open() {
    store_.reset();
    store_ = *JournalStore::Open(dir_.path() + "/journal");
    known_.send_from.reset();
  }
  std::unique_ptr<DeviceSession> Visit(PrivateRandom& random) {
    return std::make_unique<DeviceSession>(SessionParts{.policy = policy_,
                                                        .offers = offers_,
                                                        .journal = store_->journal(),
                                                        .random = random,
                                                        .relay = &known_},
                                           SessionPlan{.server = "relay:8453",
                                                       .route = DeliveryRoute::kThroughRelay,
                                                       .subjects = {"me"},
                                                       .study = "sample"});
  }
  DeviceTime Now() const {
    return {.unix_seconds = kDealNow, .milliseconds_since_boot = since_boot_};
  }
  // Carries the calls, each of which takes a second there and one back, to the one that submits.
  int64_t WaitBeforeSubmit(DeviceSession& session) {
    while (true) {
      const SessionStep step = *NextStep(session, *store_, Now());
      if (const auto* row = std::get_if<ReadRow>(&step)) {
        since_boot_ += work_;
        EXPECT_OK(session.TakeRow(LabelledRow{.row = Row(row->terms.schema->num_features())}));
        continue;
      }
      const auto* carried = std::get_if<CarryCalls>(&step);
      if (carried == nullptr) {
        ADD_FAILURE() << "nothing is submitted: " << session.outcome().answer;
        return -1;
      }
      const DeviceCall call = carried->calls[0];
      const std::string method = call.method;
      if (method.ends_with("SubmitSealedReport")) return carried->wait_milliseconds;
      EXPECT_EQ(carried->wait_milliseconds, 0);
      std::string response;
      EXPECT_EQ(relay_.Serve(method, call.request, response), 0);
      since_boot_ += 2 * kSecond;
      came_ = since_boot_;
      EXPECT_OK(session.TakeResponse(0, response, Now()));
    }
  }

  TempDir dir_;
  int64_t since_boot_ = 0;
  int64_t came_ = 0;
  int64_t work_ = 0;
  const Policy policy_{.max_epsilon = *Budget::FromEpsilon(2)};
  const OfferPolicy offers_{.curator_key = FakeKey().public_key()};
  KnownRelay known_{.policy = {.relay_key = RelayKey().public_key()}};
  ScriptedRelay relay_;
  std::unique_ptr<JournalStore> store_;
};

// The network sees when a ticket came and when a report went: the time between must not tell which
// tree made the work longer.
TEST_F(SessionWaitTest, SendsAtTheDrawnTimeWhateverTheTreeIs) {
  for (uint8_t ticket = 0; ticket < 20; ++ticket) {
    relay_.relay.dealt = OfferOf(SampleTicket(ticket));
    if (ticket == 19) relay_.relay.dealt.set_tree("none");
    OpenAnew();
    work_ = 100 * ticket;
    FirstDraw random(1234);
    const auto session = Visit(random);
    const int64_t wait = WaitBeforeSubmit(*session);
    EXPECT_EQ(since_boot_ + wait - came_, 6000 + 1234) << int{ticket};
  }
}

TEST_F(SessionWaitTest, TellsWhatIsLeftOfTheWait) {
  FirstDraw random(0);
  const auto session = Visit(random);
  EXPECT_EQ(WaitBeforeSubmit(*session), 6 * kSecond);
  since_boot_ += 4 * kSecond;
  EXPECT_EQ(WaitBeforeSubmit(*session), 2 * kSecond);
  since_boot_ += 4 * kSecond;
  EXPECT_EQ(WaitBeforeSubmit(*session), 0);
  // A later session of the process keeps to it.
  FirstDraw another(54'000);
  const auto later = Visit(another);
  EXPECT_EQ(WaitBeforeSubmit(*later), 0);
}

// Else who came back from a restart would be seen by the time at which it sends.
TEST_F(SessionWaitTest, WaitsForANewDelayAfterARestart) {
  FirstDraw first(0);
  const auto session = Visit(first);
  WaitBeforeSubmit(*session);
  for (const uint64_t draw : {0, 1234, 54'000}) {
    since_boot_ += 3600 * kSecond;
    Open();
    FirstDraw random(draw);
    const auto after = Visit(random);
    EXPECT_EQ(WaitBeforeSubmit(*after), static_cast<int64_t>(6000 + draw));
  }
}

}  // namespace
}  // namespace coppice
