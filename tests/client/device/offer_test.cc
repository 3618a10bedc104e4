// What a curator may offer, and how a device finds out that it is not what it claims to be.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/device/fake_curator.h"
#include "tests/support/collector.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeCurator;
using ::coppice::testing::FakeForest;
using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

Collector CollectorOf(const FakeCurator& curator) {
  return *Collector::Create({.server = curator.address(), .insecure = true},
                            {.give_up_after = absl::ZeroDuration()});
}

// As it is sent, at whatever length the two need.
void SetTree(const std::string& tree, const std::string& path, v1::GetOfferResponse& response) {
  response.set_tree(MakeEnvelope(tree, tree.size() + 8));
  response.set_tree_path(MakeEnvelope(path, path.size() + 8));
}

TEST(OfferTest, HasTermsATicketAndItsTree) {
  const FakeCurator curator;
  ASSERT_OK_AND_ASSIGN(const auto offer, CollectorOf(curator).FetchOffer("sample"));
  EXPECT_EQ(offer.terms.study, "sample");
  EXPECT_EQ(offer.fingerprint, FingerprintOf(SerializeTerms(FakeTerms())));
  ASSERT_EQ(offer.tickets.size(), 1);
  EXPECT_EQ(offer.tickets[0], SampleTicket(0));
  const uint32_t tree = TreeOfTicket(SampleTicket(0), 9);
  ASSERT_THAT(offer.trees, ElementsAre(Key(tree)));
  EXPECT_EQ(offer.trees.at(tree), FakeForest()[tree]);
}

TEST(OfferTest, HasTheWholeForestForAGateway) {
  const FakeCurator curator;
  ASSERT_OK_AND_ASSIGN(const auto offer, CollectorOf(curator).FetchForest("sample", 3));
  ASSERT_EQ(offer.tickets.size(), 3);
  EXPECT_EQ(offer.tickets[2], SampleTicket(2));
  EXPECT_EQ(offer.trees, AllTrees(FakeForest()));
}

TEST(OfferTest, RefusesTermsThatDoNotMatch) {
  FakeCurator curator;
  EXPECT_THAT(CollectorOf(curator).FetchOffer("another"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("about another study")));
  curator.studies.tamper = [](v1::GetOfferResponse& response) {
    response.mutable_terms()->append("x");
  };
  EXPECT_THAT(CollectorOf(curator).FetchOffer("sample"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("do not match their fingerprint")));
}

TEST(OfferTest, RefusesMissingTickets) {
  FakeCurator curator;
  curator.studies.tamper = [](v1::GetOfferResponse& response) { response.clear_tickets(); };
  EXPECT_THAT(CollectorOf(curator).FetchForest("sample", 5),
              StatusIs(StatusCode::kDataLoss, HasSubstr("0 tickets where 5")));
  EXPECT_THAT(CollectorOf(curator).FetchOffer("sample"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("0 tickets where 1")));
}

// A curator that answers a device with another tree than its ticket's.
class HostileTreeTest : public ::testing::Test {
 protected:
  void ExpectDataLoss(std::function<void(v1::GetOfferResponse&)> tamper) {
    curator_.studies.tamper = std::move(tamper);
    EXPECT_THAT(CollectorOf(curator_).FetchOffer("sample"),
                StatusIs(StatusCode::kDataLoss, HasSubstr("sample")));
  }

  FakeCurator curator_;
  const PackedForest& packed_ = curator_.studies.packed;
  const uint32_t tree_ = TreeOfTicket(SampleTicket(0), 9);
};

TEST_F(HostileTreeTest, NoTreeOrNoPath) {
  ExpectDataLoss([](v1::GetOfferResponse& response) { response.clear_tree(); });
  ExpectDataLoss([](v1::GetOfferResponse& response) { response.clear_tree_path(); });
}

TEST_F(HostileTreeTest, AnotherTicketsTreeWithItsOwnPath) {
  for (uint32_t other = 0; other < 9; ++other) {
    if (other == tree_) continue;
    ExpectDataLoss([&](v1::GetOfferResponse& response) {
      SetTree(packed_.trees[other], packed_.merkle.paths[other], response);
    });
  }
}

TEST_F(HostileTreeTest, AnotherTicketWithTheFirstOnesTree) {
  uint8_t other = 1;
  while (TreeOfTicket(SampleTicket(other), 9) == tree_) ++other;
  ExpectDataLoss([&](v1::GetOfferResponse& response) {
    response.set_tickets(0, SampleTicket(other).ToBytes());
  });
}

TEST_F(HostileTreeTest, APathTooShortOrTooLong) {
  for (const size_t missing : {size_t{1}, kMerkleHashBytes}) {
    ExpectDataLoss([&](v1::GetOfferResponse& response) {
      std::string path = packed_.merkle.paths[tree_];
      path.resize(path.size() - missing);
      SetTree(packed_.trees[tree_], path, response);
    });
  }
  for (const size_t added : {size_t{1}, kMerkleHashBytes, size_t{1} << 19}) {
    ExpectDataLoss([&](v1::GetOfferResponse& response) {
      SetTree(packed_.trees[tree_], packed_.merkle.paths[tree_] + std::string(added, 'x'),
              response);
    });
  }
}

TEST_F(HostileTreeTest, ATreeWithAnotherThreshold) {
  ExpectDataLoss([&](v1::GetOfferResponse& response) {
    v1::Tree tree;
    ASSERT_TRUE(tree.ParseFromString(packed_.trees[tree_]));
    tree.set_thresholds(0, 3.25);
    SetTree(tree.SerializeAsString(), packed_.merkle.paths[tree_], response);
  });
}

// The fingerprint would differ then, so such a curator has to sign terms for each victim.
TEST_F(HostileTreeTest, ATreeOfTheCuratorsOwnNeedsOtherTermsUnderItsSignature) {
  bool signs = false;
  curator_.studies.tamper = [&](v1::GetOfferResponse& response) {
    Forest forest = FakeForest();
    forest[tree_] = Tree::SingleLeaf();
    const PackedForest packed = PackForest(forest);
    Terms terms = FakeTerms();
    terms.forest_root = packed.merkle.root;
    response.set_terms(SerializeTerms(terms));
    const Fingerprint fingerprint = FingerprintOf(response.terms());
    response.mutable_fingerprint()->assign(fingerprint.begin(), fingerprint.end());
    SetTree(packed.trees[tree_], packed.merkle.paths[tree_], response);
    if (!signs) return;
    *response.mutable_manifest() = ToProto(coppice::testing::Sign(FakeKey(), FakeManifest(terms)));
  };
  EXPECT_THAT(CollectorOf(curator_).FetchOffer("sample"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("about other terms")));
  signs = true;
  ASSERT_OK_AND_ASSIGN(const auto offer, CollectorOf(curator_).FetchOffer("sample"));
  EXPECT_NE(offer.fingerprint, FingerprintOf(SerializeTerms(FakeTerms())));
}

TEST_F(HostileTreeTest, AForestWithATreeLessMovedOrTampered) {
  const std::vector<std::function<void(v1::GetOfferResponse&)>> tampers = {
      [](v1::GetOfferResponse& response) { response.mutable_forest()->RemoveLast(); },
      [](v1::GetOfferResponse& response) { response.clear_forest(); },
      [](v1::GetOfferResponse& response) { response.mutable_forest()->SwapElements(3, 4); },
      [](v1::GetOfferResponse& response) { response.add_forest(response.forest(0)); },
      [](v1::GetOfferResponse& response) { response.mutable_forest(2)->append("x"); }};
  for (const auto& tamper : tampers) {
    curator_.studies.tamper = tamper;
    EXPECT_THAT(CollectorOf(curator_).FetchForest("sample", 1),
                StatusIs(StatusCode::kDataLoss, HasSubstr("sample")));
  }
}

}  // namespace
}  // namespace coppice
