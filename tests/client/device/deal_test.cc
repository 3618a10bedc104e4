// What a device looks at before it has a ticket, and what it takes from an envelope.

#include "client/device/deal.h"

#include <functional>
#include <string>

#include "client/device/seen_manifests.h"
#include "common/base/status.h"
#include "common/encrypt/report_seal.h"
#include "tests/client/device/fake_deal.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::DealOffer;
using ::coppice::testing::Envelope;
using ::coppice::testing::FakeDeal;
using ::coppice::testing::FakeDealOffer;
using ::coppice::testing::FakeForest;
using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::kDealNow;
using ::coppice::testing::OfferOf;
using ::coppice::testing::PromisedTerms;
using ::coppice::testing::RelayKey;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SealedManifest;
using ::coppice::testing::Sign;
using ::coppice::testing::SignDeal;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

class DealTest : public ::testing::Test {
 protected:
  StatusOr<Deal> Admit(const DealOffer& offer) {
    const Trust trust(offer_policy_, seen_);
    StatusOr<Deal> deal =
        AdmitDeal(offer.AsMessage(), "sample", "relay:8453", policy_, trust, now_);
    if (deal.ok()) seen_.Add(*deal->manifest);
    return deal;
  }
  // A deal whose relay changed its terms so, and signed them.
  StatusOr<Deal> AdmitChanged(const std::function<void(RelayTerms&)>& change) {
    RelayTerms relay = PromisedTerms();
    change(relay);
    return Admit(SignDeal(relay, Sign(FakeKey(), SealedManifest())));
  }
  // A deal of a curator that changed its manifest so, and signed it.
  StatusOr<Deal> AdmitManifest(const std::function<void(Manifest&)>& change) {
    Manifest manifest = SealedManifest();
    change(manifest);
    return Admit(SignDeal(PromisedTerms(), Sign(FakeKey(), manifest)));
  }

  OfferPolicy offer_policy_{.curator_key = FakeKey().public_key()};
  RelayPolicy policy_{.relay_key = RelayKey().public_key()};
  int64_t now_ = kDealNow;
  SeenManifests seen_;
};

auto Declined(const std::string& why) {
  return StatusIs(StatusCode::kFailedPrecondition, HasSubstr(why));
}
auto Malformed(const std::string& why) { return StatusIs(StatusCode::kDataLoss, HasSubstr(why)); }

TEST_F(DealTest, AnHonestDealIsAgreedToAndItsManifestRemembered) {
  ASSERT_OK_AND_ASSIGN(const Deal deal, Admit(FakeDealOffer()));
  EXPECT_EQ(deal.relay, PromisedTerms());
  EXPECT_EQ(deal.sealing, *SealedManifest().sealing);
  EXPECT_EQ(deal.terms.study, "sample");
  ASSERT_TRUE(seen_.OfStudy("sample").has_value());
  EXPECT_EQ(seen_.OfStudy("sample")->manifest.sealing, SealedManifest().sealing);
}

TEST_F(DealTest, AnotherRelayIsDeclinedWhateverItPromises) {
  RelayTerms relay = PromisedTerms();
  const SignedManifest manifest = Sign(FakeKey(), SealedManifest());
  EXPECT_THAT(Admit(SignDeal(relay, manifest, FakeTerms(), FakeKey(8))), Declined("pinned"));
  // Nor one that the curator vouches for, or a signature of another kind.
  EXPECT_THAT(Admit(SignDeal(relay, manifest, FakeTerms(), FakeKey())), Declined("pinned"));
  DealOffer offer = FakeDealOffer();
  offer.signature = *RelayKey().Sign(kBatchDomain, offer.relay_terms);
  EXPECT_THAT(Admit(offer), Declined("pinned"));
  offer = FakeDealOffer();
  offer.relay_terms[0] ^= 1;
  EXPECT_THAT(Admit(offer), Declined("pinned"));
  EXPECT_THAT(AdmitChanged([](RelayTerms& terms) { terms.relay_key = {1}; }),
              Malformed("another relay"));
}

TEST_F(DealTest, WhatTheRelaySignedMustBeAboutThisStudyTheseTermsAndThisKey) {
  EXPECT_THAT(AdmitChanged([](RelayTerms& terms) { terms.study = "other"; }),
              Declined("another study"));
  EXPECT_THAT(AdmitChanged([](RelayTerms& terms) { terms.fingerprint[3] ^= 1; }),
              Malformed("not those that the relay signed"));
  EXPECT_THAT(AdmitChanged([](RelayTerms& terms) { terms.sealing_key[3] ^= 1; }),
              Declined("another sealing key"));
  DealOffer offer = FakeDealOffer();
  offer.relay_terms += std::string("\x58\x01", 2);  // a field that nobody knows
  offer.signature = *RelayKey().Sign(kRelayDomain, offer.relay_terms);
  EXPECT_THAT(Admit(offer), Malformed("does not know"));
  Terms others = FakeTerms();
  others.study = "other";
  RelayTerms relay = PromisedTerms();
  relay.fingerprint = FingerprintOf(SerializeTerms(others));
  EXPECT_THAT(Admit(SignDeal(relay, Sign(FakeKey(), SealedManifest()), others)),
              Declined("about other terms"));
}

TEST_F(DealTest, SmallBatchesAreDeclined) {
  EXPECT_THAT(AdmitChanged([](RelayTerms& terms) { terms.min_batch = 999; }),
              Declined("batches of 999 reports, and this device wants at least 1000"));
  policy_.min_batch = 2001;
  EXPECT_THAT(Admit(FakeDealOffer()), Declined("this device wants at least 2001"));
  policy_.min_batch = 1;
  EXPECT_THAT(AdmitManifest([](Manifest& manifest) {
                manifest.sealing->min_batch = 3000;
                ++manifest.sequence;
              }),
              Declined("the curator promises at least 3000"));
}

TEST_F(DealTest, OffersThatAreTooLongAreDeclinedWithoutATicket) {
  policy_.max_offer_bytes = testing::kOfferBytes - 1;
  EXPECT_THAT(Admit(FakeDealOffer()), Declined("room for 4095"));
}

TEST_F(DealTest, ADealThatIsOverOrClosesBeforeTheDeviceWouldSendIsDeclined) {
  now_ = kDealNow + 3600;
  EXPECT_THAT(Admit(FakeDealOffer()), Declined("no more tickets"));
  now_ = kDealNow + 3599;
  EXPECT_OK(Admit(FakeDealOffer()));
  policy_.max_send_delay_seconds = 3601;
  EXPECT_THAT(Admit(FakeDealOffer()), Declined("closes in 3601 s"));
  now_ = 0;  // a clock that was never set
  EXPECT_OK(Admit(FakeDealOffer()));
}

TEST_F(DealTest, TheCuratorsKeyMustBePinnedAndTheManifestItsOwn) {
  offer_policy_.curator_key.reset();
  EXPECT_THAT(Admit(FakeDealOffer()), Declined("curator's key pinned"));
  offer_policy_.curator_key = FakeKey(2).public_key();
  EXPECT_THAT(Admit(FakeDealOffer()), Declined("key"));
  offer_policy_.curator_key = FakeKey().public_key();
  // The relay puts in a sealing key whose private half it has.
  Manifest forged = SealedManifest();
  forged.sealing->key[0] ^= 1;
  EXPECT_THAT(Admit(SignDeal(PromisedTerms(forged), Sign(RelayKey(), forged))), Declined("key"));
  EXPECT_FALSE(seen_.OfStudy("sample").has_value());
}

TEST_F(DealTest, WhatAManifestPromisedStays) {
  ASSERT_OK(Admit(FakeDealOffer()));
  EXPECT_THAT(AdmitManifest([](Manifest& manifest) {
                manifest.sealing->min_batch = 999;
                ++manifest.sequence;
              }),
              Declined("smaller batches"));
  EXPECT_THAT(AdmitManifest([](Manifest& manifest) {
                manifest.sealing->suite = 3;
                ++manifest.sequence;
              }),
              Declined("another way"));
  // The key may change, with a new sequence and a deal for it.
  Manifest rotated = SealedManifest();
  rotated.sealing->key = seal::SealingKey::Generate()->public_key();
  ++rotated.sequence;
  EXPECT_OK(Admit(SignDeal(PromisedTerms(rotated), Sign(FakeKey(), rotated))));
}

TEST_F(DealTest, AStudyWithoutSealingIsDeclined) {
  EXPECT_THAT(AdmitManifest([](Manifest& manifest) {
                manifest.sealing.reset();
                manifest.direct = FakeManifest(FakeTerms()).direct;
              }),
              Declined("no relay takes them"));
}

TEST_F(DealTest, ReportsThatShowSomethingAreDeclined) {
  Terms terms = FakeTerms();
  terms.schema = std::make_shared<const Schema>(terms.schema->WithAllPublic());
  terms.joined_by = "customer";
  Manifest manifest = SealedManifest(terms);
  EXPECT_THAT(Admit(SignDeal(PromisedTerms(manifest), Sign(FakeKey(), manifest), terms)),
              Declined("an id"));
}

// X25519 of such a key gives a secret that everybody knows.
TEST_F(DealTest, AKeyUnderWhichEverybodyCouldOpenIsDeclined) {
  Deal deal = FakeDeal();
  ASSERT_OK(DealSealer::Create(deal));
  deal.sealing.key.fill(0);
  EXPECT_THAT(DealSealer::Create(deal).status(), Declined("small order"));
}

TEST_F(DealTest, AnEnvelopeHoldsTheTicketItsClaimAndItsTree) {
  ASSERT_OK_AND_ASSIGN(
      const DealtTicket dealt,
      OpenEnvelope(FakeDeal(), Envelope(OfferOf(SampleTicket(3)).SerializeAsString())));
  EXPECT_EQ(dealt.ticket, SampleTicket(3));
  EXPECT_EQ(dealt.claim[15], 'c');
  const uint32_t tree = TreeOfTicket(SampleTicket(3), 9);
  ASSERT_EQ(dealt.trees.size(), 1u);
  EXPECT_EQ(dealt.trees.at(tree), FakeForest()[tree]);
}

// The curator made the forest, so it could make one tree that devices fail at, and see who does.
TEST_F(DealTest, ATreeThatIsNoneLeavesTheTicket) {
  v1::RelayedOffer offer = OfferOf(SampleTicket(3));
  for (const std::string& tree : {std::string(), std::string("x"), offer.tree() + "x"}) {
    offer.set_tree(tree);
    ASSERT_OK_AND_ASSIGN(const DealtTicket dealt,
                         OpenEnvelope(FakeDeal(), Envelope(offer.SerializeAsString())));
    EXPECT_EQ(dealt.ticket, SampleTicket(3));
    EXPECT_TRUE(dealt.trees.empty());
  }
}

// It would take longer and more memory than the device was ready for when it agreed.
TEST_F(DealTest, ATreeWithLongerPayloadsThanPromisedIsNotAnswered) {
  Deal deal = FakeDeal();
  const std::string envelope = Envelope(OfferOf(SampleTicket(3)).SerializeAsString());
  const Tree tree = FakeForest()[TreeOfTicket(SampleTicket(3), 9)];
  const auto longest = (*MakeMechanism(deal.terms, tree.num_leaves()))->max_payload_bytes();
  deal.sealing.payload_bytes = static_cast<uint32_t>(longest);
  EXPECT_EQ(OpenEnvelope(deal, envelope)->trees.size(), 1u);
  --deal.sealing.payload_bytes;
  ASSERT_OK_AND_ASSIGN(const DealtTicket dealt, OpenEnvelope(deal, envelope));
  EXPECT_EQ(dealt.ticket, SampleTicket(3));
  EXPECT_TRUE(dealt.trees.empty());
}

TEST_F(DealTest, AnEnvelopeWithoutATicketIsMalformed) {
  const std::string good = OfferOf(SampleTicket(3)).SerializeAsString();
  for (const std::string& envelope :
       {std::string(), std::string(3, '\0'), std::string("\xff\xff\xff\xff", 4),
        Envelope(good).substr(0, good.size()), Envelope("\x0a"), Envelope("")}) {
    EXPECT_THAT(OpenEnvelope(FakeDeal(), envelope).status(), Malformed("no ticket"));
  }
  v1::RelayedOffer offer = OfferOf(SampleTicket(3));
  offer.set_claim(std::string(15, 'c'));
  EXPECT_THAT(OpenEnvelope(FakeDeal(), Envelope(offer.SerializeAsString())).status(),
              Malformed("no ticket"));
  offer = OfferOf(SampleTicket(3));
  offer.set_ticket(std::string(31, 't'));
  EXPECT_THAT(OpenEnvelope(FakeDeal(), Envelope(offer.SerializeAsString())).status(),
              Malformed("no ticket"));
}

// The memory that was set aside before the ticket is for the length that the relay signed.
TEST_F(DealTest, AnEnvelopeOfAnotherLengthIsNone) {
  const std::string content = OfferOf(SampleTicket(3)).SerializeAsString();
  for (const size_t bytes : {size_t{testing::kOfferBytes} - 1, size_t{testing::kOfferBytes} + 1,
                             size_t{testing::kOfferBytes} * 100, content.size() + 4}) {
    EXPECT_THAT(OpenEnvelope(FakeDeal(), Envelope(content, bytes)).status(), Malformed("4096"));
  }
}

TEST_F(DealTest, TheCuratorAloneOpensWhatIsSealed) {
  const Deal deal = FakeDeal();
  ASSERT_OK_AND_ASSIGN(DealSealer sealer, DealSealer::Create(deal));
  const DealtTicket dealt{.ticket = SampleTicket(3), .claim = {4}, .trees = {}};
  ASSERT_OK_AND_ASSIGN(const SealedAnswer sealed, sealer.Seal(dealt, "p"));
  EXPECT_EQ(sealed.relay, deal.relay.relay_key);
  EXPECT_EQ(sealed.epoch, deal.relay.epoch);
  EXPECT_EQ(sealed.claim, dealt.claim);
  EXPECT_EQ(sealed.ciphertext.size(), sealer.ciphertext_bytes());
  ASSERT_OK_AND_ASSIGN(seal::ReportOpener opener,
                       seal::ReportOpener::Create({.fingerprint = deal.relay.fingerprint,
                                                   .payload_bytes = deal.sealing.payload_bytes},
                                                  testing::CuratorSealingKey()));
  const std::string enc(sealed.encapsulated.begin(), sealed.encapsulated.end());
  EXPECT_EQ(*opener.Open(dealt.ticket, enc, sealed.ciphertext), "p");

  // What is longer than the curator said is sent as an empty payload, of the same length.
  const std::string longer(deal.sealing.payload_bytes + 1, 'p');
  ASSERT_OK_AND_ASSIGN(const SealedAnswer empty, sealer.Seal(dealt, longer));
  EXPECT_EQ(empty.ciphertext.size(), sealed.ciphertext.size());
  const std::string its_enc(empty.encapsulated.begin(), empty.encapsulated.end());
  EXPECT_EQ(*opener.Open(dealt.ticket, its_enc, empty.ciphertext), "");
}

}  // namespace
}  // namespace coppice
