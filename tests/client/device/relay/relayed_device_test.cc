// A device that answers through a relay, against one that a test scripts: what it does in which
// order, and that neither its ticket nor its row shows in it.

#include "client/device/relay/relayed_device.h"

#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/device/device.h"
#include "common/base/status.h"
#include "common/encrypt/report_seal.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/first_draw.h"
#include "tests/client/device/relay/fake_deal.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Envelope;
using ::coppice::testing::FakeDeal;
using ::coppice::testing::FakeDealOffer;
using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::FirstDraw;
using ::coppice::testing::kDealNow;
using ::coppice::testing::OfferOf;
using ::coppice::testing::PromisedTerms;
using ::coppice::testing::RelayKey;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SealedManifest;
using ::coppice::testing::Sign;
using ::coppice::testing::SignDeal;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Notes what is asked of it.
class ScriptedRelay final : public RelayLink {
 public:
  ScriptedRelay(std::vector<std::string>& events, absl::Time& now) : events_(events), now_(now) {}

  const std::string& address() const override { return address_; }
  StatusOr<DealOffer> GetRelayTerms(std::string_view) const override {
    events_.push_back("terms");
    return offer;
  }
  StatusOr<std::string> TakeOffer(std::string_view, const EpochId& epoch) const override {
    EXPECT_EQ(epoch, PromisedTerms().epoch);
    events_.push_back("take");
    now_ += absl::Seconds(2);  // the answer's way
    return Envelope(dealt.SerializeAsString());
  }
  StatusOr<SubmitOutcome> Submit(const JournalEntry& entry) const override {
    events_.push_back("submit");
    taken.push_back(entry);
    sent_at = now_;
    if (!up) return UnavailableError("down");
    return outcome;
  }

  DealOffer offer = FakeDealOffer();
  v1::RelayedOffer dealt = OfferOf(SampleTicket(3));
  SubmitOutcome outcome = SubmitOutcome::kStored;
  bool up = true;
  mutable std::vector<JournalEntry> taken;
  mutable absl::Time sent_at;

 private:
  std::string address_ = "relay:8453";
  std::vector<std::string>& events_;
  absl::Time& now_;
};

class ScriptedClock final : public SendClock {
 public:
  explicit ScriptedClock(absl::Time& now) : now_(now) {}
  absl::Time WallTime() override { return now_ + set_by; }
  absl::Time TimeSinceBoot() override { return now_ - kBeforeBoot; }
  void SleepUntil(absl::Time since_boot) override {
    now_ = std::max(now_, since_boot + kBeforeBoot);
    during_wait();
  }

  static constexpr absl::Duration kBeforeBoot = absl::Seconds(kDealNow - 1000);
  absl::Duration set_by = absl::ZeroDuration();  // how far the wall clock was set forward
  std::function<void()> during_wait = [] {};

 private:
  absl::Time& now_;
};

// As the curator it must never be asked.
class NoCurator final : public CuratorLink {
 public:
  StatusOr<Offer> FetchOffer(std::string_view, std::string_view) const override {
    ADD_FAILURE() << "an offer was fetched";
    return UnavailableError("no");
  }
  StatusOr<std::vector<DeliveryResult>> Deliver(absl::Span<const PrivateReport>) const override {
    ADD_FAILURE() << "a report was sent";
    return UnavailableError("no");
  }
  Status CheckIs(const PublicKey&) const override { return OkStatus(); }
};

class RelayedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { SetUpAnew(); }

  // Another device, with a journal of its own.
  void SetUpAnew() {
    device_.reset();
    trust_.reset();
    journal_.reset();
    events_.clear();
    relay_.taken.clear();
    std::remove((dir_.path() + "/journal").c_str());
    Open();
  }
  // The same device after a restart.
  void Open() {
    device_.reset();
    trust_.reset();
    journal_.reset();
    journal_ = *Journal::Open(dir_.path() + "/journal");
    trust_ = std::make_unique<Trust>(offer_policy_, *journal_, [] { return kDealNow; });
    device_ = std::make_unique<RelayedDevice>(
        "me", RelayedDeviceParts{policy_, relay_policy_, *journal_, *trust_, relay_, clock_});
  }

  Status Answer(const TextRow& row = {{"x", "3"}, {"y", "yes"}}) {
    const auto read = [&] {
      events_.push_back("read");
      now_ += work_;
      return row;
    };
    return device_->Answer("sample", read, random_);
  }
  StatusOr<std::string> OpenSealed(const JournalEntry& entry) {
    const Deal deal = FakeDeal();
    auto opener = seal::ReportOpener::Create(
        {.fingerprint = deal.relay.fingerprint, .payload_bytes = deal.sealing.payload_bytes},
        testing::CuratorSealingKey());
    const auto& enc = entry.sealed->encapsulated;
    return opener->Open(entry.report.ticket, std::string(enc.begin(), enc.end()),
                        entry.sealed->ciphertext);
  }
  JournalEntry Kept() { return *journal_->Find("me", "sample").value(); }

  TempDir dir_;
  std::vector<std::string> events_;
  absl::Time now_ = absl::FromUnixSeconds(kDealNow);
  absl::Duration work_ = absl::ZeroDuration();
  ScriptedRelay relay_{events_, now_};
  ScriptedClock clock_{now_};
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2)};
  RelayPolicy relay_policy_{.relay_key = RelayKey().public_key()};
  OfferPolicy offer_policy_{.curator_key = FakeKey().public_key()};
  OpenSslRandom random_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Trust> trust_;
  std::unique_ptr<RelayedDevice> device_;
};

TEST_F(RelayedDeviceTest, AgreesThenTakesATicketThenReadsThenSends) {
  ASSERT_OK(Answer());
  EXPECT_THAT(events_, ElementsAre("terms", "take", "read"));
  // What is kept cannot be read, nor randomized again.
  EXPECT_EQ(Kept().report.payload, "");
  EXPECT_EQ(Kept().sealed->relay, KeyIdOf(RelayKey().public_key()));
  EXPECT_EQ(journal_->Spent("me").value()->nanos(), FakeTerms().epsilon.nanos());
  ASSERT_OK_AND_ASSIGN(const Deliveries deliveries, device_->Deliver(random_));
  EXPECT_EQ(deliveries.delivered, 1);
  ASSERT_EQ(relay_.taken.size(), 1u);
  EXPECT_EQ(relay_.taken[0].report.ticket, SampleTicket(3));
  ASSERT_OK_AND_ASSIGN(const std::string payload, OpenSealed(relay_.taken[0]));
  EXPECT_FALSE(payload.empty());

  events_.clear();
  ASSERT_OK(Answer());
  ASSERT_OK(device_->Deliver(random_));
  EXPECT_THAT(events_, IsEmpty());
}

// Whatever declines does so without a ticket: whom a ticket silenced would be known by it.
TEST_F(RelayedDeviceTest, NothingDeclinesOnceThereIsATicket) {
  const auto expect_declined = [&](StatusCode code, const std::string& why) {
    EXPECT_THAT(Answer(), StatusIs(code, HasSubstr(why)));
    for (const std::string& event : events_) EXPECT_EQ(event, "terms") << why;
    SetUpAnew();
  };
  constexpr auto kDeclined = StatusCode::kFailedPrecondition;
  policy_.opted_out = true;
  expect_declined(kDeclined, "opted out");
  policy_.opted_out = false;
  policy_.max_epsilon = *Budget::FromEpsilon(1);
  expect_declined(kDeclined, "at most 1");
  policy_.max_epsilon = *Budget::FromEpsilon(2);
  policy_.max_total_epsilon = *Budget::FromEpsilon(1);
  expect_declined(kDeclined, "in all");
  policy_.max_total_epsilon.reset();
  policy_.max_journal_bytes = 300;
  expect_declined(StatusCode::kResourceExhausted, "bytes");
  policy_.max_journal_bytes.reset();
  relay_policy_.min_batch = 2001;
  expect_declined(kDeclined, "batches of 2000");
  relay_policy_.min_batch = 2000;
  relay_policy_.max_offer_bytes = 10;
  expect_declined(kDeclined, "room for 10");
  relay_policy_.max_offer_bytes = 1 << 20;
  relay_policy_.max_send_delay_seconds = 100'000;
  expect_declined(kDeclined, "closes in");
  relay_policy_.max_send_delay_seconds = 60;
  now_ += absl::Hours(1);
  expect_declined(kDeclined, "no more tickets");
  now_ -= absl::Hours(1);
  offer_policy_.curator_key.reset();
  SetUpAnew();
  expect_declined(kDeclined, "curator's key pinned");
  offer_policy_.curator_key = FakeKey().public_key();
  SetUpAnew();
  ASSERT_OK(journal_->SetOptedOut(true));
  expect_declined(kDeclined, "opted out");
  Manifest small = SealedManifest();
  small.sealing->key.fill(0);
  relay_.offer = SignDeal(PromisedTerms(small), Sign(FakeKey(), small));
  expect_declined(kDeclined, "small order");
  relay_.offer = FakeDealOffer();
  ASSERT_OK(Answer());
}

// The curator made the trees and the manifest, and sees whose ticket stays without a report.
TEST_F(RelayedDeviceTest, NoTicketMakesItFallSilent) {
  relay_.dealt.set_tree("none");
  ASSERT_OK(Answer());
  EXPECT_THAT(events_, ElementsAre("terms", "take"));  // there is nothing to read a row for
  ASSERT_OK(device_->Deliver(random_));
  EXPECT_EQ(*OpenSealed(relay_.taken[0]), "");
  const size_t length = relay_.taken[0].sealed->ciphertext.size();

  relay_.dealt = OfferOf(SampleTicket(4));
  SetUpAnew();
  ASSERT_OK(Answer());
  ASSERT_OK(device_->Deliver(random_));
  EXPECT_NE(*OpenSealed(relay_.taken[0]), "");
  EXPECT_EQ(relay_.taken[0].sealed->ciphertext.size(), length);
}

TEST_F(RelayedDeviceTest, NoRowMakesItFallSilent) {
  const TextRow rows[] = {{{"x", "3"}, {"y", "yes"}},
                          {{"x", "a text"}, {"y", "healthy"}},
                          {{"x", "1e999"}, {"y", ""}},
                          {}};
  for (const TextRow& row : rows) {
    SetUpAnew();
    ASSERT_OK(Answer(row));
    ASSERT_OK(device_->Deliver(random_));
    EXPECT_THAT(events_, ElementsAre("terms", "take", "read", "submit"));
  }
}

TEST_F(RelayedDeviceTest, AnEnvelopeWithoutATicketIsTheRelaysFault) {
  relay_.dealt.clear_claim();
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kDataLoss, HasSubstr("no ticket")));
  EXPECT_FALSE(journal_->Find("me", "sample").value().has_value());
}

// The network sees when a ticket came and when a report went: the time between must not tell which
// tree made the work longer.
TEST_F(RelayedDeviceTest, TheTimeOfSendingIsDrawnBeforeTheTicketAndDoesNotMoveWithTheWork) {
  for (const absl::Duration work : {absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(5)}) {
    SetUpAnew();
    work_ = work;
    ASSERT_OK(Answer());
    const absl::Time ticket_came = now_ - work;
    ASSERT_OK(device_->Deliver(random_));
    EXPECT_GE(relay_.sent_at - ticket_came, absl::Seconds(6));
    EXPECT_LE(relay_.sent_at - ticket_came, absl::Seconds(60));
  }
}

TEST_F(RelayedDeviceTest, TheSameDrawSendsAtTheSameTimeWhateverTheTreeIs) {
  for (uint8_t ticket = 0; ticket < 20; ++ticket) {
    relay_.dealt = OfferOf(SampleTicket(ticket));
    if (ticket == 19) relay_.dealt.set_tree("none");
    SetUpAnew();
    work_ = absl::Milliseconds(100) * ticket;
    FirstDraw random(1234);
    const absl::Time before = now_;
    const auto read = [&] {
      now_ += work_;
      return TextRow();
    };
    ASSERT_OK(device_->Answer("sample", read, random));
    ASSERT_OK(device_->Deliver(random_));
    EXPECT_EQ(relay_.sent_at - before, absl::Seconds(2) + absl::Milliseconds(6000 + 1234));
  }
}

TEST_F(RelayedDeviceTest, RetriesSendTheSameBytesAlsoAfterARestart) {
  relay_.up = false;
  ASSERT_OK(Answer());
  EXPECT_THAT(device_->Deliver(random_).status(), StatusIs(StatusCode::kUnavailable, "down"));
  Open();
  relay_.up = true;
  ASSERT_OK(device_->Deliver(random_));
  ASSERT_EQ(relay_.taken.size(), 2u);
  EXPECT_EQ(relay_.taken[0].sealed, relay_.taken[1].sealed);
  EXPECT_EQ(relay_.taken[0].report, relay_.taken[1].report);
  EXPECT_TRUE(journal_->Undelivered().value().empty());
}

// By network time, which others than the device's owner can forge.
TEST_F(RelayedDeviceTest, NobodyMovesTheTimeOfSendingByTheWallClock) {
  for (const absl::Duration set_by : {absl::Hours(24), absl::Hours(-24 * 365)}) {
    clock_.set_by = absl::ZeroDuration();
    SetUpAnew();
    FirstDraw random(1234);
    const absl::Time before = now_;
    const auto read = [&] {
      clock_.set_by = set_by;
      return TextRow();
    };
    ASSERT_OK(device_->Answer("sample", read, random));
    ASSERT_OK(device_->Deliver(random_));
    EXPECT_EQ(relay_.sent_at - before, absl::Seconds(2) + absl::Milliseconds(6000 + 1234));
  }
}

TEST_F(RelayedDeviceTest, ADealIsValidByTheWallClock) {
  clock_.set_by = absl::Hours(1);
  EXPECT_THAT(Answer(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no more tickets")));
}

TEST(SendClockTest, TheRealOneSleepsByTheTimeSinceBoot) {
  SendClock& clock = SendClock::Real();
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  EXPECT_GE(clock.TimeSinceBoot(), absl::TimeFromTimespec(boot));
  EXPECT_LT(clock.TimeSinceBoot() - absl::TimeFromTimespec(boot), absl::Minutes(5));
  const absl::Time end = clock.TimeSinceBoot() + absl::Milliseconds(20);
  clock.SleepUntil(end);
  EXPECT_GE(clock.TimeSinceBoot(), end);
}

// Else who came back from a restart would be seen by the time at which it sends.
TEST_F(RelayedDeviceTest, AfterARestartItSendsAfterANewDelay) {
  relay_.up = false;
  ASSERT_OK(Answer());
  EXPECT_FALSE(device_->Deliver(random_).ok());
  relay_.up = true;
  for (const uint64_t draw : {0, 1234, 54000}) {
    relay_.up = draw == 54000;
    Open();
    FirstDraw random(draw);
    const absl::Time start = now_;
    EXPECT_EQ(device_->Deliver(random).ok(), relay_.up);
    EXPECT_EQ(relay_.sent_at - start, absl::Milliseconds(6000 + draw));
    EXPECT_EQ(device_->Deliver(random).ok(), relay_.up);
    EXPECT_EQ(relay_.sent_at - start, absl::Milliseconds(6000 + draw)) << "one delay is enough";
  }
  EXPECT_TRUE(journal_->Undelivered().value().empty());
}

TEST_F(RelayedDeviceTest, AfterARestartNothingThatWaitsNeedsNoDelay) {
  const absl::Time start = now_;
  ASSERT_OK(device_->Deliver(random_));
  EXPECT_EQ(now_, start);
}

TEST_F(RelayedDeviceTest, NothingIsSentForAnOwnerWhoOptedOut) {
  ASSERT_OK(Answer());
  events_.clear();
  const auto expect_refused = [&] {
    EXPECT_THAT(device_->Deliver(random_).status(),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
    EXPECT_THAT(events_, IsEmpty());
  };
  const absl::Time start = now_;
  ASSERT_OK(journal_->SetOptedOut(true));
  expect_refused();
  ASSERT_OK(journal_->SetOptedOut(false));
  policy_.opted_out = true;
  expect_refused();
  policy_.opted_out = false;
  EXPECT_EQ(now_, start);  // there is nothing to wait for
  clock_.during_wait = [&] { ASSERT_OK(journal_->SetOptedOut(true)); };
  expect_refused();
  clock_.during_wait = [] {};
  ASSERT_OK(journal_->SetOptedOut(false));
  EXPECT_EQ(device_->Deliver(random_)->delivered, 1u);
}

TEST_F(RelayedDeviceTest, WhatIsGivenUpDuringTheWaitIsNotSent) {
  ASSERT_OK(Answer());
  events_.clear();
  clock_.during_wait = [&] { ASSERT_OK(device_->GiveUp("sample")); };
  EXPECT_EQ(device_->Deliver(random_)->delivered, 0u);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(RelayedDeviceTest, EveryOtherOutcomeIsALossThatEndsTheWaitingAndStaysSpent) {
  for (const auto& [outcome, words] : {std::pair{SubmitOutcome::kConflict, "another report"},
                                       std::pair{SubmitOutcome::kClosed, "closed"},
                                       std::pair{SubmitOutcome::kUnknown, "does not know"},
                                       std::pair{SubmitOutcome::kBadLength, "another length"}}) {
    SetUpAnew();
    relay_.outcome = outcome;
    ASSERT_OK(Answer());
    EXPECT_THAT(device_->Deliver(random_)->refused, ElementsAre(HasSubstr(words)));
    EXPECT_TRUE(journal_->Undelivered().value().empty());
    EXPECT_TRUE(journal_->Spent("me").value().has_value());
    events_.clear();
    ASSERT_OK(Answer());
    EXPECT_THAT(events_, IsEmpty());
  }
}

// A ticket that went to the curator would tell it who had it.
TEST_F(RelayedDeviceTest, WhatIsARelaysGoesNowhereElse) {
  ASSERT_OK(Answer());
  const NoCurator curator;
  const Device direct("me", policy_, *journal_, curator);
  ASSERT_OK(direct.Answer(
      "sample", [] { return TextRow(); }, random_));  // it has answered
  ASSERT_OK(direct.Deliver());
  relay_policy_.relay_key = FakeKey(8).public_key();
  events_.clear();
  ASSERT_OK(device_->Deliver(random_));
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(journal_->CountUndelivered().value(), 1u);
  ASSERT_OK(device_->GiveUp("sample"));
  EXPECT_EQ(journal_->CountUndelivered().value(), 0u);
}

}  // namespace
}  // namespace coppice
