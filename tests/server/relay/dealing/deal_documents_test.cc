// All devices of a deal get the same terms, and offers of one length.

#include "server/relay/dealing/deal_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/base/status.h"
#include "common/wire/calls.h"
#include "common/wire/terms.h"
#include "tests/server/relay/dealing/relay_fixture.h"

namespace coppice::relay::testing {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

v1::GetOfferResponse WholeOffer() {
  FakeOffers offers;
  v1::GetOfferRequest request;
  v1::GetOfferResponse response;
  grpc::ServerContext context;
  EXPECT_TRUE(offers.GetOffer(&context, &request, &response).ok());
  return response;
}

DealDocuments SomeDocuments() {
  DealDocuments documents = *DealDocuments::Create(WholeOffer());
  EXPECT_OK(documents.Promise({.study = "wells",
                               .epoch = {5},
                               .min_batch = 3,
                               .tickets = 9,
                               .deal_until_unix_seconds = kStart,
                               .freeze_at_unix_seconds = kStart + 1,
                               .relay_key = KeyIdOf(KeyOf(9).public_key()),
                               .offer_bytes = documents.offer_bytes()},
                              KeyOf(9)));
  return documents;
}

Dealt DealtNumber(uint64_t number) {
  return {.ticket = *Ticket::FromBytes(TicketNumber(number)), .claim = {1, 2, 3}};
}

TEST(DealDocuments, EveryEnvelopeHasOneLengthAndHoldsTheTicketsTree) {
  const DealDocuments documents = SomeDocuments();
  const Terms terms = RelayedTerms();
  std::set<uint32_t> trees;
  for (uint64_t number = 0; number < 200; ++number) {
    const Dealt dealt = DealtNumber(number);
    const std::string envelope = documents.Envelope(dealt);
    ASSERT_EQ(envelope.size(), documents.offer_bytes());
    const v1::RelayedOffer offer = OpenEnvelope(envelope);
    EXPECT_EQ(offer.ticket(), TicketNumber(number));
    EXPECT_EQ(offer.claim(), std::string(dealt.claim.begin(), dealt.claim.end()));
    const uint32_t tree = TreeOfTicket(dealt.ticket, terms.trees);
    ASSERT_OK_AND_ASSIGN(const Tree opened,
                         ReadProvenTree(terms, tree, offer.tree(), offer.tree_path()));
    trees.insert(tree);
  }
  EXPECT_EQ(trees.size(), terms.trees);
}

TEST(DealDocuments, TheLongestOfferFillsItsEnvelope) {
  const DealDocuments documents = SomeDocuments();
  size_t longest = 0;
  for (uint64_t number = 0; number < 200; ++number) {
    const v1::RelayedOffer offer = OpenEnvelope(documents.Envelope(DealtNumber(number)));
    longest = std::max(longest, offer.ByteSizeLong());
  }
  EXPECT_EQ(4 + longest, documents.offer_bytes());
}

TEST(DealDocuments, TermsAreSignedByTheRelayAndManifestByTheCurator) {
  const DealDocuments documents = SomeDocuments();
  v1::GetRelayTermsResponse answer;
  ASSERT_TRUE(answer.ParseFromString(*documents.terms_answer()));
  Signature signature{};
  ASSERT_EQ(answer.signature().size(), signature.size());
  std::copy(answer.signature().begin(), answer.signature().end(), signature.begin());
  EXPECT_TRUE(IsSignedBy(KeyOf(9).public_key(), kRelayDomain, answer.relay_terms(), signature));
  ASSERT_OK_AND_ASSIGN(const RelayTerms terms, ReadRelayTerms(answer.relay_terms()));
  EXPECT_EQ(terms, documents.promise());
  EXPECT_EQ(answer.terms(), SerializeTerms(RelayedTerms()));
  EXPECT_EQ(answer.manifest().SerializeAsString(), WholeOffer().manifest().SerializeAsString());
}

TEST(DealDocuments, SurviveTheDisk) {
  const DealDocuments documents = SomeDocuments();
  ASSERT_OK_AND_ASSIGN(const DealDocuments again, DealDocuments::Unpack(documents.Pack()));
  EXPECT_EQ(*again.terms_answer(), *documents.terms_answer());
  EXPECT_EQ(again.promise(), documents.promise());
  EXPECT_EQ(again.manifest(), documents.manifest());
  EXPECT_EQ(again.Envelope(DealtNumber(3)), documents.Envelope(DealtNumber(3)));
}

TEST(DealDocuments, RefusesDamagedBytes) {
  const std::string packed = SomeDocuments().Pack();
  for (const size_t size : {size_t{0}, size_t{3}, size_t{4}, size_t{100}, packed.size() - 1}) {
    EXPECT_FALSE(DealDocuments::Unpack(packed.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(DealDocuments::Unpack(std::string(8, '\xff')),
              StatusIs(StatusCode::kDataLoss, HasSubstr("damaged")));
}

TEST(DealDocuments, RefusesAnotherForest) {
  v1::GetOfferResponse offer = WholeOffer();
  offer.mutable_forest()->SwapElements(0, 1);
  EXPECT_FALSE(DealDocuments::Create(offer).ok());
}

}  // namespace
}  // namespace coppice::relay::testing
