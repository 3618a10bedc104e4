// The reasons to refuse a pool before any of its tickets is dealt.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/base/status.h"
#include "server/relay/dealing/relayed_study.h"
#include "tests/server/relay/dealing/relay_fixture.h"

namespace coppice::relay::testing {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

class PoolTest : public RelayTest {
 protected:
  // Expects that the curator's present offers open no deal, and that the operator reads why.
  void ExpectRefused(const std::string& why) {
    Open();
    Work();
    EXPECT_THAT(relay_->Ready(), StatusIs(StatusCode::kUnavailable, HasSubstr(why)));
    EXPECT_THAT(
        relay_->Terms("studies/wells"),
        StatusIs(StatusCode::kUnavailable, "no deal of study wells is open now; come again"));
    ASSERT_FALSE(events_.empty());
    EXPECT_THAT(events_.back(), HasSubstr(why));
    EXPECT_TRUE(std::filesystem::is_empty(EpochFolders()));
    EXPECT_LE(curator_.offers.next_ticket, 1u) << "tickets were spent in vain";
  }
  void Sign(Manifest manifest) {
    curator_.offers.manifest = SignManifest(KeyOf(1), std::move(manifest));
  }
  void OfferTerms(Terms terms) {
    curator_.offers.terms = terms;
    Sign(RelayedManifest(terms));
  }
};

TEST_F(PoolTest, IsOpenedWithAllOfItsTickets) {
  OpenDeal();
  EXPECT_EQ(curator_.offers.next_ticket, 12u);
  const RelayTerms terms = Promised();
  EXPECT_EQ(terms.tickets, 12u);
  EXPECT_EQ(terms.min_batch, 3u);
  EXPECT_EQ(terms.deal_until_unix_seconds, kStart + 12 * 3600);
  EXPECT_EQ(terms.freeze_at_unix_seconds, kStart + 24 * 3600);
  EXPECT_EQ(terms.relay_key, KeyIdOf(key_.public_key()));
  EXPECT_EQ(terms.sealing_key, seal::SealingKeyIdOf(seal::Aead::kAes128Gcm, {7}));
  EXPECT_EQ(terms.fingerprint, FingerprintOf(Answer().terms()));
}

TEST_F(PoolTest, AsksForAThousandTicketsAtATime) {
  options_.tickets = 2500;
  OpenDeal();
  EXPECT_EQ(curator_.offers.next_ticket, 2500u);
  EXPECT_EQ(curator_.offers.calls, 4);  // 1, 1000, 1000, 499
}

TEST_F(PoolTest, TheLargerSmallestBatchCounts) {
  options_.min_batch = 5;
  OpenDeal();
  EXPECT_EQ(Promised().min_batch, 5u);
}

TEST_F(PoolTest, RefusesAManifestOfAnotherKey) {
  curator_.offers.manifest = SignManifest(KeyOf(2), RelayedManifest(RelayedTerms()));
  ExpectRefused("key");
}

TEST_F(PoolTest, RefusesASignatureThatDoesNotCheck) {
  curator_.offers.manifest.signature[5] ^= 1;
  ExpectRefused("signature");
}

TEST_F(PoolTest, FollowsTheKeyThatThePinnedOneLedTo) {
  const KeyEndorsement step = *Endorse(KeyOf(1), KeyOf(2).public_key(), kStart - 5);
  const SignedManifest old = curator_.offers.manifest;
  curator_.offers.manifest = SignManifest(KeyOf(2), RelayedManifest(RelayedTerms()), {step});
  OpenDeal();
  // The first key no longer counts, even after a restart.
  std::filesystem::remove_all(EpochFolders());
  curator_.offers.manifest = old;
  curator_.offers.next_ticket = 0;
  ExpectRefused("key");
}

TEST_F(PoolTest, RefusesTermsThatAreNotTheManifests) {
  curator_.offers.terms.epsilon = *Budget::FromEpsilon(5);
  ExpectRefused("terms");
}

TEST_F(PoolTest, RefusesAnotherForest) {
  curator_.offers.tamper = [](v1::GetOfferResponse& offer) {
    offer.mutable_forest()->SwapElements(0, 1);
  };
  ExpectRefused("are not the 8 trees");
}

TEST_F(PoolTest, RefusesAFingerprintThatIsNotTheTerms) {
  curator_.offers.tamper = [](v1::GetOfferResponse& offer) {
    (*offer.mutable_fingerprint())[0] ^= 1;
  };
  ExpectRefused("fingerprint");
}

TEST_F(PoolTest, RefusesAnotherStudy) {
  curator_.offers.terms.study = "springs";
  OfferTerms(curator_.offers.terms);
  ExpectRefused("springs");
}

TEST_F(PoolTest, RefusesAStudyWithoutSealing) {
  Manifest manifest = RelayedManifest(RelayedTerms());
  manifest.sealing.reset();
  manifest.direct = DirectSealing{.key = {.suite = 1, .key = {9}}, .report_bytes = 1000};
  Sign(manifest);
  ExpectRefused("without a relay");
}

Terms PublicTerms() {
  Feature shown = coppice::testing::Numeric("x", 0, 10);
  shown.is_public = true;
  Terms terms = RelayedTerms();
  terms.schema = std::make_shared<const Schema>(*Schema::Create({shown}, "y", {"no", "yes"}));
  return terms;
}

TEST_F(PoolTest, RefusesAStudyWithPublicFeatures) {
  OfferTerms(PublicTerms());
  ExpectRefused("public features");
}

TEST_F(PoolTest, RefusesAStudyThatIsJoinedByAnId) {
  Terms terms = PublicTerms();
  terms.joined_by = "well";
  OfferTerms(terms);
  ExpectRefused("joined by an id");
}

TEST_F(PoolTest, RefusesABatchThatThePoolCannotMake) {
  Manifest manifest = RelayedManifest(RelayedTerms());
  manifest.sealing->min_batch = 13;
  Sign(manifest);
  ExpectRefused("--tickets");
}

TEST_F(PoolTest, RefusesAStudyThatExpiresTooSoon) {
  Manifest manifest = RelayedManifest(RelayedTerms());
  manifest.expires_unix_seconds = kStart + 30 * 3600;
  Sign(manifest);
  Open();
  Work();
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back(), HasSubstr("too soon"));
  EXPECT_EQ(curator_.offers.next_ticket, 1u);
  EXPECT_EQ(Totals().phase, StudyTotals::Phase::kEnded);
}

TEST_F(PoolTest, CollectingEndsADayBeforeTheStudyDoes) {
  Manifest manifest = RelayedManifest(RelayedTerms());
  manifest.expires_unix_seconds = kStart + 44 * 3600;
  Sign(manifest);
  OpenDeal();
  EXPECT_EQ(Promised().freeze_at_unix_seconds, kStart + 20 * 3600);
}

TEST_F(PoolTest, RefusesATicketThatComesTwice) {
  curator_.offers.tamper = [](v1::GetOfferResponse& offer) {
    if (offer.tickets_size() > 4) offer.set_tickets(4, offer.tickets(1));
  };
  Open();
  Work();
  EXPECT_THAT(relay_->Ready(), StatusIs(StatusCode::kUnavailable, HasSubstr("gave a ticket")));
  EXPECT_TRUE(std::filesystem::is_empty(EpochFolders()));
}

TEST_F(PoolTest, RefusesAnotherNumberOfTickets) {
  curator_.offers.tamper = [](v1::GetOfferResponse& offer) { offer.add_tickets(TicketNumber(99)); };
  ExpectRefused("tickets where 1");
}

// A deal has one set of terms and one key, so tickets from before and after are not mixed.
TEST_F(PoolTest, StartsOverIfTheSealingKeyChangesMidway) {
  options_.tickets = 2500;
  Manifest next = RelayedManifest(RelayedTerms());
  next.sequence = 3;
  next.sealing->key = {8};
  curator_.offers.tamper = [&](v1::GetOfferResponse&) {
    if (curator_.offers.calls == 2) Sign(next);
  };
  Open();
  Work();
  Advance(absl::Minutes(10));
  Work();
  ASSERT_OK(relay_->Ready());
  EXPECT_EQ(Promised().sealing_key, seal::SealingKeyIdOf(seal::Aead::kAes128Gcm, {8}));
  // 1 and 1000 from before, 1000 in the answer that showed the change, 2500 of the pool.
  EXPECT_EQ(curator_.offers.next_ticket, 4501u);
  for (const Offered& offered : TakeAll()) {
    for (uint64_t early = 0; early < 2001; early += 100) {
      EXPECT_NE(offered.offer.ticket(), TicketNumber(early));
    }
  }
}

TEST_F(PoolTest, RefusesAManifestThatTakesSomethingBack) {
  OpenDeal();
  std::filesystem::remove_all(EpochFolders());
  Manifest weaker = RelayedManifest(RelayedTerms());
  weaker.sequence = 3;
  weaker.sealing->min_batch = 2;
  Sign(weaker);
  curator_.offers.next_ticket = 0;
  ExpectRefused("smaller batches");
}

TEST_F(PoolTest, SaysWhatIsWrongWithTheRememberedManifest) {
  OpenDeal();
  relay_.reset();
  std::ofstream(dir_.path() + "/studies/wells/manifest") << "no manifest";
  EXPECT_THAT(TryOpen(), StatusIs(StatusCode::kDataLoss, HasSubstr("studies/wells/manifest")));
}

TEST_F(PoolTest, PausesGrowAndTheCuratorsWishIsHeard) {
  curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
  Open();
  absl::Duration last;
  for (int i = 0; i < 12; ++i) {
    const absl::Duration pause = Work() - now_;
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, GrowingPause::kLongest);
    last = pause;
    Advance(pause);
  }
  EXPECT_EQ(last, GrowingPause::kLongest);
  curator_.offers.failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "--ticket-rate"};
  curator_.offers.pushback = "7000";
  EXPECT_EQ(Work() - now_, GrowingPause::kLongest + absl::Seconds(7));
}

TEST_F(PoolTest, KeepsItsTicketsWhileTheCuratorIsSlow) {
  options_.tickets = 2500;
  curator_.offers.tamper = [&](v1::GetOfferResponse&) {
    if (curator_.offers.calls == 2) {
      curator_.offers.failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "--ticket-rate"};
      curator_.offers.pushback = "1000";
    }
  };
  Open();
  Advance(Work() - now_);
  curator_.offers.failure = grpc::Status::OK;
  Work();
  ASSERT_OK(relay_->Ready());
  EXPECT_EQ(curator_.offers.next_ticket, 2500u);
}

TEST_F(PoolTest, AnInterruptedOpeningStartsOver) {
  options_.tickets = 2500;
  Open();
  relay_->Step();
  relay_->Step();
  EXPECT_EQ(curator_.offers.next_ticket, 1001u);
  OpenDeal();
  EXPECT_EQ(curator_.offers.next_ticket, 3501u);
}

TEST_F(PoolTest, RefusesContradictoryOptions) {
  const RelayOptions good = options_;
  const auto expect = [&](const char* why) {
    EXPECT_THAT(TryOpen(), StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)));
    options_ = good;
  };
  options_.studies = {};
  expect("at least one study");
  options_.studies = {"../x"};
  expect("an id is");
  options_.studies = {"a", "b", "a"};
  expect("named twice");
  options_.tickets = 0;
  expect("must have 1 to");
  options_.min_batch = 13;
  expect("never makes a batch");
  options_.collect_for = absl::Hours(11);
  expect("collected for at least as long");
}

TEST_F(PoolTest, OneProcessHasTheDataDirectory) {
  Open();
  auto calls = MakeCuratorCalls({.server = curator_.address(), .insecure = true}, absl::Seconds(1));
  EXPECT_THAT(Relay::Open(options_, key_, *std::move(calls), seams_),
              StatusIs(StatusCode::kUnavailable, HasSubstr("lock")));
}

}  // namespace
}  // namespace coppice::relay::testing
