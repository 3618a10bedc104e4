// One test per way in which a message can be hostile. A type's bounds are tested next to the type;
// here, that no message gets around them and that the error names the field.

#include <limits>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::MakeModel;
using ::coppice::testing::MakeSchema;
using ::coppice::testing::MakeTerms;
using ::coppice::testing::MakeTree;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

auto IsInvalid(const char* text) { return StatusIs(StatusCode::kInvalidArgument, HasSubstr(text)); }

class HostileSchemaTest : public ::testing::Test {
 protected:
  v1::Schema schema_ = ToProto(MakeSchema());
};

TEST_F(HostileSchemaTest, Empty) { EXPECT_THAT(ParseSchema(v1::Schema()), IsInvalid("schema")); }

TEST_F(HostileSchemaTest, FeatureWithoutType) {
  schema_.mutable_features(1)->clear_type();
  EXPECT_THAT(ParseSchema(schema_),
              IsInvalid("schema.features[1]: must be numeric or categorical"));
}

TEST_F(HostileSchemaTest, MoreFeaturesOrClassesThanThereMayBe) {
  v1::Schema wide = schema_;
  for (size_t i = 0; i < kMaxFeatures; ++i) {
    *wide.add_features() = schema_.features(0);
    wide.mutable_features()->rbegin()->set_name(StrCat("f", i));
  }
  EXPECT_THAT(ParseSchema(wide), IsInvalid("schema: features: must be at most 65536"));
  for (size_t i = 0; i < kMaxClasses; ++i) schema_.add_classes(StrCat("c", i));
  EXPECT_THAT(ParseSchema(schema_), IsInvalid("schema: classes: must be at most 4096"));
}

TEST_F(HostileSchemaTest, FeatureNamedTwice) {
  schema_.mutable_features(1)->set_name("age");
  EXPECT_THAT(ParseSchema(schema_), IsInvalid("schema"));
}

TEST_F(HostileSchemaTest, BoundsNotANumber) {
  schema_.mutable_features(0)->mutable_numeric()->set_max(kNan);
  EXPECT_THAT(ParseSchema(schema_), IsInvalid("age"));
}

TEST_F(HostileSchemaTest, VocabularyEmpty) {
  schema_.mutable_features(1)->mutable_categorical()->clear_values();
  EXPECT_THAT(ParseSchema(schema_), IsInvalid("odor"));
}

TEST_F(HostileSchemaTest, OneClass) {
  schema_.mutable_classes()->RemoveLast();
  EXPECT_THAT(ParseSchema(schema_), IsInvalid("class"));
}

class HostileRowTest : public ::testing::Test {
 protected:
  Status Read(std::vector<double> values) {
    v1::Row row;
    row.mutable_values()->Assign(values.begin(), values.end());
    return ParseRow(row, MakeSchema()).status();
  }
};

TEST_F(HostileRowTest, TooShortOrTooLong) {
  EXPECT_THAT(Read({1}), IsInvalid("row"));
  EXPECT_THAT(Read({1, 0, 0}), IsInvalid("row"));
}

TEST_F(HostileRowTest, NumberOutsideItsBoundsWhichTheErrorDoesNotQuote) {
  EXPECT_THAT(Read({4711, 0}), StatusIs(StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("row"), Not(HasSubstr("4711")))));
  EXPECT_THAT(Read({std::numeric_limits<double>::infinity(), 0}), IsInvalid("row"));
}

TEST_F(HostileRowTest, CategoryOutsideItsVocabulary) {
  EXPECT_THAT(Read({1, 3}), IsInvalid("row"));
  EXPECT_THAT(Read({1, -1}), IsInvalid("row"));
  EXPECT_THAT(Read({1, 0.5}), IsInvalid("row"));
}

class HostileForestTest : public ::testing::Test {
 protected:
  HostileForestTest() { *forest_.add_trees() = ToProto(MakeTree()); }
  v1::Tree& tree() { return *forest_.mutable_trees(0); }
  Status Read() { return ParseForest(forest_, MakeSchema()).status(); }

  v1::Forest forest_;
};

TEST_F(HostileForestTest, NoTree) {
  forest_.clear_trees();
  EXPECT_THAT(Read(), IsInvalid("forest.trees: must be 1 to 1024, are 0"));
}

TEST_F(HostileForestTest, TooManyTrees) {
  for (uint32_t t = 0; t < kMaxTrees; ++t) *forest_.add_trees() = ToProto(Tree::SingleLeaf());
  EXPECT_THAT(Read(), IsInvalid("forest: trees: must be at most 1024"));
}

TEST_F(HostileForestTest, TreeWithoutNodesOrWithTooMany) {
  tree().clear_kinds();
  EXPECT_THAT(Read(), IsInvalid("forest.trees[0]: kinds: must be 1 to 1048576, are 0"));
  for (uint32_t i = 0; i <= kMaxNodes; ++i) tree().add_kinds(v1::SPLIT_KIND_NUMERIC);
  EXPECT_THAT(Read(), IsInvalid("forest: trees[0]: kinds: must be at most 1048576"));
}

TEST_F(HostileForestTest, KindUnsetOrUnknown) {
  for (const int kind : {0, 5, 77, -1}) {
    tree().set_kinds(2, static_cast<v1::SplitKind>(kind));
    EXPECT_THAT(Read(), IsInvalid("forest.trees[0]: kinds[2]: must be set")) << kind;
  }
}

TEST_F(HostileForestTest, NodesAfterTheTreeIsComplete) {
  tree().add_kinds(v1::SPLIT_KIND_LEAF);
  EXPECT_THAT(Read(), IsInvalid("kinds: complete a tree before 7"));
}

TEST_F(HostileForestTest, NodesThatEndBeforeTheTreeIsComplete) {
  while (tree().kinds_size() > 1) {
    tree().mutable_kinds()->RemoveLast();
    EXPECT_THAT(Read(), IsInvalid("kinds: end before the tree is complete"));
  }
}

TEST_F(HostileForestTest, ColumnsOfAnotherLength) {
  const v1::Tree good = tree();
  tree().add_features(0);
  EXPECT_THAT(Read(), IsInvalid("features: must be 3, one a node that needs it, are 4"));
  tree() = good;
  tree().clear_thresholds();
  EXPECT_THAT(Read(), IsInvalid("thresholds: must be 1, one a node that needs it, are 0"));
  tree() = good;
  tree().add_categories(0);
  EXPECT_THAT(Read(), IsInvalid("categories: must be 1"));
  tree() = good;
  tree().mutable_missing_left()->RemoveLast();
  EXPECT_THAT(Read(), IsInvalid("missing_left: must be 2"));
  tree() = good;
  EXPECT_OK(Read());
}

TEST_F(HostileForestTest, FeatureOutOfRangeOrOfAnotherType) {
  tree().set_features(0, 2);
  EXPECT_THAT(Read(), IsInvalid("node 0: feature"));
  tree().set_features(0, 0);
  tree().set_features(1, 0);
  EXPECT_THAT(Read(), IsInvalid("feature is not categorical"));
}

TEST_F(HostileForestTest, ThresholdNotANumber) {
  for (const double threshold : {kNan, std::numeric_limits<double>::infinity()}) {
    tree().set_thresholds(0, threshold);
    EXPECT_THAT(Read(), IsInvalid("threshold must be finite"));
  }
}

TEST_F(HostileForestTest, CategoryOutsideItsVocabulary) {
  for (const uint32_t category : {3u, ~0u}) {
    tree().set_categories(0, category);
    EXPECT_THAT(Read(), IsInvalid("category must be a number from 0 to 2"));
  }
}

TEST_F(HostileForestTest, DeeperThanAnyTree) {
  tree().Clear();
  for (uint32_t i = 0; i <= kMaxModelDepth; ++i) {
    tree().add_kinds(v1::SPLIT_KIND_MISSING);
    tree().add_features(0);
  }
  for (uint32_t i = 0; i <= kMaxModelDepth + 1; ++i) tree().add_kinds(v1::SPLIT_KIND_LEAF);
  EXPECT_THAT(Read(), IsInvalid("deeper than 512"));
}

class HostileTermsTest : public ::testing::Test {
 protected:
  v1::Terms terms_ = ToProto(MakeTerms());
};

TEST_F(HostileTermsTest, BytesThatAreNoMessage) {
  EXPECT_THAT(ReadTerms("\xff\xff"), IsInvalid("terms: is not a coppice.v1.Terms message"));
}

TEST_F(HostileTermsTest, EmptyBytes) {
  EXPECT_THAT(ReadTerms(""), IsInvalid("terms: forest_root: must have 32 bytes, has 0"));
}

TEST_F(HostileTermsTest, StudyThatIsNoId) {
  terms_.set_study("../etc");
  EXPECT_THAT(ParseTerms(terms_), IsInvalid("study"));
}

TEST_F(HostileTermsTest, NoTreeOrTooMany) {
  for (const uint32_t trees : {0u, kMaxTrees + 1, ~0u}) {
    terms_.set_trees(trees);
    EXPECT_THAT(ParseTerms(terms_), IsInvalid("trees: must be 1 to 1024"));
  }
}

TEST_F(HostileTermsTest, ForestRootOfAnotherLength) {
  for (const size_t size : {0, 31, 33}) {
    terms_.set_forest_root(std::string(size, 'x'));
    EXPECT_THAT(ParseTerms(terms_), IsInvalid("forest_root: must have 32 bytes"));
  }
}

TEST_F(HostileTermsTest, EpsilonZeroHugeOrAboveAStudys) {
  for (const uint64_t nanos : {uint64_t{0}, ~uint64_t{0}, kMaxStudyEpsilonNanos + 1}) {
    terms_.set_epsilon_nanos(nanos);
    EXPECT_THAT(ParseTerms(terms_), IsInvalid("epsilon_nanos"));
  }
}

TEST_F(HostileTermsTest, MechanismUnsetOrUnknown) {
  for (const int mechanism : {0, 99, -1}) {
    terms_.set_mechanism(static_cast<v1::Mechanism>(mechanism));
    EXPECT_THAT(ParseTerms(terms_), IsInvalid("mechanism: must be set"));
  }
}

class HostileModelTest : public ::testing::Test {
 protected:
  v1::LeafPrediction& leaf() { return *model_.mutable_predictions(0)->mutable_leaves(1); }

  v1::Model model_ = ToProto(MakeModel());
};

TEST_F(HostileModelTest, PredictionsForAnotherNumberOfTreesOrLeaves) {
  model_.mutable_predictions(0)->mutable_leaves()->RemoveLast();
  EXPECT_THAT(ParseModel(model_), IsInvalid("model: tree 0"));
  model_.clear_predictions();
  EXPECT_THAT(ParseModel(model_), IsInvalid("model"));
}

TEST_F(HostileModelTest, ProbabilitiesThatAreNone) {
  for (const double p : {kNan, -0.25, 0.5, 1.5}) {
    leaf().set_probabilities(0, p);
    EXPECT_THAT(ParseModel(model_), IsInvalid("leaf 1: probabilities")) << p;
  }
}

TEST_F(HostileModelTest, StandardErrorNegativeOrNotANumber) {
  for (const double error : {kNan, -1.0}) {
    leaf().set_standard_error(error);
    EXPECT_THAT(ParseModel(model_), IsInvalid("leaf 1: standard_error"));
  }
}

TEST_F(HostileModelTest, LabelOrSourceNodeOutOfRange) {
  leaf().set_source_node(1000);
  EXPECT_THAT(ParseModel(model_), IsInvalid("leaf 1: source_node"));
  leaf().set_label(2);
  EXPECT_THAT(ParseModel(model_), IsInvalid("leaf 1: label"));
}

// Such nodes would take a hundred times the memory that they take in the message.
TEST_F(HostileModelTest, NodesWithoutTheirPredictionsBeforeAnythingIsMadeOfThem) {
  v1::Tree& tree = *model_.mutable_forest()->mutable_trees(0);
  tree.clear_kinds();
  for (int i = 0; i < 1'000'000; ++i) tree.add_kinds(v1::SPLIT_KIND_MISSING);
  EXPECT_THAT(ParseModel(model_), IsInvalid("model: tree 0: needs 0 leaf predictions, not 4"));
  tree.clear_kinds();
  for (int i = 0; i < 1'000'000; ++i) tree.add_kinds(v1::SPLIT_KIND_LEAF);
  EXPECT_THAT(ParseModel(model_), IsInvalid("needs 1000000 leaf predictions, not 4"));
}

TEST_F(HostileModelTest, MoreDerivedFeaturesThanAnyTrainerMakes) {
  model_.mutable_schema()->mutable_features(1)->mutable_numeric()->set_max(1);
  model_.mutable_schema()->mutable_features(0)->set_name(std::string(1 << 20, 'n'));
  for (int i = 0; i < 1024; ++i) {
    v1::DerivedFeature& derived = *model_.add_derived();
    for (const uint32_t feature : {0u, 1u}) {
      derived.add_features(feature);
      derived.add_minus(false);
    }
  }
  // A thousand derived features of one long name: quickly read, and small.
  EXPECT_THAT(ParseModel(model_), IsInvalid("forest.trees[0]"));  // its feature 1 is a number now
  *model_.add_derived() = model_.derived(0);
  EXPECT_THAT(ParseModel(model_), IsInvalid("model: derived: must be at most 1024"));
}

TEST_F(HostileModelTest, TermsOfAMeanThatCancelSayThatNothingIsKnown) {
  model_.set_leaf_kind(v1::LEAF_KIND_ADDITIVE);
  *model_.mutable_forest()->add_trees() = model_.forest().trees(0);
  *model_.add_predictions() = model_.predictions(0);
  for (int t = 0; t < 2; ++t) {
    for (v1::LeafPrediction& leaf : *model_.mutable_predictions(t)->mutable_leaves()) {
      leaf.set_probabilities(0, t == 0 ? 1e9 : -1e9);
      leaf.set_probabilities(1, t == 0 ? -1e9 : 1e9);
    }
  }
  const StatusOr<Model> model = ParseModel(model_);
  ASSERT_OK(model.status());
  EXPECT_EQ(model->Predict({1, 0}).probabilities, std::vector<double>({0.5, 0.5}));
}

TEST_F(HostileModelTest, WeightsTooSmallToBeSquaredSayThatNothingIsKnown) {
  model_.set_leaf_kind(v1::LEAF_KIND_WEIGHTS);
  for (v1::TreePredictions& tree : *model_.mutable_predictions()) {
    for (v1::LeafPrediction& leaf : *tree.mutable_leaves()) {
      leaf.set_standard_error(0);
      leaf.set_probabilities(0, 1e-300);
      leaf.set_probabilities(1, 0);
    }
  }
  const StatusOr<Model> model = ParseModel(model_);
  ASSERT_OK(model.status());
  EXPECT_EQ(model->Predict({1, 0}).standard_error, std::numeric_limits<double>::infinity());
}

TEST(HostileNameTest, AnotherCollectionNoIdOrMoreThanAnId) {
  for (const char* name : {"", "studies", "studies/", "models/a", "studies/a/b", "studies/../a",
                           "Studies/a", "a", "/studies/a"}) {
    EXPECT_THAT(ParseName(kStudies, name), IsInvalid("\"studies/ID\"")) << name;
  }
}

}  // namespace
}  // namespace coppice
