#include "common/terms/terms.h"

#include <string>

#include "common/base/status.h"
#include "tests/support/full_tree.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::FullTree;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = StatusCode::kInvalidArgument;

std::shared_ptr<const Schema> MakeSchema(FeatureType type = FeatureType::kNumeric) {
  Feature feature;
  feature.name = "x";
  feature.type = type;
  if (type == FeatureType::kNumeric) {
    feature.max = 1;
  } else {
    feature.values = {"a", "b"};
  }
  return std::make_shared<const Schema>(*Schema::Create({feature}, "y", {"no", "yes"}));
}

Tree MakeStump() {
  const Node root{.kind = SplitKind::kNumeric, .threshold = 0.5, .left = 1, .right = 2};
  return *Tree::Create({root, Node{}, Node{}}, *MakeSchema());
}

Terms MakeTerms() {
  return {.study = "s1",
          .schema = MakeSchema(),
          .trees = 2,
          .epsilon = *Budget::FromNanos(1'000'000'000),
          .mechanism = MechanismKind::kLaplaceSplit};
}

TEST(TermsTest, WellFormedTermsAreValid) { EXPECT_OK(ValidateTerms(MakeTerms())); }

TEST(TermsTest, TheStudyMustBeAnId) {
  Terms terms = MakeTerms();
  terms.study = "S 1";
  EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("study: an id is")));
}

TEST(TermsTest, ASchemaMustBeThere) {
  Terms terms = MakeTerms();
  terms.schema = nullptr;
  EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("schema: is missing")));
}

TEST(TermsTest, AtLeastOneTreeAndNotTooMany) {
  Terms terms = MakeTerms();
  for (const uint32_t trees : {1u, kMaxTrees}) {
    terms.trees = trees;
    EXPECT_OK(ValidateTerms(terms));
  }
  terms.trees = kMaxTrees + 1;
  EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("trees: must be 1 to 1024")));
  terms.trees = 0;
  EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("are 0")));
}

TEST(TermsTest, EpsilonStaysWithinAStudysBounds) {
  Terms terms = MakeTerms();
  for (const uint64_t nanos : {kMinEpsilonNanos, kMaxStudyEpsilonNanos}) {
    terms.epsilon = *Budget::FromNanos(nanos);
    EXPECT_OK(ValidateTerms(terms));
  }
  for (const uint64_t nanos : {kMinEpsilonNanos - 1, kMaxStudyEpsilonNanos + 1}) {
    terms.epsilon = *Budget::FromNanos(nanos);
    EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("epsilon_nanos: must be")));
  }
}

TEST(TermsTest, AMechanismOfNoKnownKindIsRefused) {
  Terms terms = MakeTerms();
  terms.mechanism = static_cast<MechanismKind>(99);
  EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("mechanism")));
}

TEST(TermsTest, AnIdJoinsPublicFeaturesOnlyAndHasANameOfItsOwn) {
  Terms terms = MakeTerms();
  terms.mechanism = MechanismKind::kDirect;
  terms.joined_by = "customer";
  EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("\"x\" is private")));
  terms.schema = std::make_shared<const Schema>(MakeSchema()->WithAllPublic());
  EXPECT_OK(ValidateTerms(terms));
  for (const std::string& name : {std::string("x"), std::string("y"), std::string(65, 'a'),
                                  std::string("a\nb"), std::string("\xff")}) {
    terms.joined_by = name;
    EXPECT_THAT(ValidateTerms(terms), StatusIs(kInvalid, HasSubstr("joined_by"))) << name;
  }
}

TEST(ValidateTreeTest, ATreeForAnotherSchemaIsRefused) {
  Terms terms = MakeTerms();
  EXPECT_OK(ValidateTree(terms, MakeStump()));
  terms.schema = MakeSchema(FeatureType::kCategorical);
  EXPECT_OK(ValidateTree(terms, Tree::SingleLeaf()));
  EXPECT_THAT(ValidateTree(terms, MakeStump()), StatusIs(kInvalid, HasSubstr("not numeric")));
}

TEST(ValidateTreeTest, AReportTooLargeForAnyDeviceIsRefused) {
  std::vector<std::string> classes;
  for (size_t k = 0; k < kMaxClasses; ++k) classes.push_back(std::to_string(k));
  ASSERT_EQ(kMaxClasses << 10, kMaxCells);
  Terms terms = MakeTerms();
  terms.schema = std::make_shared<const Schema>(
      *Schema::Create(MakeSchema()->features(), "y", std::move(classes)));
  EXPECT_OK(ValidateTree(terms, FullTree(10, *terms.schema)));
  EXPECT_THAT(ValidateTree(terms, FullTree(11, *terms.schema)),
              StatusIs(kInvalid, HasSubstr("grow it less deep")));
}

TEST(HoldAllTest, NumbersTheTreesInOrder) {
  const TreesByIndex trees = AllTrees({MakeStump(), Tree::SingleLeaf()});
  ASSERT_EQ(trees.size(), 2u);
  EXPECT_EQ(trees.at(0), MakeStump());
  EXPECT_EQ(trees.at(1), Tree::SingleLeaf());
}

TEST(IdTest, AcceptsOneTo63OfTheAllowedCharacters) {
  for (const std::string& id : {std::string("a"), std::string("9-_z"), std::string(63, 'a')}) {
    EXPECT_TRUE(IsValidId(id)) << id;
  }
  for (const std::string& id :
       {std::string(), std::string(64, 'a'), std::string("-a"), std::string("_a"), std::string("A"),
        std::string("a/b"), std::string("a b"), std::string("a\0b", 3), std::string("\xc3")}) {
    EXPECT_FALSE(IsValidId(id)) << id;
  }
}

TEST(MakeMechanismsTest, OneATreeWithItsLeavesAndTheStudysClasses) {
  ASSERT_OK_AND_ASSIGN(const auto mechanisms,
                       MakeMechanisms(MakeTerms(), {MakeStump(), Tree::SingleLeaf()}));
  ASSERT_EQ(mechanisms.size(), 2u);
  EXPECT_EQ(mechanisms[0]->domain(), (Domain{.leaves = 2, .classes = 2}));
  EXPECT_EQ(mechanisms[1]->domain(), (Domain{.leaves = 1, .classes = 2}));
  EXPECT_EQ(mechanisms[0]->kind(), MechanismKind::kLaplaceSplit);
  EXPECT_EQ(mechanisms[0]->epsilon().nanos(), 1'000'000'000u);
}

TEST(FingerprintTest, IsTheSha256OfTheBytes) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(ToHex(FingerprintOf("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(FingerprintOf("abc"), FingerprintOf("abd"));
}

}  // namespace
}  // namespace coppice
