// Every way in which trees and terms may fail to belong together.

#include "common/wire/proto/packed_forest.h"

#include "common/base/status.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/full_tree.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::FullTree;
using ::coppice::testing::MakeForest;
using ::coppice::testing::MakeSchema;
using ::coppice::testing::MakeTerms;
using ::coppice::testing::MakeTree;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

auto IsOfAnotherForest() {
  return StatusIs(StatusCode::kDataLoss, HasSubstr("terms of study mushrooms-1 stand for"));
}
auto IsInvalidForest(const char* text) {
  return StatusIs(StatusCode::kInvalidArgument, HasSubstr(text));
}

// Returns terms for `packed`, whatever it contains.
Terms TermsFor(const PackedForest& packed) {
  Terms terms = MakeTerms();
  terms.trees = static_cast<uint32_t>(packed.trees.size());
  terms.forest_root = packed.merkle.root;
  return terms;
}

class PackedForestTest : public ::testing::Test {
 protected:
  Status Open(uint32_t index, const std::string& tree, const std::string& path) const {
    return ReadProvenTree(terms_, index, tree, path).status();
  }

  const PackedForest packed_ = PackForest(MakeForest());
  const Terms terms_ = MakeTerms();
  const std::vector<std::string>& trees_ = packed_.trees;
  const std::vector<std::string>& paths_ = packed_.merkle.paths;
};

TEST_F(PackedForestTest, OpensToWhatWasPacked) {
  ASSERT_OK_AND_ASSIGN(const Forest forest, OpenForest(terms_, packed_));
  EXPECT_EQ(forest, MakeForest());
  for (uint32_t t = 0; t < 2; ++t) {
    ASSERT_OK_AND_ASSIGN(const Tree tree, ReadProvenTree(terms_, t, trees_[t], paths_[t]));
    EXPECT_EQ(tree, MakeForest()[t]);
  }
}

TEST_F(PackedForestTest, AnotherTreesBytesPathOrPlace) {
  EXPECT_THAT(Open(0, trees_[1], paths_[1]), IsOfAnotherForest());
  EXPECT_THAT(Open(0, trees_[1], paths_[0]), IsOfAnotherForest());
  EXPECT_THAT(Open(0, trees_[0], paths_[1]), IsOfAnotherForest());
  EXPECT_THAT(Open(2, trees_[0], paths_[0]), IsOfAnotherForest());
  EXPECT_THAT(Open(~0u, trees_[0], paths_[0]), IsOfAnotherForest());
}

TEST_F(PackedForestTest, APathTooShortOrTooLong) {
  EXPECT_THAT(Open(0, trees_[0], ""), IsOfAnotherForest());
  EXPECT_THAT(Open(0, trees_[0], paths_[0].substr(1)), IsOfAnotherForest());
  EXPECT_THAT(Open(0, trees_[0], paths_[0] + paths_[1]), IsOfAnotherForest());
}

// Covers changes that would change no split.
TEST_F(PackedForestTest, TamperedBytes) {
  for (size_t i = 0; i < trees_[0].size(); ++i) {
    std::string tampered = trees_[0];
    tampered[i] = static_cast<char>(tampered[i] ^ 1);
    EXPECT_THAT(Open(0, tampered, paths_[0]), IsOfAnotherForest()) << i;
  }
  EXPECT_THAT(Open(0, "", paths_[0]), IsOfAnotherForest());
  EXPECT_THAT(Open(0, trees_[0] + std::string("\x78\0", 2), paths_[0]), IsOfAnotherForest());
}

TEST_F(PackedForestTest, TermsOfAnotherForest) {
  const Terms other = TermsFor(PackForest({MakeTree(), MakeTree()}));
  EXPECT_THAT(ReadProvenTree(other, 0, trees_[0], paths_[0]), IsOfAnotherForest());
  EXPECT_THAT(OpenForest(other, packed_), IsOfAnotherForest());
}

TEST_F(PackedForestTest, ForestWithATreeMoreLessOrMoved) {
  EXPECT_THAT(OpenForest(terms_, PackTrees({})), IsOfAnotherForest());
  EXPECT_THAT(OpenForest(terms_, PackTrees({trees_[0]})), IsOfAnotherForest());
  EXPECT_THAT(OpenForest(terms_, PackTrees({trees_[0], trees_[1], trees_[1]})),
              IsOfAnotherForest());
  EXPECT_THAT(OpenForest(terms_, PackTrees({trees_[1], trees_[0]})), IsOfAnotherForest());
  // The root is right, but for another number of trees.
  Terms miscounted = terms_;
  miscounted.trees = 3;
  EXPECT_THAT(OpenForest(miscounted, packed_), IsOfAnotherForest());
}

// A curator may have committed to nonsense.
TEST(HostilePackedForestTest, BytesThatAreNoTree) {
  const PackedForest packed = PackTrees({"\xff\xff"});
  EXPECT_THAT(ReadProvenTree(TermsFor(packed), 0, packed.trees[0], ""),
              IsInvalidForest("forest.trees[0]: is not a coppice.v1.Tree message"));
  EXPECT_THAT(OpenForest(TermsFor(packed), packed), IsInvalidForest("forest.trees[0]"));
}

TEST(HostilePackedForestTest, ATreeThatDoesNotFitTheSchema) {
  v1::Tree tree = ToProto(MakeTree());
  tree.set_features(0, 9);
  const PackedForest packed =
      PackTrees({ToProto(MakeTree()).SerializeAsString(), tree.SerializeAsString()});
  const Terms terms = TermsFor(packed);
  EXPECT_OK(ReadProvenTree(terms, 0, packed.trees[0], packed.merkle.paths[0]));
  EXPECT_THAT(ReadProvenTree(terms, 1, packed.trees[1], packed.merkle.paths[1]),
              IsInvalidForest("forest.trees[1]: tree node 0: feature"));
  EXPECT_THAT(OpenForest(terms, packed), IsInvalidForest("forest.trees[1]: tree node 0: feature"));
}

TEST(HostilePackedForestTest, ATreeWhoseReportsAreTooLarge) {
  const PackedForest packed = PackForest({FullTree(11, MakeSchema())});
  Terms terms = TermsFor(packed);
  std::vector<std::string> classes;
  for (size_t k = 0; k < kMaxClasses; ++k) classes.push_back(std::to_string(k));
  ASSERT_GT(classes.size() * 2048, kMaxCells);
  terms.schema = std::make_shared<const Schema>(
      *Schema::Create(MakeSchema().features(), "edible", std::move(classes)));
  EXPECT_THAT(ReadProvenTree(terms, 0, packed.trees[0], ""), IsInvalidForest("grow it less deep"));
}

}  // namespace
}  // namespace coppice
