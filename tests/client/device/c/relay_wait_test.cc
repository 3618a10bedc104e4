// When a device in C sends what it sealed: by a clock and draws that the test holds.

#include <memory>
#include <string>
#include <utility>

#include "client/device/c/visit.h"
#include "common/privacy/openssl_random.h"
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

class RelayWaitTest : public ::testing::Test {
 protected:
  void SetUp() override { OpenAnew(); }
  void OpenAnew() {
    Close();
    std::remove((dir_.path() + "/journal").c_str());
    Open();
  }
  void Close() {
    relayed_.reset();
    respondent_.reset();
    trust_.reset();
    journal_.reset();
  }
  // The same device after a restart.
  void Open() {
    Close();
    journal_ = *Journal::Open(dir_.path() + "/journal");
    trust_ = std::make_unique<Trust>(OfferPolicy{.curator_key = FakeKey().public_key()}, *journal_,
                                     [] { return kDealNow; });
    respondent_ = std::make_unique<Respondent>("me", policy_, *journal_);
    relayed_ =
        std::make_unique<RelayedRespondent>("me", policy_, relay_policy_, *journal_, *trust_);
  }
  RelayVisit Visit(PrivateRandom& random) {
    const VisitParts parts{.respondent = *respondent_,
                           .relayed = relayed_.get(),
                           .journal = *journal_,
                           .trust = *trust_,
                           .random = random,
                           .clock = [] { return kDealNow; },
                           .wait_clock = [this] { return now_; }};
    return RelayVisit(parts, {.server = "relay:8453",
                              .study = "sample",
                              .review = [](const Terms&) { return true; },
                              .read_row =
                                  [this](const Terms&) {
                                    now_ += work_;
                                    return LabelledRow{};
                                  }});
  }
  // Carries the calls, each of which takes a second there and one back, to the one that submits.
  absl::Duration WaitBeforeSubmit(RelayVisit& visit) {
    while (true) {
      const auto call = visit.Next();
      if (!call.ok() || !call->has_value()) {
        ADD_FAILURE() << "nothing is submitted";
        return absl::InfiniteDuration();
      }
      const std::string method = (*call)->method;
      if (method.ends_with("SubmitSealedReport")) return (*call)->wait;
      EXPECT_EQ((*call)->wait, absl::ZeroDuration());
      std::string response;
      EXPECT_EQ(relay_.Serve(method, std::string((*call)->request), response), 0);
      now_ += absl::Seconds(2);
      came_ = now_;
      EXPECT_OK(visit.Take(response));
    }
  }

  TempDir dir_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Time came_;
  absl::Duration work_ = absl::ZeroDuration();
  const Policy policy_{.max_epsilon = *Budget::FromEpsilon(2)};
  const RelayPolicy relay_policy_{.relay_key = RelayKey().public_key()};
  ScriptedRelay relay_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Trust> trust_;
  std::unique_ptr<Respondent> respondent_;
  std::unique_ptr<RelayedRespondent> relayed_;
};

// The network sees when a ticket came and when a report went: the time between must not tell which
// tree made the work longer.
TEST_F(RelayWaitTest, TheSameDrawSendsAtTheSameTimeWhateverTheTreeIs) {
  for (uint8_t ticket = 0; ticket < 20; ++ticket) {
    relay_.relay.dealt = OfferOf(SampleTicket(ticket));
    if (ticket == 19) relay_.relay.dealt.set_tree("none");
    OpenAnew();
    work_ = absl::Milliseconds(100) * ticket;
    FirstDraw random(1234);
    RelayVisit visit = Visit(random);
    const absl::Duration wait = WaitBeforeSubmit(visit);
    EXPECT_EQ(now_ + wait - came_, absl::Milliseconds(6000 + 1234)) << int{ticket};
  }
}

TEST_F(RelayWaitTest, WhatIsLeftOfTheWaitIsSaid) {
  FirstDraw random(0);
  RelayVisit visit = Visit(random);
  EXPECT_EQ(WaitBeforeSubmit(visit), absl::Seconds(6));
  now_ += absl::Seconds(4);
  EXPECT_EQ(WaitBeforeSubmit(visit), absl::Seconds(2));
  now_ += absl::Seconds(4);
  EXPECT_EQ(WaitBeforeSubmit(visit), absl::ZeroDuration());
  // A later visit of the process keeps to it.
  FirstDraw another(54'000);
  RelayVisit later = Visit(another);
  EXPECT_EQ(WaitBeforeSubmit(later), absl::ZeroDuration());
}

// Else who came back from a restart would be seen by the time at which it sends.
TEST_F(RelayWaitTest, AfterARestartItSendsAfterANewDelay) {
  FirstDraw first(0);
  RelayVisit visit = Visit(first);
  WaitBeforeSubmit(visit);
  for (const uint64_t draw : {0, 1234, 54'000}) {
    now_ += absl::Hours(1);
    Open();
    FirstDraw random(draw);
    RelayVisit after = Visit(random);
    EXPECT_EQ(WaitBeforeSubmit(after), absl::Milliseconds(6000 + draw));
  }
}

}  // namespace
}  // namespace coppice
